#pragma once

#include <emscripten/val.h>

#include <type_traits>
#include <utility>

namespace attn::wasm {

/// Passes the current exception to the function that JavaScript set with setErrorHandler().
/// JavaScript throws it after the call has returned. An exception thrown through Embind's
/// JavaScript would skip the code that frees the call's arguments. An exception thrown through C++
/// would skip the code that restores the stack.
void report() noexcept;

/// Begins a guarded function. Returns false if the function must not run. In that case, either an
/// earlier error is pending until JavaScript calls forgetError(), or enter() itself has just
/// reported that memory ran out.
bool enter() noexcept;

/// Ends a guarded function that has succeeded.
void leave() noexcept;

/// Return value of a function that has failed. JavaScript ignores it.
template <class R>
R nothing() {
  if constexpr (std::is_constructible_v<R, emscripten::val>) {
    return R(emscripten::val::undefined());
  } else {
    return R();
  }
}

/// Wraps a function so that its C++ exceptions become AttnErrors in JavaScript. Bind
/// `guarded<&function>`.
template <auto F>
struct Guarded;

template <class R, class... A, R (*F)(A...)>
struct Guarded<F> {
  static R call(A... arguments) {
    if (!enter()) return nothing<R>();
    try {
      if constexpr (std::is_void_v<R>) {
        F(std::forward<A>(arguments)...);
        return leave();
      } else {
        R result = F(std::forward<A>(arguments)...);
        leave();
        return result;
      }
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
