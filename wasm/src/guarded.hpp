#pragma once

#include <emscripten/val.h>

#include <type_traits>
#include <utility>

namespace attn::wasm {

/// Passes the current exception to the function that JavaScript set with setErrorHandler().
/// JavaScript throws it after the call has returned. An exception thrown through Embind's
/// JavaScript would skip the code that frees the call's arguments, and one thrown through C++ would
/// skip restoring the stack.
void report() noexcept;

/// True if an error is waiting to be thrown, or if memory is so short that this reports an error.
/// Until JavaScript calls forgetError(), guarded functions do nothing.
bool has_failed() noexcept;

/// Return value of a function that has failed. JavaScript ignores it.
template <class R>
R nothing() {
  if constexpr (std::is_constructible_v<R, emscripten::val>) {
    return R(emscripten::val::undefined());
  } else {
    return R();
  }
}

/// Turns exceptions of a function into AttnError in JavaScript. Bind `guarded<&function>`.
template <auto F>
struct Guarded;

template <class R, class... A, R (*F)(A...)>
struct Guarded<F> {
  static R call(A... arguments) {
    if (has_failed()) return nothing<R>();
    try {
      return F(std::forward<A>(arguments)...);
    } catch (...) {
      // A separate handler per kind of error would make a training .wasm 12 KB larger.
      report();
    }
    return nothing<R>();
  }
};

template <auto F>
constexpr auto guarded = &Guarded<F>::call;

}  // namespace attn::wasm
