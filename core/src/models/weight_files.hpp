#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// Chooses the .safetensors files of a model, in order, from the names of all files in a folder
/// without an index. Throws kNotFound if one of several parts is missing, or if there are no such
/// files. If the folder has no such files, the message explains what its other files are.
std::vector<std::string> choose_weight_files(std::span<const std::string> names);

/// Throws kUnsupported if the file's name shows that attn cannot read weights from it alone: one of
/// several parts, an adapter, or another format.
void require_weight_file(std::string_view name);

}  // namespace attn
