#include "models/model_config.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "heap_sort.hpp"
#include "io/foreign_file.hpp"
#include "io/json.hpp"
#include "io/safetensors_numbers.hpp"
#include "validation.hpp"

namespace attn {
namespace {

constexpr std::size_t kDeepest = 16;

/// Converts a JSON number without using the locale or strtod. The result is accurate to within one
/// or two roundings.
double to_double(std::string_view text) {
  const bool negative = text.front() == '-';
  double mantissa = 0;
  int exponent = 0, given = 0;
  bool fraction = false, power = false, power_negative = false;
  for (const char c : text.substr(negative ? 1 : 0)) {
    if (c == '.') {
      fraction = true;
    } else if (c == 'e' || c == 'E') {
      power = true;
    } else if (c == '-' || c == '+') {
      power_negative = c == '-';
    } else if (power) {
      given = std::min(given * 10 + (c - '0'), 9999);
    } else {
      // Digits are exact while they fit into the 53 bits of a double; further digits change only
      // the exponent.
      const bool fits = mantissa < 0x1p49;
      if (fits) mantissa = mantissa * 10 + (c - '0');
      exponent += (fits ? 0 : 1) - (fraction ? 1 : 0);
    }
  }
  exponent += power_negative ? -given : given;
  double factor = 1;
  for (int i = 0; i < std::min(std::abs(exponent), 400); ++i) factor *= 10;
  const double magnitude = mantissa == 0 ? 0 : exponent < 0 ? mantissa / factor : mantissa * factor;
  return negative ? -magnitude : magnitude;
}

/// An object or array that the parser has entered but not yet left.
struct EnteredValue {
  std::size_t field;
  bool is_object;
  bool first = true;
  std::size_t index = 0;
};

}  // namespace

ModelConfig::ModelConfig(std::string file, std::string_view json) : file_(std::move(file)) {
  if (const ForeignFile* foreign = recognize_foreign_file(json);
      foreign && !json.starts_with('{')) {
    validation::fail(ErrorCode::kInvalidFormat, std::string_view(file_), {foreign->kind},
                     {foreign->remedy});
  }
  JsonReader reader(file_.c_str(), json, JsonDialect::kPython);
  if (reader.peek() != '{') {
    validation::fail(ErrorCode::kInvalidFormat, std::string_view(file_), {reader.describe()},
                     {"an object"});
  }
  reader.enter();
  fields_.push_back({.parent = 0, .key = {}, .kind = '{'});
  std::vector<EnteredValue> levels = {{.field = 0, .is_object = true}};
  while (!levels.empty()) {
    EnteredValue& level = levels.back();
    if (!reader.next(level.is_object ? '}' : ']', level.first)) {
      levels.pop_back();
      continue;
    }
    std::string key = level.is_object ? reader.key() : std::to_string(level.index++);
    const char c = reader.peek();
    fields_.push_back({.parent = level.field, .key = std::move(key), .kind = c});
    Field& field = fields_.back();
    if (field.is_container()) {
      if (levels.size() == kDeepest) {
        fail(path_of(fields_.size() - 1), "a value that is nested too deeply", "at most 16 levels");
      }
      reader.enter();
      levels.push_back({.field = fields_.size() - 1, .is_object = c == '{'});
    } else {
      field.text = c == '"' ? reader.string() : reader.describe();
    }
  }
  reader.end();

  for (std::size_t i = 1; i < fields_.size(); ++i) by_place_.push_back(i);
  const auto place_of = [&](std::size_t i) {
    return std::pair(fields_[i].parent, std::string_view(fields_[i].key));
  };
  heap_sort(by_place_, place_of);
  if (const auto twice = std::ranges::adjacent_find(by_place_, {}, place_of);
      twice != by_place_.end()) {
    fail(path_of(*twice), "two values", "only one");
  }
}

const ModelConfig::Field* ModelConfig::look_up(std::string_view path) const {
  const auto place_of = [&](std::size_t i) {
    return std::pair(fields_[i].parent, std::string_view(fields_[i].key));
  };
  std::size_t at = root_;
  while (true) {
    const std::size_t dot = path.find('.');
    const auto place = std::pair(at, path.substr(0, dot));
    const auto found = std::ranges::lower_bound(by_place_, place, {}, place_of);
    if (found == by_place_.end() || place_of(*found) != place) return nullptr;
    at = *found;
    if (dot == path.npos) return &fields_[at];
    path.remove_prefix(dot + 1);
  }
}

const ModelConfig::Field* ModelConfig::find(std::string_view name) const {
  const Field* field = look_up(name);
  if (!field) return defaults_ ? defaults_->find(name) : nullptr;
  field->used = true;
  return field->kind == 'n' ? nullptr : field;
}

void ModelConfig::set_root(std::string_view path) {
  require_object(path);
  if (const Field* field = find(path)) root_ = static_cast<std::size_t>(field - fields_.data());
}

void ModelConfig::set_defaults(std::string_view json) {
  defaults_ = std::make_unique<ModelConfig>("defaults", json);
}

/// For each field, true if it is a value, or an object or array that contains a value. Each field
/// comes after the field that contains it.
std::vector<bool> ModelConfig::with_content() const {
  std::vector<bool> result(fields_.size());
  for (std::size_t i = fields_.size(); i-- > 0;) {
    if (!fields_[i].is_container() && fields_[i].kind != 'n') result[i] = true;
    if (result[i]) result[fields_[i].parent] = true;
  }
  return result;
}

bool ModelConfig::has_any(std::string_view name) const {
  const Field* field = look_up(name);
  return field && with_content()[static_cast<std::size_t>(field - fields_.data())];
}

std::int64_t ModelConfig::count(std::string_view name) const {
  const Field* field = look_up(name);
  if (!field) return 0;
  const auto parent = static_cast<std::size_t>(field - fields_.data());
  const auto parent_of = [&](std::size_t i) { return fields_[i].parent; };
  const auto first = std::ranges::lower_bound(by_place_, parent, {}, parent_of);
  return std::ranges::upper_bound(first, by_place_.end(), parent, {}, parent_of) - first;
}

std::string ModelConfig::path_of(std::size_t field) const {
  std::string path = fields_[field].key;
  while ((field = fields_[field].parent) != 0) path = fields_[field].key + "." + path;
  return path;
}

void ModelConfig::fail(std::string_view name, std::string_view got, std::string_view needs) const {
  validation::fail(ErrorCode::kInvalidFormat, file_ + ", " + in_quotes(name), {got}, {needs});
}

namespace {

std::string describe_field(char kind, const std::string& text) {
  if (kind == '{') return "an object";
  if (kind == '[') return "an array";
  return kind == '"' ? in_quotes(text) : text.substr(0, 40);
}

}  // namespace

void ModelConfig::reject(std::string_view name, std::string_view needs) const {
  const Field* field = find(name);
  const std::string got = field ? describe_field(field->kind, field->text) : "none";
  validation::fail(ErrorCode::kUnsupported, file_ + ", " + in_quotes(name), {got}, {needs});
}

void ModelConfig::require_object(std::string_view name) const {
  const Field* field = find(name);
  if (field && field->kind != '{') {
    fail(name, describe_field(field->kind, field->text), "an object");
  }
}

const ModelConfig::Field* ModelConfig::find_scalar(std::string_view name, const char* needs) const {
  const Field* field = find(name);
  if (field && field->is_container()) fail(name, describe_field(field->kind, {}), needs);
  return field;
}

std::optional<double> ModelConfig::find_number(std::string_view name) const {
  const Field* field = find_scalar(name, "a number");
  if (!field) return {};
  if (field->kind == '"' || field->kind == 't' || field->kind == 'f') {
    fail(name, in_quotes(field->text), "a number");
  }
  const bool is_finite = field->text.find_first_of("NI") == field->text.npos;
  const double value = is_finite ? to_double(field->text) : INFINITY;
  if (!std::isfinite(value)) fail(name, field->text.substr(0, 40), "a finite number");
  return value;
}

std::optional<std::int64_t> ModelConfig::find_integer(std::string_view name) const {
  const std::optional<double> value = find_number(name);
  if (!value) return {};
  if (*value < 0 || *value >= 0x1p31 || *value != std::floor(*value)) {
    fail(name, find(name)->text.substr(0, 40), "a whole number of at least 0 and below 2^31");
  }
  return static_cast<std::int64_t>(*value);
}

std::optional<std::string> ModelConfig::find_text(std::string_view name) const {
  const Field* field = find_scalar(name, "a string");
  if (!field) return {};
  if (field->kind != '"') fail(name, field->text.substr(0, 40), "a string");
  return field->text;
}

std::optional<bool> ModelConfig::find_flag(std::string_view name) const {
  const Field* field = find_scalar(name, "true or false");
  if (!field) {
    // Python treats None as false.
    const Field* given = look_up(name);
    return given ? std::optional(false) : std::nullopt;
  }
  if (field->kind != 't' && field->kind != 'f') {
    fail(name, in_quotes(field->text), "true or false");
  }
  return field->kind == 't';
}

std::int64_t ModelConfig::integer(std::string_view name) const {
  const std::optional<std::int64_t> value = find_integer(name);
  if (!value) fail(name, "none", "a whole number");
  return *value;
}

double ModelConfig::number(std::string_view name) const {
  const std::optional<double> value = find_number(name);
  if (!value) fail(name, "none", "a number");
  return *value;
}

std::vector<std::string> ModelConfig::unused() const {
  const std::vector<bool> content = with_content();
  std::vector<bool> used(fields_.size());
  used[0] = true;
  for (std::size_t i = fields_.size(); i-- > 1;) {
    if (fields_[i].used && !fields_[i].is_container()) used[i] = true;
    if (used[i]) used[fields_[i].parent] = true;
  }
  std::vector<std::string> names;
  for (std::size_t i = 1; i < fields_.size(); ++i) {
    if (content[i] && !used[i] && used[fields_[i].parent]) names.push_back(path_of(i));
  }
  return names;
}

}  // namespace attn
