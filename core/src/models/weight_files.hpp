#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// The .safetensors files of a model, in order, among the names of all files in its folder, which
/// has no index. Throws kNotFound if there are none, with what the files are instead, and if a part
/// of several is missing.
std::vector<std::string> choose_weight_files(std::span<const std::string> names);

/// Throws kUnsupported if a file's name says that attn cannot read weights from it: part of several
/// files, an adapter, or another format.
void require_weight_file(std::string_view name);

}  // namespace attn
