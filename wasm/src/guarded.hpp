#pragma once

#include <emscripten/val.h>

#include <new>
#include <type_traits>
#include <utility>

#include "attn/error.hpp"

namespace attn::wasm {

/// Passes an error to the function that JavaScript set with setErrorHandler(), for it to be thrown
/// when the call has returned. An exception that passed Embind's JavaScript would skip what frees
/// the call's arguments, and one that passed C++ the restoring of the stack.
void report(const Error& error);
void report_out_of_memory();

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
    } catch (const Error& error) {
      report(error);
    } catch (const std::bad_alloc&) {
      report_out_of_memory();
    }
    return nothing<R>();
  }
};

template <auto F>
constexpr auto guarded = &Guarded<F>::call;

}  // namespace attn::wasm
