#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// A configuration in JSON, as Python writes it. Fields are found by their path:
/// "rope_scaling.factor", "layer_types.0". A null counts as a missing field, except that a default
/// does not replace a null. The object remembers which fields were requested. Errors name the file
/// and the field: `config.json, "num_hidden_layers": got "two", …`. Memory use is linear in the
/// length of the text.
class ModelConfig {
 public:
  /// Throws kInvalidFormat for text that is not a JSON object, for a field that appears twice, and
  /// for nesting deeper than 16 levels.
  ModelConfig(std::string file, std::string_view json);

  /// From now on, looks up fields in the object at this path, such as "text_config".
  void set_root(std::string_view path);

  /// Sets defaults for missing fields. `json` is an object with their values.
  void set_defaults(std::string_view json);

  bool has(std::string_view name) const { return find(name) != nullptr; }
  /// True if the field `name` is a value, or an object or array that contains a value.
  bool has_any(std::string_view name) const;
  /// Number of elements of the array `name`, or of members of the object `name`; 0 for other
  /// fields.
  std::int64_t count(std::string_view name) const;

  /// These functions return std::nullopt if the field is missing. They throw kInvalidFormat for a
  /// field of another type and for a number that is out of range; an integer must be in [0, 2^31).
  std::optional<std::int64_t> find_integer(std::string_view name) const;
  std::optional<double> find_number(std::string_view name) const;
  std::optional<std::string> find_text(std::string_view name) const;
  std::optional<bool> find_flag(std::string_view name) const;

  /// Like find_integer() and find_number(), but throws kInvalidFormat if the field is missing.
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

  /// Throws kInvalidFormat if `name` is a field but not an object.
  void require_object(std::string_view name) const;

  /// The fields that were never requested, in file order. An object or array without any used field
  /// is listed as one field.
  std::vector<std::string> unused() const;

  /// Throws `config.json, <name>: got <the field>, needs <needs>`.
  [[noreturn]] void reject(std::string_view name, std::string_view needs) const;

 private:
  /// A value and its position in the object or array that contains it.
  struct Field {
    std::size_t parent;
    std::string key;
    char kind;  ///< see JsonReader::peek()
    std::string text = {};
    mutable bool used = false;

    bool is_container() const { return kind == '{' || kind == '['; }
  };
  const Field* find(std::string_view name) const;
  const Field* find_scalar(std::string_view name, const char* needs) const;
  /// The field itself, which may be null. Ignores defaults.
  const Field* look_up(std::string_view path) const;
  std::string path_of(std::size_t field) const;
  std::vector<bool> with_content() const;
  [[noreturn]] void fail(std::string_view name, std::string_view got, std::string_view needs) const;

  std::string file_;
  std::size_t root_ = 0;
  std::unique_ptr<const ModelConfig> defaults_;
  std::vector<Field> fields_;          ///< fields in file order; the first field is the whole
                                       ///< object
  std::vector<std::size_t> by_place_;  ///< indices of fields, sorted by parent and key
};

}  // namespace attn
