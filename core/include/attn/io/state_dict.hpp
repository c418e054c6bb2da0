#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "attn/context.hpp"
#include "attn/export.hpp"
#include "attn/io/safetensors.hpp"
#include "attn/layers/module.hpp"

namespace attn {

/// Returns the parameters of a layer, with `prefix` in front of each name, ready to be saved.
/// Parameters stored as float32 are returned as views, which are valid for as long as the layer
/// exists; parameters of other types are returned as copies in the same type. A file thus stores
/// each parameter as the layer does, so F16 or BF16 matrices loaded from one file are written to
/// another file bit for bit. Throws std::bad_alloc.
///
///   save_safetensors("model.safetensors", state_dict(model), {{"format", "pt"}});
ATTN_API std::vector<NamedTensor> state_dict(const Module& module, std::string_view prefix = "");

/// The names that the file and the layer do not have in common. They include the prefix, as in the
/// file.
struct IncompatibleKeys {
  std::vector<std::string> missing_keys;     ///< names in the layer that are missing in the file
  std::vector<std::string> unexpected_keys;  ///< names in the file that are missing in the layer
};

/// Sets the parameters of a layer from a file, like torch.nn.Module.load_state_dict. Each parameter
/// is read from the tensor `prefix` + name. For a part of a model, pass a prefix such as
/// "encoder.". Tensors whose names do not start with the prefix are ignored.
///
/// Everything is checked before anything is set. If `strict` is true, throws kNotFound with up to
/// 16 missing and 16 unexpected names; otherwise returns all of them. In both cases, also throws
/// kShapeMismatch, kUnsupported (a dtype other than F32, F16, BF16 and F64) and std::bad_alloc.
ATTN_API IncompatibleKeys load_state_dict(Module& module, const Safetensors& file,
                                          std::string_view prefix = "", bool strict = true,
                                          Context& context = Context::default_context());

}  // namespace attn
