#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "attn/layers/module.hpp"

namespace attn {

/// What training sees of a layer.
struct ModuleAccess {
  /// What stays the same when a layer is moved; valid as long as the layer.
  static const void* identity(const Module& layer) noexcept { return layer.node_.get(); }

  /// The path of a layer from the outermost one that it was added to: "layers.0.linear1"; empty for
  /// one that was not added to any.
  static std::string path(const void* identity);

  /// Counts the changes of one of the layer's own parameters, by the address of its values; valid
  /// as long as the layer. Throws kNotFound.
  static const std::uint64_t* changes(const Module& layer, const float* values);
};

}  // namespace attn
