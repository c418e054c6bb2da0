#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "attn/tensor_view.hpp"

namespace attn::wasm {

#ifdef ATTN_CHECK_ADDRESSES
/// Ends the module unless elements of a tensor that JavaScript describes all lie in memory that
/// allocate() gave and release() did not take back, or that was lent.
void check_address(std::uintptr_t address, std::size_t element_size,
                   std::span<const std::int64_t> shape, std::span<const std::int64_t> strides);
/// Lets JavaScript describe a tensor of C++, such as the value of a variable.
void lend(const ConstTensor& tensor);
#else
inline void check_address(std::uintptr_t, std::size_t, std::span<const std::int64_t>,
                          std::span<const std::int64_t>) {}
inline void lend(const ConstTensor&) {}
#endif

}  // namespace attn::wasm
