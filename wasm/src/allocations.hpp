#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "attn/tensor_view.hpp"

namespace attn::wasm {

#ifdef ATTN_CHECK_ADDRESSES
/// Aborts the module if JavaScript describes a tensor with elements that it may not access. All
/// elements must be in memory from allocate() that is not yet released, or in a tensor passed to
/// lend().
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
