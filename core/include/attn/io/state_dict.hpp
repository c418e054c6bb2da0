#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "attn/context.hpp"
#include "attn/export.hpp"
#include "attn/io/safetensors.hpp"
#include "attn/layers/module.hpp"

namespace attn {

/// The parameters of a layer, `prefix` in front of each name: what a file of them is written from.
/// Those that are kept as float32 are views, valid as long as the layer; those of another type are
/// copies in that type. So a file has each as the layer keeps it, and matrices of F16 or BF16 that
/// came from a file go into another with the same bits. Throws std::bad_alloc.
///
///   save_safetensors("model.safetensors", state_dict(model), {{"format", "pt"}});
ATTN_API std::vector<NamedTensor> state_dict(const Module& module, std::string_view prefix = "");

/// What a file and a layer did not have in common. Names are those of the file, prefix and all.
struct IncompatibleKeys {
  std::vector<std::string> missing_keys;     ///< in the layer, not in the file
  std::vector<std::string> unexpected_keys;  ///< in the file, not in the layer
};

/// Sets the parameters of a layer from a file, as torch.nn.Module.load_state_dict: from the tensor
/// named `prefix` + name, e.g. prefix "encoder." for a part of a model. Tensors with another
/// beginning are left alone.
///
/// Everything is checked before anything is set. Throws kNotFound, when strict, with up to 16 names
/// each of those that are missing and unexpected (not strict, it returns all of them);
/// kShapeMismatch and kUnsupported (a dtype that is not F32, F16, BF16 or F64) in any case;
/// std::bad_alloc.
ATTN_API IncompatibleKeys load_state_dict(Module& module, const Safetensors& file,
                                          std::string_view prefix = "", bool strict = true,
                                          Context& context = Context::default_context());

}  // namespace attn
