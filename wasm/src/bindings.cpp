// What JavaScript calls. Every argument is a number: tensors and strings lie in WebAssembly memory,
// where wasm/js/memory.js has put them, and are passed by address. Nothing is thrown across: a call
// returns whether it succeeded, and errorCode() and errorMessage() tell about the one that did not.

#include <emscripten/bind.h>
#include <malloc.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <span>

#include "attn/context.hpp"
#include "attn/error.hpp"
#include "attn/scaled_dot_product_attention.hpp"
#include "attn/tensor_view.hpp"
#include "attn/version.hpp"

namespace {

using Address = std::uintptr_t;

/// A tensor as Memory.tensor() in wasm/js/memory.js writes it.
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

Address address_of(const char* text) { return reinterpret_cast<Address>(text); }

std::exception_ptr last_exception;

/// Runs a call of the core; an exception is kept for errorCode() and errorMessage().
template <class F>
bool succeeds(F&& call) noexcept {
  try {
    call();
    return true;
  } catch (...) {
    last_exception = std::current_exception();
    return false;
  }
}

Address error_code() noexcept {
  try {
    std::rethrow_exception(last_exception);
  } catch (const attn::Error& error) {
    return address_of(attn::to_string(error.code()));
  } catch (const std::bad_alloc&) {
    return address_of(attn::to_string(attn::ErrorCode::kOutOfMemory));
  } catch (...) {
    return address_of("internal");
  }
}

Address error_message() noexcept {
  try {
    std::rethrow_exception(last_exception);
  } catch (const std::bad_alloc&) {
    return address_of("the WebAssembly memory is exhausted");
  } catch (const std::exception& error) {
    return address_of(error.what());
  } catch (...) {
    return address_of("an unknown exception in the core");
  }
}

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
  if (keys > 9007199254740991.0) return std::nullopt;
  return static_cast<std::int64_t>(keys);
}

bool scaled_dot_product_attention(Address query, Address key, Address value, Address output,
                                  const attn::AttentionOptions& options) {
  return succeeds([&] {
    attn::scaled_dot_product_attention(tensor<const float>(query), tensor<const float>(key),
                                       tensor<const float>(value), tensor<float>(output), options,
                                       *the_context);
  });
}

}  // namespace

EMSCRIPTEN_BINDINGS(attn) {
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
          "setWeights",
          +[](AttentionOptions& o, Address weights) { o.weights = tensor<float>(weights); });
  function("scaledDotProductAttention", &scaled_dot_product_attention);
}
