#pragma once

/// ATTN_API marks what the library exports. Everything else is compiled with hidden visibility.
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
