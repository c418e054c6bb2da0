#pragma once

#if !defined(__GNUC__) && !defined(__clang__)
#error "attn needs GCC or Clang, because it uses builtins that other compilers lack"
#endif

#if __cplusplus < 202002L
#error "attn needs C++20: compile with -std=c++20 or newer"
// Compilers continue after #error, but stop at an #include of a file that does not exist.
#include "attn needs C++20: compile with -std=c++20 or newer"
#endif

/// ATTN_API marks the symbols that the shared library exports. All other symbols are hidden;
/// ATTN_LOCAL hides a member of an exported class. In the static library all symbols are hidden, so
/// a shared library that links the static library does not export them.
#ifdef ATTN_STATIC
#define ATTN_API
#define ATTN_LOCAL
#else
#define ATTN_API __attribute__((visibility("default")))
#define ATTN_LOCAL __attribute__((visibility("hidden")))
#endif

namespace attn::detail {
// In libstdc++'s debug mode, containers have a different layout. A program and a library with
// different modes do not link, because each refers to a symbol that only its own mode defines.
#ifdef _GLIBCXX_DEBUG
ATTN_API extern const char attn_must_be_compiled_with_GLIBCXX_DEBUG;
[[gnu::used]] static const char* const kDebugMode = &attn_must_be_compiled_with_GLIBCXX_DEBUG;
#else
ATTN_API extern const char attn_must_be_compiled_without_GLIBCXX_DEBUG;
[[gnu::used]] static const char* const kDebugMode = &attn_must_be_compiled_without_GLIBCXX_DEBUG;
#endif
}  // namespace attn::detail
