#include "io/json.hpp"

#include <cstdint>

#include "io/utf8.hpp"
#include "validation.hpp"

namespace attn {
namespace {

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

bool is_invalid_utf8(DecodedCharacter c) noexcept {
  return c.code_point >= 0xDC80 && c.code_point <= 0xDCFF;
}

void append_utf8(std::string& text, std::uint32_t code_point) {
  const auto append = [&](std::uint32_t byte) { text += static_cast<char>(byte); };
  const auto append_rest = [&](int shift) { append(0x80 | (code_point >> shift & 0x3F)); };
  if (code_point < 0x80) return append(code_point);
  if (code_point < 0x800) {
    append(0xC0 | code_point >> 6);
  } else {
    if (code_point < 0x10000) {
      append(0xE0 | code_point >> 12);
    } else {
      append(0xF0 | code_point >> 18);
      append_rest(12);
    }
    append_rest(6);
  }
  append_rest(0);
}

/// Each character that has a one-letter escape, followed by the letter of its escape.
constexpr std::string_view kEscapes = "\"\"\\\\//\bb\ff\nn\rr\tt";

}  // namespace

std::string to_json(std::string_view text) {
  std::string result = "\"";
  while (!text.empty()) {
    const DecodedCharacter c = decode_utf8(text);
    if (is_invalid_utf8(c)) {
      append_utf8(result, 0xFFFD);
    } else if (c.code_point == '"' || c.code_point == '\\') {
      result += '\\';
      result += text.front();
    } else if (c.code_point < 0x20) {
      const std::size_t place = kEscapes.find(text.front());
      result += '\\';
      if (place != kEscapes.npos) {
        result += kEscapes[place + 1];
      } else {
        result += c.code_point < 0x10 ? "u000" : "u001";
        result += "0123456789abcdef"[c.code_point & 0xF];
      }
    } else {
      result.append(text, 0, c.size);
    }
    text.remove_prefix(c.size);
  }
  result += '"';
  return result;
}

bool is_utf8(std::string_view text) noexcept {
  while (!text.empty()) {
    const DecodedCharacter c = decode_utf8(text);
    if (is_invalid_utf8(c)) return false;
    text.remove_prefix(c.size);
  }
  return true;
}

JsonReader::JsonReader(const char* what, std::string_view text, JsonDialect dialect) noexcept
    : what_(what), text_(text), dialect_(dialect) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (dialect == JsonDialect::kPython && text.starts_with(kByteOrderMark)) {
    at_ = kByteOrderMark.size();
  }
}

void JsonReader::fail(const char* needs) const {
  if (at_ >= text_.size()) {
    validation::fail(ErrorCode::kInvalidFormat, what_, {"the end of the text"}, {needs});
  }
  const std::string character = to_json(text_.substr(at_, decode_utf8(text_.substr(at_)).size));
  validation::fail(ErrorCode::kInvalidFormat, what_, {character, " at byte ", at_ + 1}, {needs});
}

void JsonReader::skip_space() noexcept {
  while (at_ < text_.size() && std::string_view(" \t\n\r").find(text_[at_]) != std::string::npos) {
    ++at_;
  }
}

void JsonReader::expect(char c, const char* needed) {
  skip_space();
  if (current() != c || at_ >= text_.size()) fail(needed);
  ++at_;
}

char JsonReader::peek() {
  skip_space();
  const char c = current();
  const std::string_view others = dialect_ == JsonDialect::kPython ? "{[\"tfn-NI" : "{[\"tfn-";
  if (!is_digit(c) && (c == '\0' || others.find(c) == others.npos)) fail("a JSON value");
  return c;
}

bool JsonReader::next(char end, bool& first) {
  skip_space();
  if (current() == end) {
    ++at_;
    return false;
  }
  if (!first) expect(',', end == '}' ? "a comma or }" : "a comma or ]");
  first = false;
  return true;
}

std::string JsonReader::key() {
  skip_space();
  std::string result = string();
  expect(':', "a colon");
  return result;
}

std::string JsonReader::string() {
  expect('"', "a string");
  std::string result;
  while (current() != '"') {
    const DecodedCharacter c = decode_utf8(text_.substr(at_));
    if (at_ >= text_.size()) fail("the closing quote of a string");
    if (c.code_point < 0x20) fail("a string without control characters");
    if (is_invalid_utf8(c)) fail("valid UTF-8");
    if (c.code_point == '\\') {
      ++at_;
      append_escaped(result);
    } else {
      result.append(text_, at_, c.size);
      at_ += c.size;
    }
  }
  ++at_;
  return result;
}

void JsonReader::append_escaped(std::string& result) {
  if (current() != 'u') {
    for (std::size_t i = 1; i < kEscapes.size(); i += 2) {
      if (current() != kEscapes[i]) continue;
      result += kEscapes[i - 1];
      ++at_;
      return;
    }
    fail("a JSON escape");
  }
  std::uint32_t code_point = code_unit();
  if (code_point >= 0xD800 && code_point < 0xDC00) {
    constexpr const char* kReason = "the other half of a surrogate pair";
    if (current() != '\\') fail(kReason);
    ++at_;
    if (current() != 'u') fail(kReason);
    const std::uint32_t low = code_unit();
    if (low < 0xDC00 || low > 0xDFFF) fail(kReason);
    code_point = 0x10000 + ((code_point - 0xD800) << 10 | (low - 0xDC00));
  } else if (code_point >= 0xDC00 && code_point <= 0xDFFF) {
    fail("the first half of a surrogate pair before the second");
  }
  append_utf8(result, code_point);
}

/// Reads the four digits after the u of an escape.
unsigned JsonReader::code_unit() {
  unsigned value = 0;
  for (int i = 0; i < 4; ++i) {
    ++at_;
    const char c = current();
    const char letter = static_cast<char>(c | 0x20);
    if (!is_digit(c) && (letter < 'a' || letter > 'f')) fail("four hexadecimal digits");
    value = value << 4 | static_cast<unsigned>(is_digit(c) ? c - '0' : letter - 'a' + 10);
  }
  ++at_;
  return value;
}

bool JsonReader::skip_digits() noexcept {
  const std::size_t start = at_;
  while (is_digit(current())) ++at_;
  return at_ > start;
}

bool JsonReader::skip_word(std::string_view word) noexcept {
  if (!text_.substr(at_).starts_with(word)) return false;
  at_ += word.size();
  return true;
}

std::string_view JsonReader::number() {
  skip_space();
  const std::size_t start = at_;
  if (dialect_ == JsonDialect::kPython && skip_word("NaN")) return "NaN";
  if (current() == '-') ++at_;
  if (dialect_ == JsonDialect::kPython && skip_word("Infinity")) {
    return text_.substr(start, at_ - start);
  }
  if (current() == '0') {
    ++at_;
  } else if (!skip_digits()) {
    fail("a digit");
  }
  if (current() == '.') {
    ++at_;
    if (!skip_digits()) fail("a digit");
  }
  if (current() == 'e' || current() == 'E') {
    ++at_;
    if (current() == '+' || current() == '-') ++at_;
    if (!skip_digits()) fail("a digit");
  }
  // An invalid character after a number is reported before the number's value is checked.
  if (is_digit(current())) fail("a number without a leading 0");
  return text_.substr(start, at_ - start);
}

std::string JsonReader::describe() {
  const char c = peek();
  if (c == '{') return "an object";
  if (c == '[') return "an array";
  if (c == '"') return to_json(string());
  if (c == '-' || is_digit(c) || c == 'N' || c == 'I') return std::string(number());
  for (const std::string_view word : {"null", "true", "false"}) {
    if (skip_word(word)) return std::string(word);
  }
  fail("a JSON value");
}

void JsonReader::end() {
  skip_space();
  if (at_ < text_.size()) fail("the end of the text");
}

}  // namespace attn
