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

/// Free text about a file, as key/value pairs. The key "format" usually has the value "pt".
using SafetensorsMetadata = std::vector<std::pair<std::string, std::string>>;

/// A tensor in a .safetensors file.
struct SafetensorsEntry {
  std::string name;
  std::string dtype;  ///< type as named in the file, e.g. "F32" or "BF16"
  std::vector<std::int64_t> shape;
  std::int64_t begin = 0;  ///< offset of the tensor's first byte from the end of the header
  std::int64_t end = 0;
};

/// The header of a .safetensors file: everything needed to read the file in parts.
struct SafetensorsHeader {
  std::vector<SafetensorsEntry> tensors;  ///< all tensors, in the order of their bytes in the file
  SafetensorsMetadata metadata;           ///< key/value pairs, in file order
  std::int64_t data_begin = 0;            ///< file offset to which `begin` and `end` are relative
};

/// Returns the number of bytes that read_safetensors_header() needs from a file of `file_size`
/// bytes: the file's first eight bytes plus the header. `beginning` must include those eight bytes.
/// Throws kInvalidFormat.
ATTN_API std::int64_t safetensors_header_size(std::span<const std::byte> beginning,
                                              std::int64_t file_size);

/// Reads the header of a file of `file_size` bytes. `beginning` must include the whole header.
/// Makes the same checks as Safetensors, including the check of the tensors' offsets in the file.
/// Throws kInvalidFormat or std::bad_alloc.
ATTN_API SafetensorsHeader read_safetensors_header(std::span<const std::byte> beginning,
                                                   std::int64_t file_size);

/// A .safetensors file (https://huggingface.co/docs/safetensors). It consists of eight bytes with
/// the length N of the header, little-endian; N bytes of JSON with the name, dtype, shape and
/// offsets of each tensor; and the tensors' bytes, little-endian and row-major.
///
/// The whole file is checked before any of it is used. It is rejected if the official
/// implementation would reject it, and also for duplicate names, duplicate or unknown fields and a
/// header that does not begin with "{". F32, F16 and BF16 are read exactly, as float32; F64 is
/// rounded to float32. Tensors of other dtypes are listed but cannot be read.
class ATTN_API Safetensors {
 public:
  /// Reads the file in `bytes`, which must outlive this object. Throws std::bad_alloc or
  /// kInvalidFormat. The message of kInvalidFormat names the faulty tensor and describes the fault.
  static Safetensors view(std::span<const std::byte> bytes);
  /// Reads the file in `bytes` and keeps the bytes. Throws the same errors as view().
  static Safetensors own(std::vector<std::byte> bytes);
  /// Reads a file from disk into memory. The path is UTF-8 on every system. Throws the same errors
  /// as view(), and kFileError.
  static Safetensors load(const std::string& path);

  /// Objects can be moved but not copied, because the data may take gigabytes.
  Safetensors(Safetensors&&) noexcept = default;
  Safetensors& operator=(Safetensors&&) noexcept = default;

  /// The tensors, in the order of their bytes in the file.
  const std::vector<SafetensorsEntry>& tensors() const noexcept { return tensors_; }
  /// The metadata, in file order.
  const SafetensorsMetadata& metadata() const noexcept { return metadata_; }

  bool contains(std::string_view name) const noexcept;
  /// Throws kNotFound if no tensor has this name.
  const SafetensorsEntry& entry(std::string_view name) const;
  /// Throws kUnsupported unless read() can read the entry's dtype.
  static void require_readable(const SafetensorsEntry& entry);

  /// Writes a tensor's values to `output`, which has the same shape and any strides. Throws
  /// kUnsupported for a dtype other than F32, F16, BF16 and F64, and kInvalidArgument for a null
  /// data pointer. May also throw kNotFound or kShapeMismatch.
  void read(std::string_view name, const Tensor& output) const;
  /// Returns a tensor's values, row-major. Throws kNotFound, kUnsupported or std::bad_alloc.
  std::vector<float> read(std::string_view name) const;

 private:
  Safetensors() = default;

  std::vector<std::byte> owned_;
  std::span<const std::byte> data_;  ///< the file's bytes after the header
  std::vector<SafetensorsEntry> tensors_;
  std::vector<std::size_t> by_name_;  ///< indices into tensors_, sorted by tensor name
  SafetensorsMetadata metadata_;
};

/// A tensor to write, with its name.
struct NamedTensor {
  std::string name;
  ConstAnyTensor values;                   ///< numbers with any strides and element type
  std::shared_ptr<const void> owner = {};  ///< pointer that keeps the values alive if nothing else
                                           ///< does
};

/// Returns the bytes of a .safetensors file with these tensors. The official implementation writes
/// the same bytes: it sorts tensors by name and pads the header to a multiple of eight bytes.
/// Tensors of float16 and bfloat16 are written bit for bit, as F16 and BF16. Tensors of float32 are
/// written as `dtype`; if that is a smaller type, numbers are rounded as in Float16 and BFloat16.
/// Throws kInvalidArgument for a `dtype` of kInt8, for a name that appears twice, is "__metadata__"
/// or is not UTF-8, for metadata with a duplicate key or text that is not UTF-8, and for a null
/// data pointer. May also throw kSizeOverflow or std::bad_alloc.
ATTN_API std::vector<std::byte> to_safetensors(std::span<const NamedTensor> tensors,
                                               const SafetensorsMetadata& metadata = {},
                                               ElementType dtype = ElementType::kFloat32);

/// Like to_safetensors(), but writes the bytes to a file, whose path is UTF-8. Also throws
/// kFileError; the file may then be incomplete.
ATTN_API void save_safetensors(const std::string& path, std::span<const NamedTensor> tensors,
                               const SafetensorsMetadata& metadata = {},
                               ElementType dtype = ElementType::kFloat32);

}  // namespace attn
