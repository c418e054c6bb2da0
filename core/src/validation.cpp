#include "validation.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <concepts>
#include <iterator>
#include <limits>

namespace attn::validation {

namespace {

template <std::integral Integer>
void append_number(std::string& text, Integer number) {
  char digits[std::numeric_limits<Integer>::digits10 + 2];
  const char* end = std::to_chars(std::begin(digits), std::end(digits), number).ptr;
  text.append(digits, static_cast<std::size_t>(end - digits));
}

/// Appends a number as printf's %.9g would write it. The code of printf would be 3 % of a
/// WebAssembly module. If the number is halfway, or almost halfway, between two candidates for the
/// ninth digit, the result may have either digit.
void append_number(std::string& text, double number) {
  if (std::isnan(number)) {
    text += "nan";
    return;
  }
  if (std::signbit(number)) text += '-';
  double magnitude = std::abs(number);
  if (std::isinf(magnitude) || magnitude == 0) {
    text += magnitude == 0 ? "0" : "inf";
    return;
  }
  // magnitude · 10^exponent, with one digit before the point.
  int exponent = 0;
  for (; magnitude >= 10; magnitude /= 10) ++exponent;
  for (; magnitude < 1; magnitude *= 10) --exponent;
  constexpr int kDigits = 9;
  auto rounded = static_cast<std::int64_t>(magnitude * 1e8 + 0.5);
  if (rounded == 1'000'000'000) {
    rounded /= 10;
    ++exponent;
  }
  char buffer[kDigits];
  std::to_chars(buffer, buffer + kDigits, rounded);
  int count = kDigits;
  while (count > 1 && buffer[count - 1] == '0') --count;

  const bool scientific = exponent < -4 || exponent >= kDigits;
  const int before = scientific ? 1 : exponent + 1;
  if (before <= 0) text += "0.";
  for (int i = before; i < 0; ++i) text += '0';
  for (int i = 0; i < std::max(before, count); ++i) {
    if (i == before && i > 0) text += '.';
    text += i < count ? buffer[i] : '0';
  }
  if (!scientific) return;
  text += exponent < 0 ? "e-" : "e+";
  if (std::abs(exponent) < 10) text += '0';
  append_number(text, std::abs(exponent));
}

void append_shape(std::string& text, std::span<const std::int64_t> shape) {
  text += '(';
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i > 0) text += ", ";
    if (shape[i] < 0) {
      text += "any";
    } else {
      append_number(text, shape[i]);
    }
  }
  text += ')';
}

}  // namespace

AppendArgument append_argument = [](std::string& message, std::string_view name) {
  message += name;
};

std::string to_string(std::span<const std::int64_t> shape) { return join({shape}); }

void Name::append_to(std::string& message) const {
  if (is_argument_) {
    append_argument(message, name_);
  } else {
    message += name_;
  }
}

void Part::append_to(std::string& message) const {
  const auto size = static_cast<std::size_t>(number_);
  switch (kind_) {
    case Kind::kLiteral:
      message += static_cast<const char*>(data_);
      break;
    case Kind::kName:
      static_cast<const Name*>(data_)->append_to(message);
      break;
    case Kind::kText:
      message.append(static_cast<const char*>(data_), size);
      break;
    case Kind::kSigned:
      append_number(message, number_);
      break;
    case Kind::kUnsigned:
      append_number(message, static_cast<std::uint64_t>(number_));
      break;
    case Kind::kReal:
      append_number(message, real_);
      break;
    case Kind::kShape:
      append_shape(message, {static_cast<const std::int64_t*>(data_), size});
      break;
  }
}

void append(std::string& text, Parts parts) {
  for (const Part& part : parts) part.append_to(text);
}

std::string join(Parts parts) {
  std::string message;
  append(message, parts);
  return message;
}

std::string list_names(std::span<const std::string> names) {
  constexpr std::size_t kNamesShown = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kNamesShown); ++i) {
    append(text, {i > 0 ? ", " : "", names[i]});
  }
  if (names.size() > kNamesShown) append(text, {" and ", names.size() - kNamesShown, " more"});
  return text;
}

void fail(ErrorCode code, Name name, Parts got, Parts needs) {
  throw Error(code, join({name}), join(got), join(needs));
}
void fail(ErrorCode code, const char* argument, Parts got, Parts needs) {
  fail(code, Name(argument), got, needs);
}

void fail_value(Name name, Part got, Parts needs) {
  fail(ErrorCode::kInvalidArgument, name, {got}, needs);
}
void fail_value(const char* argument, Part got, Parts needs) {
  fail_value(Name(argument), got, needs);
}

void fail_shape(Name name, std::span<const std::int64_t> got, Parts needs) {
  fail(ErrorCode::kShapeMismatch, name, {"shape ", got}, needs);
}
void fail_shape(const char* argument, std::span<const std::int64_t> got, Parts needs) {
  fail_shape(Name(argument), got, needs);
}

void fail_rows(const char* name, std::span<const std::int64_t> got, const char* width) {
  const Name w(width);
  fail_shape(name, got, {"rank 2 (N, ", w, ") or 3 (B, N, ", w, ")"});
}

void require_at_least(Name name, std::int64_t value, std::int64_t least) {
  if (value < least) fail_value(name, value, {least, " or more"});
}
void require_at_least(const char* argument, std::int64_t value, std::int64_t least) {
  require_at_least(Name(argument), value, least);
}

void require_probability(const char* name, double value) {
  if (!(value >= 0 && value <= 1)) fail_value(name, value, {"a probability between 0 and 1"});
}

void require_finite_at_least_zero(const char* name, double value) {
  if (!(value >= 0) || !std::isfinite(value)) {
    fail_value(name, value, {"a finite number of at least 0"});
  }
}

std::int64_t product(Name name, std::span<const std::int64_t> sizes) {
  std::int64_t result = 1;
  for (const std::int64_t size : sizes) {
    if (__builtin_mul_overflow(result, size, &result)) {
      fail(ErrorCode::kSizeOverflow, name, {"sizes ", sizes},
           {"sizes whose product fits into the address space"});
    }
  }
  return result;
}
std::int64_t product(const char* argument, std::span<const std::int64_t> sizes) {
  return product(Name(argument), sizes);
}

std::size_t allocation(Name name, std::int64_t count, std::size_t bytes) {
  if (count < 0 || static_cast<std::uint64_t>(count) > PTRDIFF_MAX / bytes) {
    fail(ErrorCode::kSizeOverflow, name, {count, " elements"},
         {"few enough elements to fit into the address space"});
  }
  return static_cast<std::size_t>(count);
}
std::size_t allocation(const char* argument, std::int64_t count, std::size_t bytes) {
  return allocation(Name(argument), count, bytes);
}

void require_shape(const char* name, std::span<const std::int64_t> shape,
                   std::initializer_list<std::int64_t> needed) {
  const std::span<const std::int64_t> want(needed.begin(), needed.size());
  const auto fits = [](std::int64_t got, std::int64_t size) { return size < 0 || got == size; };
  if (!std::ranges::equal(shape, want, fits)) fail_shape(name, shape, {"shape ", want});
}

void require_same_shape(Name name, std::span<const std::int64_t> shape,
                        std::span<const std::int64_t> other) {
  if (!std::ranges::equal(shape, other)) fail_shape(name, shape, {"shape ", other});
}
void require_same_shape(const char* argument, std::span<const std::int64_t> shape,
                        std::span<const std::int64_t> other) {
  require_same_shape(Name(argument), shape, other);
}

void require_data(Name name, std::span<const std::int64_t> shape, const void* data,
                  std::size_t element_bytes) {
  for (const std::int64_t size : shape) {
    if (size == 0) return;
  }
  auto bytes = static_cast<std::int64_t>(element_bytes);
  for (const std::int64_t size : shape) {
    if (__builtin_mul_overflow(bytes, size, &bytes)) {
      fail(ErrorCode::kSizeOverflow, name, {"shape ", shape},
           {"few enough elements to be addressed"});
    }
  }
  if (data == nullptr) fail_value(name, "a null pointer", {"data"});
}
void require_data(const char* argument, std::span<const std::int64_t> shape, const void* data,
                  std::size_t element_bytes) {
  require_data(Name(argument), shape, data, element_bytes);
}

void require_lengths(const char* name, const LengthsView& lengths, std::int64_t batch,
                     std::int64_t rows, std::int64_t most, const char* what) {
  if (lengths.is_none()) return;
  const bool per_row = lengths.rank() == 2 && rows >= 0;
  if ((lengths.rank() != 1 && !per_row) || lengths.size(0) != batch ||
      (per_row && lengths.size(1) != rows)) {
    const std::array batch_shape{batch};
    const std::array row_shape{batch, rows};
    if (rows < 0) fail_shape(name, lengths.shape(), {"shape ", batch_shape});
    fail_shape(name, lengths.shape(), {"shape ", batch_shape, " or ", row_shape});
  }
  require_data(Name(name), lengths.shape(), lengths.data(), sizeof(std::int32_t));
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t i = 0; i < (per_row ? rows : 1); ++i) {
      const std::int64_t length = per_row ? lengths(b, i) : lengths(b);
      if (length < 0 || length > most) {
        fail_value(name, length, {"a length from 0 to ", most, ", the number of ", what});
      }
    }
  }
}

std::array<std::int64_t, ConstTensor::kMaxRank> broadcast_strides(
    const char* name, std::span<const std::int64_t> shape, std::span<const std::int64_t> strides,
    std::span<const std::int64_t> wanted) {
  std::array<std::int64_t, ConstTensor::kMaxRank> result{};
  bool fits = shape.size() <= wanted.size();
  const std::size_t missing = wanted.size() - shape.size();
  for (std::size_t i = 0; fits && i < shape.size(); ++i) {
    fits = shape[i] == 1 || shape[i] == wanted[missing + i];
    result[missing + i] = shape[i] == 1 ? 0 : strides[i];
  }
  if (!fits) fail_shape(name, shape, {"a shape that broadcasts to ", wanted});
  return result;
}

}  // namespace attn::validation

namespace attn::detail {

void require_elements(std::size_t got, std::span<const std::int64_t> shape) {
  const std::int64_t needed = validation::product("shape", shape);
  if (got != static_cast<std::uint64_t>(needed)) {
    validation::fail(ErrorCode::kShapeMismatch, "elements", {got}, {needed, " for shape ", shape});
  }
}

void fail_rank(std::size_t rank, int most) {
  validation::fail(ErrorCode::kShapeMismatch, "shape", {"rank ", rank}, {"at most ", most});
}

void fail_size(std::int64_t size, std::size_t dimension) {
  validation::fail(ErrorCode::kInvalidArgument, "shape",
                   {"size ", size, " in dimension ", dimension}, {"0 or more"});
}

void fail_strides(std::size_t strides, std::size_t sizes) {
  validation::fail(ErrorCode::kShapeMismatch, "strides", {strides, " strides"},
                   {sizes, ", one for each size"});
}

void fail_unsqueeze() {
  validation::fail(ErrorCode::kInvalidArgument, "unsqueeze", {"a view of the maximum rank"},
                   {"a view of smaller rank"});
}

void fail_split_heads(std::span<const std::int64_t> shape, std::int64_t num_heads) {
  const validation::Parts needs{"shape (B, N, H·D) with H = ", num_heads};
  if (shape.size() == 3) {
    validation::fail(ErrorCode::kShapeMismatch, "split_heads", {"width ", shape[2]}, needs);
  }
  validation::fail(ErrorCode::kShapeMismatch, "split_heads", {"rank ", shape.size()}, needs);
}

}  // namespace attn::detail
