#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace attn::wasm {

#ifdef ATTN_CHECK_ADDRESSES
/// Ends the module unless elements of a tensor that JavaScript describes all lie in memory that
/// allocate() gave and release() did not take back.
void check_address(std::uintptr_t address, std::size_t element_size,
                   std::span<const std::int64_t> shape, std::span<const std::int64_t> strides);
#else
inline void check_address(std::uintptr_t, std::size_t, std::span<const std::int64_t>,
                          std::span<const std::int64_t>) {}
#endif

}  // namespace attn::wasm
