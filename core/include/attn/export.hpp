#pragma once

#if !defined(__GNUC__)
#error "attn is compiled by GCC or Clang; it uses functions that other compilers do not have"
#endif

/// ATTN_API marks what the library exports. Everything else is compiled with hidden visibility;
/// ATTN_LOCAL hides a member of an exported class.
#define ATTN_API __attribute__((visibility("default")))
#define ATTN_LOCAL __attribute__((visibility("hidden")))
