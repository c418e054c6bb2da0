#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// A configuration in JSON: numbers, texts and truth values by the path to them,
/// "rope_scaling.factor", "layer_types.0". null stands for nothing, and so takes no default's
/// place. What is asked for is remembered. Errors name the file and the field: `config.json,
/// num_hidden_layers: got "two", …`.
class ModelConfig {
 public:
  /// Throws kInvalidFormat for what is no JSON object, a field that is there twice, and nesting
  /// deeper than 16.
  ModelConfig(std::string file, std::string_view json);

  /// Fields are looked for below this path from now on, "text_config.", and then as they are.
  void look_within(std::string path) { within_ = std::move(path); }

  /// What fields that are not there at all stand for, in JSON.
  void set_defaults(std::string_view json);

  bool has(std::string_view name) const { return find(name) != nullptr; }
  /// Whether there is anything at `name` or below it.
  bool has_any(std::string_view name) const;

  /// None where the field is missing. Throw kInvalidFormat for one of another type or a number out
  /// of range: a whole number is in [0, 2^31).
  std::optional<std::int64_t> find_integer(std::string_view name) const;
  std::optional<double> find_number(std::string_view name) const;
  std::optional<std::string> find_text(std::string_view name) const;
  std::optional<bool> find_flag(std::string_view name) const;

  /// The same, and throw kInvalidFormat where it is missing.
  std::int64_t integer(std::string_view name) const;
  double number(std::string_view name) const;

  std::int64_t integer(std::string_view name, std::int64_t otherwise) const {
    return find_integer(name).value_or(otherwise);
  }
  double number(std::string_view name, double otherwise) const {
    return find_number(name).value_or(otherwise);
  }
  bool flag(std::string_view name, bool otherwise) const {
    return find_flag(name).value_or(otherwise);
  }

  /// The fields, in the order of the file, that nothing has asked for.
  std::vector<std::string> unused() const;

  /// Throws `config.json, <name>: got <the field>, needs <needs>`.
  [[noreturn]] void refuse(std::string_view name, std::string_view needs) const;

 private:
  struct Field {
    std::string path;
    char kind;  ///< as JsonReader::peek(): " t f n or a digit
    std::string text;
    mutable bool used = false;
  };
  const Field* find(std::string_view name) const;
  const Field* look_up(std::string_view path) const;
  [[noreturn]] void fail(std::string_view name, std::string_view got, std::string_view needs) const;

  std::string file_, within_;
  std::unique_ptr<const ModelConfig> defaults_;
  std::vector<Field> fields_;
  std::vector<std::size_t> by_path_;
};

}  // namespace attn
