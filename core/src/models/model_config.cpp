#include "models/model_config.hpp"

#include <algorithm>
#include <cmath>

#include "heap_sort.hpp"
#include "io/json.hpp"
#include "io/safetensors_numbers.hpp"
#include "validation.hpp"

namespace attn {
namespace {

constexpr std::size_t kDeepest = 16;

/// A number of JSON, within a rounding or two: neither the locale nor strtod has a part in it.
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
      // Exact as far as a double's 53 bits go; a digit beyond them counts for its place alone.
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

/// One object or array that has been entered.
struct Level {
  bool is_object;
  bool first = true;
  std::size_t path_size;  ///< before its members' names
  std::size_t index = 0;
};

}  // namespace

ModelConfig::ModelConfig(std::string file, std::string_view json) : file_(std::move(file)) {
  JsonReader reader(file_.c_str(), json);
  if (reader.peek() != '{') {
    validation::fail(ErrorCode::kInvalidFormat, std::string_view(file_), {reader.describe()},
                     {"an object"});
  }
  reader.enter();
  std::string path;
  std::vector<Level> levels = {{.is_object = true, .path_size = 0}};
  while (!levels.empty()) {
    Level& level = levels.back();
    path.resize(level.path_size);
    if (!reader.next(level.is_object ? '}' : ']', level.first)) {
      levels.pop_back();
      continue;
    }
    if (!path.empty()) path += '.';
    path += level.is_object ? reader.key() : std::to_string(level.index++);
    const char c = reader.peek();
    if (c == '{' || c == '[') {
      if (levels.size() == kDeepest) fail(path, "a value too deep", "at most 16 levels");
      reader.enter();
      levels.push_back({.is_object = c == '{', .path_size = path.size()});
    } else if (c == '"') {
      fields_.push_back({path, c, reader.string()});
    } else {
      fields_.push_back({path, c, reader.describe()});
    }
  }
  reader.end();

  by_path_.resize(fields_.size());
  for (std::size_t i = 0; i < by_path_.size(); ++i) by_path_[i] = i;
  const auto path_of = [&](std::size_t i) -> const std::string& { return fields_[i].path; };
  heap_sort(by_path_, path_of);
  if (const auto twice = std::ranges::adjacent_find(by_path_, {}, path_of);
      twice != by_path_.end()) {
    fail(path_of(*twice), "it twice", "it once");
  }
}

const ModelConfig::Field* ModelConfig::look_up(std::string_view path) const {
  const auto path_of = [&](std::size_t i) -> std::string_view { return fields_[i].path; };
  const auto found = std::ranges::lower_bound(by_path_, path, {}, path_of);
  if (found == by_path_.end() || fields_[*found].path != path) return nullptr;
  fields_[*found].used = true;
  return &fields_[*found];
}

const ModelConfig::Field* ModelConfig::find(std::string_view name) const {
  const Field* field = within_.empty() ? nullptr : look_up(within_ + std::string(name));
  if (!field) field = look_up(name);
  if (!field) return defaults_ ? defaults_->find(name) : nullptr;
  return field->kind == 'n' ? nullptr : field;
}

void ModelConfig::set_defaults(std::string_view json) {
  defaults_ = std::make_unique<ModelConfig>("defaults", json);
}

bool ModelConfig::has_any(std::string_view name) const {
  return std::ranges::any_of(fields_, [&](const Field& field) {
    if (field.kind == 'n') return false;
    std::string_view path = field.path;
    if (path.starts_with(within_) && path.substr(within_.size()).starts_with(name)) {
      path.remove_prefix(within_.size());
    }
    return path.starts_with(name) && (path.size() == name.size() || path[name.size()] == '.');
  });
}

void ModelConfig::fail(std::string_view name, std::string_view got, std::string_view needs) const {
  validation::fail(ErrorCode::kInvalidFormat, file_ + ", " + in_quotes(name), {got}, {needs});
}

void ModelConfig::refuse(std::string_view name, std::string_view needs) const {
  const Field* field = find(name);
  std::string got = "what is there";
  if (field) got = field->kind == '"' ? in_quotes(field->text) : field->text.substr(0, 40);
  validation::fail(ErrorCode::kUnsupported, file_ + ", " + in_quotes(name), {got}, {needs});
}

std::optional<double> ModelConfig::find_number(std::string_view name) const {
  const Field* field = find(name);
  if (!field) return {};
  if (field->kind == '"' || field->kind == 't' || field->kind == 'f') {
    fail(name, in_quotes(field->text), "a number");
  }
  const double value = to_double(field->text);
  if (!std::isfinite(value)) fail(name, field->text.substr(0, 40), "a finite number");
  return value;
}

std::optional<std::int64_t> ModelConfig::find_integer(std::string_view name) const {
  const std::optional<double> value = find_number(name);
  if (!value) return {};
  if (*value < 0 || *value >= 0x1p31 || *value != std::floor(*value)) {
    fail(name, find(name)->text.substr(0, 40), "a whole number from 0 on and below 2^31");
  }
  return static_cast<std::int64_t>(*value);
}

std::optional<std::string> ModelConfig::find_text(std::string_view name) const {
  const Field* field = find(name);
  if (!field) return {};
  if (field->kind != '"') fail(name, field->text.substr(0, 40), "a text");
  return field->text;
}

std::optional<bool> ModelConfig::find_flag(std::string_view name) const {
  const Field* field = find(name);
  if (!field) return {};
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
  std::vector<std::string> names;
  for (const Field& field : fields_) {
    if (!field.used && field.kind != 'n') names.push_back(field.path);
  }
  return names;
}

}  // namespace attn
