// What JavaScript calls. Every argument is a number: tensors and texts lie in WebAssembly memory,
// where wasm/js/memory.js has put them, and are passed by address. Nothing is thrown across: a call
// returns whether it succeeded, and errorCode() and errorMessage() tell about the one that did not.

#include <emscripten/bind.h>
#include <malloc.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "attn/context.hpp"
#include "attn/error.hpp"
#include "attn/multi_head_attention.hpp"
#include "attn/ngram_embedding.hpp"
#include "attn/positional_encoding.hpp"
#include "attn/scaled_dot_product_attention.hpp"
#include "attn/shift_matrix.hpp"
#include "attn/sinusoidal_encoding.hpp"
#include "attn/tensor_view.hpp"
#include "attn/version.hpp"

namespace {

using Address = std::uintptr_t;

/// A tensor as wasm/js/memory.js writes and reads it.
struct TensorRecord {
  std::uint32_t data;
  std::uint32_t rank;
  std::uint32_t sizes[attn::ConstTensor::kMaxRank];
};

template <class T>
attn::TensorView<T> tensor(Address address) {
  if (address == 0) return {};
  const auto& record = *reinterpret_cast<const TensorRecord*>(address);
  std::int64_t shape[attn::ConstTensor::kMaxRank];
  std::copy_n(record.sizes, record.rank, shape);
  return {reinterpret_cast<T*>(record.data), std::span(shape, record.rank)};
}

constexpr auto floats = &tensor<const float>;
constexpr auto result = &tensor<float>;

void write(const attn::ConstTensor& source, Address address) {
  auto& record = *reinterpret_cast<TensorRecord*>(address);
  record.data = reinterpret_cast<Address>(source.data());
  record.rank = static_cast<std::uint32_t>(source.rank());
  for (int i = 0; i < source.rank(); ++i) {
    record.sizes[i] = static_cast<std::uint32_t>(source.size(i));
  }
}

Address address_of(const char* text) { return reinterpret_cast<Address>(text); }

const char* text(Address address) { return reinterpret_cast<const char*>(address); }

// Errors

/// The last failed call's error, copied: keeping hold of an exception itself leaks memory with
/// Emscripten 3.1.69.
struct Failure {
  const char* code = "";
  std::runtime_error error{""};
} last_failure;

void fail(const char* code, const std::runtime_error& error) noexcept {
  last_failure.code = code;
  last_failure.error = error;
}

// Made while there is memory.
const std::runtime_error no_memory("memory: WebAssembly's is exhausted");
const std::runtime_error unknown("the core failed without saying why");

/// Runs a call of the core; what it throws is kept for errorCode() and errorMessage().
template <class F>
bool succeeds(F&& call) noexcept {
  try {
    call();
    return true;
  } catch (const attn::Error& error) {
    fail(attn::to_string(error.code()), error);
  } catch (const std::bad_alloc&) {
    fail(attn::to_string(attn::ErrorCode::kOutOfMemory), no_memory);
  } catch (...) {
    fail("internal", unknown);
  }
  return false;
}

Address error_code() noexcept { return address_of(last_failure.code); }

Address error_message() noexcept { return address_of(last_failure.error.what()); }

// The module

std::unique_ptr<attn::Context> the_context;

bool start(int num_threads) {
  return succeeds([&] {
    attn::ContextOptions options;
    options.num_threads = num_threads;
    the_context = std::make_unique<attn::Context>(options);
  });
}

int num_threads() { return the_context->num_threads(); }

Address instruction_set() { return address_of(attn::to_string(the_context->instruction_set())); }

Address version() { return address_of(ATTN_VERSION); }

/// What malloc has handed out and not got back.
double bytes_in_use() { return static_cast<double>(static_cast<std::size_t>(mallinfo().uordblks)); }

// Attention

attn::Diagonal diagonal(bool bottom_right, double offset) {
  return bottom_right ? attn::Diagonal::bottom_right()
                      : attn::Diagonal::offset(static_cast<std::int64_t>(offset));
}

/// A side of a window; infinity is no bound.
std::optional<std::int64_t> side(double keys) {
  if (keys == std::numeric_limits<double>::infinity()) return std::nullopt;
  return static_cast<std::int64_t>(keys);
}

bool scaled_dot_product_attention(Address query, Address key, Address value, Address output,
                                  const attn::AttentionOptions& options) {
  return succeeds([&] {
    attn::scaled_dot_product_attention(floats(query), floats(key), floats(value), result(output),
                                       options, *the_context);
  });
}

// Positions and tokens

attn::SinusoidalLayout layout(bool concatenated) {
  return concatenated ? attn::SinusoidalLayout::kConcatenated
                      : attn::SinusoidalLayout::kInterleaved;
}

bool sinusoidal_encoding(Address output, double base, double start, double step,
                         bool concatenated) {
  return succeeds([&] {
    attn::sinusoidal_encoding(result(output), {base, start, step, layout(concatenated)},
                              *the_context);
  });
}

bool shift_matrix(Address output, double delta, double base, bool concatenated) {
  return succeeds([&] {
    attn::shift_matrix(result(output), delta, {base, layout(concatenated)}, *the_context);
  });
}

bool apply_shift(Address encoding, double delta, Address output, double base, bool concatenated) {
  return succeeds([&] {
    attn::apply_shift(floats(encoding), delta, result(output), {base, layout(concatenated)},
                      *the_context);
  });
}

bool positional_encoding(Address x, Address output, double base, double start, bool concatenated) {
  return succeeds([&] {
    attn::PositionalEncoding({base, layout(concatenated)})
        .forward(floats(x), result(output), start, {}, *the_context);
  });
}

/// `utf8` holds the tokens one behind the other, `ends` (N) where each of them ends.
bool ngram_embedding(Address utf8, Address ends, Address output, double seed) {
  return succeeds([&] {
    const auto bytes = tensor<const char>(utf8);
    const auto token_ends = tensor<const std::int32_t>(ends);
    std::vector<std::string_view> tokens;
    tokens.reserve(static_cast<std::size_t>(token_ends.size(0)));
    std::int32_t begin = 0;
    for (std::int64_t i = 0; i < token_ends.size(0); ++i) {
      tokens.emplace_back(bytes.data() + begin, static_cast<std::size_t>(token_ends(i) - begin));
      begin = token_ends(i);
    }
    attn::NgramEmbeddingOptions options;
    options.seed = static_cast<std::uint64_t>(seed);
    attn::ngram_embedding(tokens, result(output), options, *the_context);
  });
}

// Layers

/// Null when it fails. Sizes are doubles, so that none is cut off before the core has checked it.
attn::MultiHeadAttention* make_multi_head_attention(double d_model, double num_heads, bool bias) {
  attn::MultiHeadAttention* layer = nullptr;
  succeeds([&] {
    attn::MultiHeadAttentionOptions options;
    options.d_model = static_cast<std::int64_t>(d_model);
    options.num_heads = static_cast<std::int64_t>(num_heads);
    options.bias = bias;
    layer = new attn::MultiHeadAttention(options);
  });
  return layer;
}

/// What layers of any kind have in common. Names are separated by line feeds.
template <class Layer>
Address parameter_names(const Layer& layer) {
  static std::string names;
  const bool succeeded = succeeds([&] {
    names.clear();
    for (const std::string& name : layer.parameter_names()) {
      names += names.empty() ? "" : "\n";
      names += name;
    }
  });
  return succeeded ? address_of(names.c_str()) : 0;
}

template <class Layer>
bool parameter(const Layer& layer, Address name, Address record) {
  return succeeds([&] { write(layer.parameter(text(name)), record); });
}

template <class Layer>
bool set_parameter(Layer& layer, Address name, Address values) {
  return succeeds([&] { layer.set_parameter(text(name), floats(values)); });
}

}  // namespace

EMSCRIPTEN_BINDINGS(attn) {
  using emscripten::allow_raw_pointers;
  using emscripten::class_;
  using emscripten::function;

  function("start", &start);
  function("numThreads", &num_threads);
  function("instructionSet", &instruction_set);
  function("version", &version);
  function("bytesInUse", &bytes_in_use);
  function("errorCode", &error_code);
  function("errorMessage", &error_message);

  using attn::AttentionOptions;
  class_<AttentionOptions>("AttentionOptions")
      .constructor<>()
      .function(
          "reset", +[](AttentionOptions& o) { o = {}; })
      .function(
          "setScale", +[](AttentionOptions& o, float scale) { o.scale = scale; })
      .function(
          "setCausal", +[](AttentionOptions& o, bool bottom_right,
                           double offset) { o.causal = diagonal(bottom_right, offset); })
      .function(
          "setWindow",
          +[](AttentionOptions& o, double left, double right, bool bottom_right, double offset) {
            o.window = {side(left), side(right), diagonal(bottom_right, offset)};
          })
      .function(
          "setValidLens", +[](AttentionOptions& o,
                              Address lens) { o.valid_lens = tensor<const std::int32_t>(lens); })
      .function(
          "setMask",
          +[](AttentionOptions& o, Address mask) { o.mask = tensor<const std::uint8_t>(mask); })
      .function(
          "setWeights", +[](AttentionOptions& o, Address weights) { o.weights = result(weights); });
  function("scaledDotProductAttention", &scaled_dot_product_attention);

  function("sinusoidalEncoding", &sinusoidal_encoding);
  function("shiftMatrix", &shift_matrix);
  function("applyShift", &apply_shift);
  function("positionalEncoding", &positional_encoding);
  function("ngramEmbedding", &ngram_embedding);

  using attn::MultiHeadAttention;
  class_<MultiHeadAttention>("MultiHeadAttention")
      .function("parameterNames", &parameter_names<MultiHeadAttention>)
      .function("parameter", &parameter<MultiHeadAttention>)
      .function("setParameter", &set_parameter<MultiHeadAttention>)
      .function(
          "initializeIdentity",
          +[](MultiHeadAttention& layer) { return succeeds([&] { layer.initialize_identity(); }); })
      .function(
          "initializeXavier",
          +[](MultiHeadAttention& layer, double seed) {
            return succeeds(
                [&] { layer.initialize_xavier(static_cast<std::uint64_t>(seed), *the_context); });
          })
      .function(
          "forward", +[](const MultiHeadAttention& layer, Address query, Address key, Address value,
                         Address output, const AttentionOptions& options) {
            return succeeds([&] {
              layer.forward(floats(query), floats(key), floats(value), result(output), options,
                            *the_context);
            });
          });
  function("makeMultiHeadAttention", &make_multi_head_attention, allow_raw_pointers());
}
