#pragma once

#include <emscripten/val.h>

#include <type_traits>
#include <utility>

namespace attn::wasm {

/// Passes the exception that is being handled to the function that JavaScript set with
/// setErrorHandler(), for it to be thrown when the call has returned. An exception that passed
/// Embind's JavaScript would skip what frees the call's arguments, and one that passed C++ the
/// restoring of the stack.
void report() noexcept;

/// Whether an error waits to be thrown. Until JavaScript calls forgetError(), guarded functions do
/// nothing.
bool has_failed() noexcept;

/// What a function returns that has failed. JavaScript does not look at it.
template <class R>
R nothing() {
  if constexpr (std::is_constructible_v<R, emscripten::val>) {
    return R(emscripten::val::undefined());
  } else {
    return R();
  }
}

/// A function whose errors arrive in JavaScript as AttnError: bind `guarded<&function>`.
template <auto F>
struct Guarded;

template <class R, class... A, R (*F)(A...)>
struct Guarded<F> {
  static R call(A... arguments) {
    if (has_failed()) return nothing<R>();
    try {
      return F(std::forward<A>(arguments)...);
    } catch (...) {
      // With a handler here for each kind of error, a .wasm for training has 12 KB more.
      report();
    }
    return nothing<R>();
  }
};

template <auto F>
constexpr auto guarded = &Guarded<F>::call;

}  // namespace attn::wasm
