#pragma once

#include <cstddef>
#include <cstdint>

/// Constants of the safetensors format.
namespace attn::safetensors {

/// Number of bytes that hold the length of the header.
inline constexpr std::int64_t kLengthBytes = 8;
/// The largest header that the official implementation accepts, in bytes.
inline constexpr std::uint64_t kMaxHeader = 100'000'000;
inline constexpr std::size_t kAlignment = 8;
inline constexpr const char* kMetadataKey = "__metadata__";

/// The `argument` of errors about the whole file and about its header.
inline constexpr const char* kFile = "safetensors";
inline constexpr const char* kHeader = "safetensors header";

}  // namespace attn::safetensors
