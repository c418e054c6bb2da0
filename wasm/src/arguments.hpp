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
#include <type_traits>
#include <vector>

#include "attn/any_tensor.hpp"
#include "attn/attention/scaled_dot_product_attention.hpp"
#include "attn/layers/dropout.hpp"
#include "attn/layers/intermediates.hpp"
#include "attn/layers/module.hpp"
#include "attn/layers/multi_head_attention.hpp"
#include "attn/layers/rms_norm.hpp"
#include "attn/positions/rotary_embedding.hpp"
#include "attn/random.hpp"
#include "attn/tensor_view.hpp"
#include "context.hpp"

namespace attn::wasm {

using Address = std::uintptr_t;

/// What an argument is; wasm/js/kind.js numbers them alike. Both sides fold the kinds of a call's
/// arguments into one number, in the order in which they are written and read, and attn_run()
/// refuses a call where the two differ.
enum class Kind : std::uint32_t {
  kReal = 1,
  kInteger,
  kFlag,
  kChoice,
  kOptionalReal,
  kOptionalInteger,
  kAddress,
  kFloats,
  kResult,
  kInts,
  kDoubles,
  kBytes,
  kHalves,
};

/// Of a tensor with these elements.
template <class T>
constexpr Kind kKindOf = sizeof(T) == 1                ? Kind::kBytes
                         : sizeof(T) == 2              ? Kind::kHalves
                         : std::is_same_v<T, float>    ? Kind::kResult
                         : sizeof(T) == sizeof(double) ? Kind::kDoubles
                         : std::is_floating_point_v<T> ? Kind::kFloats
                                                       : Kind::kInts;

/// What an operation is called with: numbers of 64 bits, one after the other, as wasm/js/call.js
/// has written them. Each reader takes what the writer of the same name puts there.
class Arguments {
 public:
  explicit Arguments(Address address) noexcept : at_(reinterpret_cast<double*>(address)) {
    results_ = at_;
  }

  /// The kinds of what has been read.
  std::uint32_t kinds() const noexcept { return kinds_; }

  double number() noexcept { return next(Kind::kReal); }
  float real() noexcept { return static_cast<float>(number()); }
  bool flag() noexcept { return next(Kind::kFlag) != 0; }
  template <class T = std::int64_t>
  T integer() noexcept {
    return static_cast<T>(next(Kind::kInteger));
  }

  /// An enumeration, by its place in it.
  template <class E>
  E choice() noexcept {
    return static_cast<E>(static_cast<int>(next(Kind::kChoice)));
  }

  /// NaN stands for none.
  std::optional<double> optional_number() noexcept {
    const double value = next(Kind::kOptionalReal);
    return std::isnan(value) ? std::nullopt : std::optional(value);
  }
  std::optional<float> optional_real() noexcept {
    const auto value = optional_number();
    return value ? std::optional(static_cast<float>(*value)) : std::nullopt;
  }
  std::optional<std::int64_t> optional_integer() noexcept {
    const double value = next(Kind::kOptionalInteger);
    return std::isnan(value) ? std::nullopt : std::optional(static_cast<std::int64_t>(value));
  }

  Address address() noexcept { return static_cast<Address>(next(Kind::kAddress)); }

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

  template <class T>
  TensorView<T> tensor() {
    const Strided read = strided(kKindOf<T>);
    if (read.rank < 0) return {};
    const auto rank = static_cast<std::size_t>(read.rank);
    return TensorView<T>(reinterpret_cast<T*>(read.address), std::span(read.shape, rank),
                         std::span(read.strides, rank));
  }
  ConstTensor floats() { return tensor<const float>(); }
  Tensor result() { return tensor<float>(); }
  /// Of the type that comes before it.
  ConstAnyTensor elements();
  AnyTensor result_of_type();
  ConstLengths lengths() { return tensor<const std::int32_t>(); }
  TensorView<const double> positions();
  ConstMask mask() { return tensor<const std::uint8_t>(); }

  template <class T>
  std::span<const T> span() noexcept {
    const Strided read = strided(kKindOf<T>);
    if (read.rank < 0) return {};
    return {reinterpret_cast<const T*>(read.address), static_cast<std::size_t>(read.shape[0])};
  }

  std::string_view text() noexcept {
    const std::span<const char> bytes = span<char>();
    return {bytes.data(), bytes.size()};
  }

  RandomStream random() noexcept {
    const auto seed = integer<std::uint64_t>();
    return {seed, integer<std::uint64_t>()};
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
  struct Strided {
    int rank;
    Address address;
    std::int64_t shape[ConstTensor::kMaxRank];
    std::int64_t strides[ConstTensor::kMaxRank];
  };

  double next(Kind kind) noexcept {
    kinds_ = 31 * kinds_ + static_cast<std::uint32_t>(kind);
    return *at_++;
  }
  /// Rank, address, sizes and strides; a rank of −1 stands for none.
  Strided strided(Kind kind) noexcept;

  double* at_;
  double* results_;
  std::uint32_t kinds_ = 0;
};

using Operation = void (*)(Arguments&);

/// Makes an operation known to JavaScript under a name: as a number, which attn_run() takes.
inline void operation(const char* name, Operation function) {
  emscripten::constant(name, static_cast<double>(reinterpret_cast<Address>(function)));
}

/// Gives a new layer with its first weights: drawn from a stream, or zeros.
inline void give_initialized(Arguments& a, std::unique_ptr<Module> layer) {
  const bool drawn = a.choice<int>() == 0;
  const RandomStream random = a.random();
  if (drawn) layer->initialize_xavier(random, context());
  a.give_layer(layer.release());
}

/// As wasm/js/attentionOptions.js writes them.
AttentionOptions attention_options(Arguments& arguments);
std::optional<Window> optional_window(Arguments& arguments);

/// As wasm/js/rmsNorm.js writes them.
RmsNormOptions rms_norm_options(Arguments& arguments);
std::optional<RmsNormOptions> optional_rms_norm(Arguments& arguments);

/// As wasm/js/attentionPositions.js writes them.
AttentionPositions attention_positions(Arguments& arguments);

/// As wasm/js/rotaryEmbedding.js writes them.
RotaryEmbeddingOptions rotary_options(Arguments& arguments);

}  // namespace attn::wasm
