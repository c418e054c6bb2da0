#pragma once

/// ATTN_API marks what the library exports. Everything else is compiled with hidden visibility;
/// ATTN_LOCAL says so of what lies inside of an exported class.
#if defined(_WIN32) && defined(ATTN_SHARED)
#if defined(ATTN_BUILDING)
#define ATTN_API __declspec(dllexport)
#else
#define ATTN_API __declspec(dllimport)
#endif
#elif defined(__GNUC__)
#define ATTN_API __attribute__((visibility("default")))
#else
#define ATTN_API
#endif

#if defined(__GNUC__) && !defined(_WIN32)
#define ATTN_LOCAL __attribute__((visibility("hidden")))
#else
#define ATTN_LOCAL
#endif
