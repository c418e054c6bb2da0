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

/// What training sees of a layer.
struct ModuleAccess {
  /// What stays the same when a layer is moved; valid as long as the layer.
  static const void* identity(const Module& layer) noexcept { return layer.node_.get(); }

  /// Keeps the layer's parameters, and what is made of them, as long as it is kept itself.
  static std::shared_ptr<const void> keep(const Module& layer) noexcept;

  /// The path of a layer from the outermost one that it was added to: "layers.0.linear1"; empty for
  /// one that was not added to any.
  static std::string path(const void* identity);

  /// The layer that an intermediate belongs to, and its name there. Throws kNotFound.
  static std::pair<const void*, std::string_view> intermediate(const Module& layer,
                                                               std::string_view name);

  /// The same for a parameter of the layer, or of one inside, by the address of its values:
  /// "layers.0.linear1.weight".
  static std::string path(const void* identity, const float* values);

  /// Counts the changes of one of the layer's own parameters, by the address of its values; valid
  /// as long as the layer. Throws kNotFound.
  static const std::uint64_t* changes(const Module& layer, const float* values);

  /// A parameter that was found once, to be changed many times.
  struct FoundParameter {
    std::string name;
    std::span<const std::int64_t> shape;
    ElementType type;
    Tensor values;  ///< none where the layer keeps them by itself, as another type than float32
    std::shared_ptr<void> owner;  ///< keeps it
    void* entry;
  };
  /// In the order of Module::parameter_names(), and with its names.
  static std::vector<FoundParameter> parameters(const Module& layer);
  /// A block of a parameter that the layer keeps by itself.
  static void write(const FoundParameter& parameter, const ConstTensor& block, std::int64_t row,
                    std::int64_t col);
  /// Refuses such a one.
  [[noreturn]] static void fail_kept(std::string_view name, ElementType type, const char* needs);
  /// The same where a gradient is asked for.
  static void require_float32(std::string_view name, ElementType type) {
    if (type != ElementType::kFloat32) fail_kept(name, type, "float32 for a gradient");
  }
  /// What was made of a parameter is stale. Allocates nothing, as far as the library's own layers
  /// are concerned.
  static void changed(const FoundParameter& parameter, Context& context);
};

}  // namespace attn
