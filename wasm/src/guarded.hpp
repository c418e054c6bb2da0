#pragma once

#include <new>
#include <utility>

#include "attn/error.hpp"

namespace attn::wasm {

/// Keeps an error for JavaScript, which asks after every call and throws an AttnError.
void keep_error(const Error& error);
void keep_out_of_memory();

/// A function that returns after an error, with a value that JavaScript ignores: bind
/// `guarded<&function>`. An exception would leave Embind's JavaScript before it frees the texts and
/// value objects that the function was called with.
template <auto F>
struct Guarded;

template <class R, class... A, R (*F)(A...)>
struct Guarded<F> {
  static R call(A... arguments) {
    try {
      return F(std::forward<A>(arguments)...);
    } catch (const Error& error) {
      keep_error(error);
    } catch (const std::bad_alloc&) {
      keep_out_of_memory();
    }
    return R();
  }
};

template <auto F>
constexpr auto guarded = &Guarded<F>::call;

}  // namespace attn::wasm
