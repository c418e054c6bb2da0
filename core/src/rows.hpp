#pragma once

#include <cstdint>

#include "attn/any_tensor.hpp"
#include "attn/tensor_view.hpp"
#include "validation.hpp"

/// Helpers for rows of equal width, one for each token, with or without a batch: the inputs and
/// outputs of most layers.
namespace attn {

/// Requires shape (N, width) or (B, N, width), and data. `width_name` is the name that callers use
/// for the width. A width of −1 accepts any width.
template <class View>
void require_rows(const char* name, const View& rows, const char* width_name, std::int64_t width) {
  if (rows.rank() == 3) {
    validation::require_shape(name, rows.shape(), {-1, -1, width});
  } else if (rows.rank() == 2) {
    validation::require_shape(name, rows.shape(), {-1, width});
  } else {
    validation::fail_rows(name, rows.shape(), width_name);
  }
  validation::require_data(name, rows);
}

/// Requires data, and the shape (length, width), or (B, length, width) if x is a batch of size B. A
/// length or width of −1 accepts any value.
template <class View>
void require_rows_like(const char* name, const View& rows, const ConstAnyTensor& x,
                       std::int64_t length, std::int64_t width) {
  if (x.rank() == 3) {
    validation::require_shape(name, rows.shape(), {x.size(0), length, width});
  } else {
    validation::require_shape(name, rows.shape(), {length, width});
  }
  validation::require_data(name, rows);
}

/// Views (N, width) as (1, N, width). A batch is returned unchanged.
template <class View>
View with_batch(const View& rows) {
  return rows.rank() == 2 ? rows.unsqueeze(0) : rows;
}

/// Views (N, D), (B, N, D) or (B, H, N, D) as (B, H, N, D). Other ranks are returned unchanged.
template <class View>
View with_heads(const View& view) {
  const View batch = with_batch(view);
  return batch.rank() == 3 ? batch.unsqueeze(1) : batch;
}

/// The size of the batch, or 1 if there is none.
template <class View>
std::int64_t batch_of(const View& rows) {
  return rows.rank() == 3 ? rows.size(0) : 1;
}

}  // namespace attn
