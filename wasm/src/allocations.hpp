#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "attn/tensor_view.hpp"

namespace attn::wasm {

#ifdef ATTN_CHECK_ADDRESSES
/// Ends the module unless all elements of a tensor that JavaScript describes are in memory that
/// was lent, or that allocate() returned and release() has not freed.
void check_address(std::uintptr_t address, std::size_t element_size,
                   std::span<const std::int64_t> shape, std::span<const std::int64_t> strides);
/// Lets JavaScript describe a tensor that C++ owns, such as the value of a variable.
void lend(const ConstTensor& tensor);
#else
inline void check_address(std::uintptr_t, std::size_t, std::span<const std::int64_t>,
                          std::span<const std::int64_t>) {}
inline void lend(const ConstTensor&) {}
#endif

}  // namespace attn::wasm
