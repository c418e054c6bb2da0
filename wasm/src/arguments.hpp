#pragma once

#include <emscripten/bind.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attn/attention/scaled_dot_product_attention.hpp"
#include "attn/context.hpp"
#include "attn/layers/dropout.hpp"
#include "attn/layers/intermediates.hpp"
#include "attn/layers/module.hpp"
#include "attn/layers/multi_head_attention.hpp"
#include "attn/positions/rotary_embedding.hpp"
#include "attn/random.hpp"
#include "attn/tensor_view.hpp"

namespace attn::wasm {

using Address = std::uintptr_t;

/// What an operation is called with: numbers of 64 bits, one after the other, as wasm/js/call.js
/// has written them. Each reader takes what the writer of the same name puts there.
class Arguments {
 public:
  explicit Arguments(Address address) noexcept : at_(reinterpret_cast<double*>(address)) {
    results_ = at_;
  }

  double number() noexcept { return *at_++; }
  float real() noexcept { return static_cast<float>(number()); }
  bool flag() noexcept { return number() != 0; }
  std::int64_t integer() noexcept { return static_cast<std::int64_t>(number()); }
  std::uint64_t seed() noexcept { return static_cast<std::uint64_t>(number()); }

  /// An enumeration, by its place in it.
  template <class E>
  E choice() noexcept {
    return static_cast<E>(integer());
  }

  /// NaN stands for none.
  std::optional<double> optional_number() noexcept {
    const double value = number();
    return std::isnan(value) ? std::nullopt : std::optional(value);
  }
  std::optional<float> optional_real() noexcept {
    const auto value = optional_number();
    return value ? std::optional(static_cast<float>(*value)) : std::nullopt;
  }
  std::optional<std::int64_t> optional_integer() noexcept {
    const auto value = optional_number();
    return value ? std::optional(static_cast<std::int64_t>(*value)) : std::nullopt;
  }

  Address address() noexcept { return static_cast<Address>(number()); }

  /// An object that an operation has made.
  template <class T>
  T& object() noexcept {
    return *reinterpret_cast<T*>(address());
  }
  /// 0 stands for none.
  template <class T>
  T* optional_object() noexcept {
    return reinterpret_cast<T*>(address());
  }
  /// A layer: JavaScript keeps all of them as modules.
  template <class L>
  L& layer() noexcept {
    return static_cast<L&>(object<Module>());
  }

  /// Rank, address, sizes and strides; a rank of −1 stands for none.
  template <class T>
  TensorView<T> tensor() {
    const auto rank = static_cast<int>(number());
    if (rank < 0) return {};
    T* data = reinterpret_cast<T*>(address());
    std::int64_t shape[ConstTensor::kMaxRank];
    std::int64_t strides[ConstTensor::kMaxRank];
    for (int i = 0; i < rank; ++i) shape[i] = integer();
    for (int i = 0; i < rank; ++i) strides[i] = integer();
    const auto size = static_cast<std::size_t>(rank);
    return TensorView<T>(data, std::span(shape, size), std::span(strides, size));
  }
  ConstTensor floats() { return tensor<const float>(); }
  Tensor result() { return tensor<float>(); }
  ConstLengths lengths() { return tensor<const std::int32_t>(); }
  ConstMask mask() { return tensor<const std::uint8_t>(); }

  template <class T>
  std::span<const T> span() {
    const TensorView<const T> view = tensor<const T>();
    return {view.data(), view.is_none() ? 0 : static_cast<std::size_t>(view.size(0))};
  }

  std::string_view text() {
    const std::span<const char> bytes = span<char>();
    return {bytes.data(), bytes.size()};
  }

  RandomStream random() noexcept {
    const std::uint64_t seed_value = seed();
    return {seed_value, seed()};
  }

  /// None is given: nothing is dropped. Where one is, it is for training.
  Dropout dropout() noexcept {
    Dropout result;
    result.training = flag();
    if (!result.training) return result;
    result.probability = real();
    result.random = random();
    return result;
  }

  /// NaN stands for the bottom right.
  Diagonal diagonal() noexcept {
    const auto offset = optional_integer();
    return offset ? Diagonal::offset(*offset) : Diagonal::bottom_right();
  }

  /// Names of intermediates that a layer's call is to show; null for none.
  Intermediates* intermediates();

  // What an operation returns is written where its arguments were.

  void give(double value) noexcept { *results_++ = value; }
  void give_layer(Module* layer) noexcept { give(static_cast<const void*>(layer)); }
  void give(const void* address) noexcept {
    give(static_cast<double>(reinterpret_cast<Address>(address)));
  }
  /// Address, rank, sizes.
  void give(const ConstTensor& tensor) noexcept {
    give(static_cast<const void*>(tensor.data()));
    give(tensor.rank());
    for (const std::int64_t size : tensor.shape()) give(static_cast<double>(size));
  }
  /// Address and length.
  void give(std::string_view text) noexcept {
    give(static_cast<const void*>(text.data()));
    give(static_cast<double>(text.size()));
  }
  /// The same of an array that holds addresses and lengths in turn. Until the next call.
  void give(std::vector<std::string> texts);
  /// Address, rank and sizes of each intermediate that was asked for, one after the other: gives
  /// where they lie. A rank of −1 stands for one that the call did not compute. Until the next
  /// call.
  void give_intermediates();

 private:
  double* at_;
  double* results_;
};

using Operation = void (*)(Arguments&);

/// Makes an operation known to JavaScript under a name: as a number, which attn_run() takes.
inline void operation(const char* name, Operation function) {
  emscripten::constant(name, static_cast<double>(reinterpret_cast<Address>(function)));
}

/// The module's only one.
Context& context();

/// Gives a new layer with its first weights: drawn from a stream, or zeros.
inline void give_initialized(Arguments& a, std::unique_ptr<Module> layer) {
  const bool drawn = a.choice<int>() == 0;
  const RandomStream random = a.random();
  if (drawn) layer->initialize_xavier(random, context());
  a.give_layer(layer.release());
}

/// As wasm/js/attentionOptions.js writes them.
AttentionOptions attention_options(Arguments& arguments);

/// As wasm/js/attentionPositions.js writes them.
AttentionPositions attention_positions(Arguments& arguments);

/// As wasm/js/rotaryEmbedding.js writes them.
RotaryEmbeddingOptions rotary_options(Arguments& arguments);

}  // namespace attn::wasm
