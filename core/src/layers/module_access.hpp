#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attn/layers/module.hpp"

namespace attn {

/// Gives training code access to a layer.
struct ModuleAccess {
  /// An address that does not change when the layer is moved; valid for as long as the layer
  /// exists.
  static const void* identity(const Module& layer) noexcept { return layer.node_.get(); }

  /// Returns a pointer that keeps alive the layer's parameters and the data derived from them.
  static std::shared_ptr<const void> keep(const Module& layer) noexcept;

  /// The path of a layer from the outermost layer that contains it, e.g. "layers.0.linear1"; empty
  /// if it was not added to any layer.
  static std::string path(const void* identity);

  /// Returns the layer that an intermediate belongs to, and the intermediate's name in that layer.
  /// Throws kNotFound.
  static std::pair<const void*, std::string_view> intermediate(const Module& layer,
                                                               std::string_view name);

  /// The path of a parameter of the layer or of an inner layer, e.g. "layers.0.linear1.weight",
  /// found by the address of its values.
  static std::string path(const void* identity, const float* values);

  /// The change counter of one of the layer's own parameters. The parameter is found by the address
  /// of its values. The pointer is valid for as long as the layer exists. Throws kNotFound.
  static const std::uint64_t* changes(const Module& layer, const float* values);

  /// A parameter that is looked up once and changed many times.
  struct FoundParameter {
    std::string name;
    std::span<const std::int64_t> shape;
    ElementType type;
    Tensor values;  ///< values, or none if the layer stores them itself in a type other than
                    ///< float32
    std::shared_ptr<void> owner;  ///< pointer that keeps the parameter alive
    void* entry;
  };
  /// All parameters, with the names that Module::parameter_names() returns and in the same order.
  static std::vector<FoundParameter> parameters(const Module& layer);
  /// Copies n rows of a matrix, starting at `row`, to the contiguous `block` (n, columns). Throws
  /// kNotFound.
  static void read(const Module& layer, std::string_view name, const Tensor& block,
                   std::int64_t row);
  /// Writes a block of a parameter that the layer stores itself.
  static void write(const FoundParameter& parameter, const ConstTensor& block, std::int64_t row,
                    std::int64_t col);
  /// Rejects a parameter that the layer stores itself.
  [[noreturn]] static void fail_kept(std::string_view name, ElementType type, const char* needs);
  /// Rejects a parameter that is not float32. Called when a gradient is requested.
  static void require_float32(std::string_view name, ElementType type) {
    if (type != ElementType::kFloat32) fail_kept(name, type, "float32 for a gradient");
  }
  /// Rebuilds the data derived from a parameter. Allocates nothing for the library's own layers.
  static void mark_changed(const FoundParameter& parameter, Context& context);
};

}  // namespace attn
