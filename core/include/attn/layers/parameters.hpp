#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attn/export.hpp"
#include "attn/tensor_view.hpp"

namespace attn {

/// The named weights of a layer, with PyTorch's names and layouts: what `state_dict` calls
/// "in_proj_weight" has that name and that shape here.
class ATTN_API Parameters {
 public:
  /// Adds a parameter of zeros. Throws kInvalidArgument for a negative size, kSizeOverflow,
  /// std::bad_alloc; nothing is then added.
  void add(std::string name, std::span<const std::int64_t> shape);

  std::vector<std::string> names() const;
  bool contains(std::string_view name) const noexcept;

  /// The values, row-major. Throws kNotFound for an unknown name.
  ConstTensor get(std::string_view name) const;

  /// Copies values of the same shape in, with any strides. Throws kNotFound, kShapeMismatch, or
  /// kInvalidArgument for null data.
  void set(std::string_view name, const ConstTensor& values);

  /// The values to be written in place; whoever does has to tell the layer. Throws kNotFound.
  Tensor mutable_view(std::string_view name);

 private:
  struct Entry {
    std::string name;
    std::vector<std::int64_t> shape;
    std::vector<float> values;
  };
  const Entry& find(std::string_view name) const;

  std::vector<Entry> entries_;
};

}  // namespace attn
