#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attn/any_tensor.hpp"
#include "attn/element_type.hpp"
#include "attn/export.hpp"
#include "attn/tensor_view.hpp"

namespace attn {

/// Free text about a file, key by key; the key "format" is commonly "pt".
using SafetensorsMetadata = std::vector<std::pair<std::string, std::string>>;

/// A tensor in a .safetensors file.
struct SafetensorsEntry {
  std::string name;
  std::string dtype;  ///< as the file calls it, e.g. "F32", "BF16"
  std::vector<std::int64_t> shape;
  std::int64_t begin = 0;  ///< its bytes, counted from the end of the header
  std::int64_t end = 0;
};

/// What stands before the data of a .safetensors file: all that is needed to read the file in
/// parts.
struct SafetensorsHeader {
  std::vector<SafetensorsEntry> tensors;  ///< in the order of their bytes
  SafetensorsMetadata metadata;           ///< in the order of the file
  std::int64_t data_begin = 0;  ///< place in the file that begin and end of tensors count from
};

/// The bytes of a file of `file_size` bytes that read_safetensors_header() needs: the eight that
/// the file begins with, which are given, and those of the header. Throws kInvalidFormat.
ATTN_API std::int64_t safetensors_header_size(std::span<const std::byte> beginning,
                                              std::int64_t file_size);

/// The header of a file of `file_size` bytes, of which at least those of the header are given. It
/// is checked as Safetensors checks it, the tensors' places in the file too. Throws kInvalidFormat,
/// std::bad_alloc.
ATTN_API SafetensorsHeader read_safetensors_header(std::span<const std::byte> beginning,
                                                   std::int64_t file_size);

/// A .safetensors file (https://huggingface.co/docs/safetensors): eight bytes with the length N of
/// the header, little-endian; N bytes of JSON with name, dtype, shape and place of each tensor; the
/// tensors' bytes, little-endian and row-major.
///
/// A file is checked as a whole before anything of it is used: what the official implementation
/// rejects is rejected, and beyond that duplicate names, duplicate or unknown fields and headers
/// that do not begin with "{". Numbers of F32, F16 and BF16 are read exactly, as float32, and those
/// of F64 are rounded to float32. Tensors of other dtypes are listed.
class ATTN_API Safetensors {
 public:
  /// Reads the file in `bytes`, which must outlive this object.
  /// Throws kInvalidFormat with the name of the tensor and what is wrong with it; std::bad_alloc.
  static Safetensors view(std::span<const std::byte> bytes);
  /// Reads the file in `bytes` and keeps it. Throws as view() does.
  static Safetensors own(std::vector<std::byte> bytes);
  /// Reads a file from disk into memory. Throws kFileError too.
  static Safetensors load(const std::string& path);

  /// Moved, not copied: what it keeps may be gigabytes.
  Safetensors(Safetensors&&) noexcept = default;
  Safetensors& operator=(Safetensors&&) noexcept = default;

  /// In the order of their bytes.
  const std::vector<SafetensorsEntry>& tensors() const noexcept { return tensors_; }
  /// In the order of the file.
  const SafetensorsMetadata& metadata() const noexcept { return metadata_; }

  bool contains(std::string_view name) const noexcept;
  /// Throws kNotFound.
  const SafetensorsEntry& entry(std::string_view name) const;
  /// Throws kUnsupported unless read() can read the entry's dtype.
  static void require_readable(const SafetensorsEntry& entry);

  /// Writes a tensor's values to `output`, of the same shape and any strides. Throws kNotFound,
  /// kShapeMismatch, kInvalidArgument for null data, and kUnsupported for a dtype other than F32,
  /// F16, BF16 and F64.
  void read(std::string_view name, const Tensor& output) const;
  /// A tensor's values, row-major. Throws kNotFound, kUnsupported, std::bad_alloc.
  std::vector<float> read(std::string_view name) const;

 private:
  Safetensors() = default;

  std::vector<std::byte> owned_;
  std::span<const std::byte> data_;  ///< after the header
  std::vector<SafetensorsEntry> tensors_;
  std::vector<std::size_t> by_name_;  ///< indices of tensors_, sorted by name
  SafetensorsMetadata metadata_;
};

/// What is to be written under a name.
struct NamedTensor {
  std::string name;
  ConstAnyTensor values;                   ///< any strides and type
  std::shared_ptr<const void> owner = {};  ///< of values that nobody else keeps
};

/// The bytes of a .safetensors file with these tensors: the same bytes as the official
/// implementation's, which sorts tensors by name and fills the header up to a multiple of eight.
/// Tensors of float16 and bfloat16 are written bit by bit, as F16 and BF16, and those of float32 as
/// `dtype`: where that is a shorter type, rounded to the nearest, as Float16 and BFloat16 are.
/// Throws kInvalidArgument for kInt8, for a name that is given twice, is "__metadata__" or is not
/// UTF-8, for metadata of the same kind and for null data; kSizeOverflow, std::bad_alloc.
ATTN_API std::vector<std::byte> to_safetensors(std::span<const NamedTensor> tensors,
                                               const SafetensorsMetadata& metadata = {},
                                               ElementType dtype = ElementType::kFloat32);

/// The same, to a file on disk. Throws kFileError too; the file may then be incomplete.
ATTN_API void save_safetensors(const std::string& path, std::span<const NamedTensor> tensors,
                               const SafetensorsMetadata& metadata = {},
                               ElementType dtype = ElementType::kFloat32);

}  // namespace attn
