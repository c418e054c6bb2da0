#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace attn {

/// Returns `text` as a JSON string. Invalid UTF-8 becomes U+FFFD.
std::string to_json(std::string_view text);

bool is_utf8(std::string_view text) noexcept;

/// The dialects that a JsonReader accepts.
enum class JsonDialect {
  kStandard,  ///< RFC 8259
  /// Also accepts extensions that Python's json module and text editors write: the numbers NaN,
  /// Infinity and -Infinity, and a byte order mark at the beginning.
  kPython,
};

/// Reads JSON (RFC 8259) from beginning to end. The caller decides which value to read next. The
/// reader builds no tree and does not recurse, so deeply nested or large hostile text does no harm.
/// Throws Error(kInvalidFormat) with a message such as `<what>: got "x" at byte 17, needs a digit`,
/// in which bytes are counted from 1.
class JsonReader {
 public:
  JsonReader(const char* what, std::string_view text,
             JsonDialect dialect = JsonDialect::kStandard) noexcept;

  /// Returns the first character of the next value: one of { [ " t f n, a digit or −, and in
  /// Python's dialect N or I. Throws for any other character.
  char peek();

  /// Enters an object or an array after peek() has returned its first character.
  void enter() { ++at_; }
  /// True if there is another member. Pass `first` as true before the first member; this function
  /// sets it to false. If there is no other member, leaves the object or array that the character
  /// `end` closes.
  bool next(char end, bool& first);

  /// Reads a member's key and the colon after it.
  std::string key();
  std::string string();
  /// Reads a number and returns its text.
  std::string_view number();
  /// Describes the next value for a message: scalars as they are written, "an object", "an array".
  std::string describe();

  /// Throws unless only white space remains.
  void end();

 private:
  void skip_space() noexcept;
  char current() const noexcept { return at_ < text_.size() ? text_[at_] : '\0'; }
  void expect(char c, const char* needed);
  bool skip_digits() noexcept;
  bool skip_word(std::string_view word) noexcept;
  unsigned code_unit();
  void append_escaped(std::string& result);
  [[noreturn]] void fail(const char* needs) const;

  const char* what_;
  std::string_view text_;
  JsonDialect dialect_;
  std::size_t at_ = 0;
};

}  // namespace attn
