#pragma once

#include <new>
#include <optional>
#include <utility>

#include "attn/error.hpp"

namespace attn::wasm {

/// Throws an AttnError in JavaScript: calls the function that JavaScript passed to
/// setErrorHandler().
[[noreturn]] void raise(const Error& error);
[[noreturn]] void raise_out_of_memory();

/// A function whose errors arrive in JavaScript as AttnError: bind `guarded<&function>`.
/// JavaScript's exception starts outside of the handlers, so that C++ has ended its own before it
/// passes.
template <auto F>
struct Guarded;

template <class R, class... A, R (*F)(A...)>
struct Guarded<F> {
  static R call(A... arguments) {
    std::optional<Error> error;
    try {
      return F(std::forward<A>(arguments)...);
    } catch (const Error& thrown) {
      error.emplace(thrown);
    } catch (const std::bad_alloc&) {
    }
    if (error) raise(*error);
    raise_out_of_memory();
  }
};

template <auto F>
constexpr auto guarded = &Guarded<F>::call;

}  // namespace attn::wasm
