#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attn/export.hpp"
#include "attn/tensor_view.hpp"

namespace attn {

class Interventions;

/// Collects named intermediate values that a layer computes. TransformerLens calls this a cache.
///
///   Intermediates shown({"layers.0.self_attn.weights", "layers.0.resid_mid"});
///   encoder.forward(x, output, {.intermediates = &shown});
///   ConstTensor weights = shown["layers.0.self_attn.weights"];
///
/// A name is the path to a layer, as in the names of its parameters, followed by the name of a
/// value: "output" for every inner layer, or one of the values that the layer's header lists.
/// Module::intermediate_names() returns all names of a layer.
///
/// Requested values are copied, row-major; the others cost nothing. Each value has a batch
/// dimension if the tensors of the call have one.
class ATTN_API Intermediates {
 public:
  Intermediates() = default;
  explicit Intermediates(std::vector<std::string> names);

  /// The requested names.
  std::vector<std::string> names() const;

  /// True if the last call computed this value. For example, a call that attends to a cache does
  /// not compute projections of new keys. Always false after a failed call.
  bool contains(std::string_view name) const noexcept;

  /// The value from the last call. The view is valid until the next call or until this object is
  /// destroyed. Throws kNotFound if the value was not requested or not computed.
  ConstTensor operator[](std::string_view name) const;

 private:
  friend class IntermediateWriter;
  struct Entry {
    std::string name;
    std::vector<float> values = {};
    std::vector<std::int64_t> shape = {};
    bool computed = false;
  };
  const Entry* find(std::string_view name) const noexcept;

  std::vector<Entry> entries_;
  std::string path_;  ///< path of the layer that is running, with a dot at the end
  bool running_ = false;
  bool batched_ = true;  ///< whether the tensors of the running call have a batch dimension
  const Interventions* interventions_ = nullptr;  ///< the changes of the running call, if any
};

}  // namespace attn
