#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attn/export.hpp"
#include "attn/tensor_view.hpp"

namespace attn {

/// What lies between the steps of a layer, by name: what TransformerLens calls a cache.
///
///   Intermediates shown({"layers.0.self_attn.weights", "layers.0.resid_mid"});
///   encoder.forward(x, output, {.intermediates = &shown});
///   ConstTensor weights = shown["layers.0.self_attn.weights"];
///
/// A name is the path to a layer, as in the names of its parameters, and then what it computes:
/// "output" of every layer inside, and what the header of each layer lists beside it.
/// Module::intermediate_names() gives all names of a layer.
///
/// What is asked for is copied, row-major; what is not asked for costs nothing. Each value has the
/// batch dimension if the tensors of the call have one.
class ATTN_API Intermediates {
 public:
  Intermediates() = default;
  explicit Intermediates(std::vector<std::string> names);

  /// What is asked for.
  std::vector<std::string> names() const;

  /// Whether the last call computed this one: a cache that is attended to, for example, needs no
  /// new keys to be projected. None after a call that failed.
  bool contains(std::string_view name) const noexcept;

  /// What the last call computed; the view is valid until the next call or the end of this object.
  /// Throws kNotFound for what was not asked for or not computed.
  ConstTensor operator[](std::string_view name) const;

 private:
  friend class Showing;
  struct Entry {
    std::string name;
    std::vector<float> values = {};
    std::vector<std::int64_t> shape = {};
    bool computed = false;
  };
  const Entry* find(std::string_view name) const noexcept;

  std::vector<Entry> entries_;
  std::string path_;  ///< of the layer that computes now, with a dot at its end
  bool running_ = false;
};

}  // namespace attn
