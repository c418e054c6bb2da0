#include "models/rotary_rule.hpp"

#include <optional>
#include <utility>

namespace attn {
namespace {

class RotaryRuleReader {
 public:
  RotaryRuleReader(const ModelConfig& config, std::vector<std::string> paths)
      : config_(config), paths_(std::move(paths)) {
    for (const std::string& path : paths_) config_.require_object(path);
  }

  RotaryEmbeddingOptions read(double base, std::int64_t head_dim, const char* rotated) const {
    RotaryEmbeddingOptions rotary;
    rotary.base = number("rope_theta").value_or(base);
    rotary.rotary_dim = head_dim;
    const std::string field = at(config_.has(at("rope_type")) ? "rope_type" : "type");
    const std::string rule = config_.find_text(field).value_or("default");
    // Text has the same positions along all axes, so mrope sections make no difference.
    config_.has_any(at("mrope_section"));
    const double part = rotated ? number("partial_rotary_factor").value_or(config_.number(rotated))
                                : partial_rotary_factor();
    if (rotated) {
      const double columns = static_cast<double>(head_dim) * part;
      if (!(part <= 1 && columns >= 2)) {
        const std::string own = at("partial_rotary_factor");
        config_.reject(config_.has(own) ? own : rotated,
                       "at most 1, and at least 2 columns of a head");
      }
      rotary.rotary_dim = static_cast<std::int64_t>(columns);
    } else if (rule == "proportional") {
      rotary.scaling = ProportionalRotaryScaling{.partial_rotary_factor = part,
                                                 .factor = number("factor").value_or(1)};
    } else if (part != 1) {
      config_.reject(config_.has(at("partial_rotary_factor")) ? at("partial_rotary_factor")
                                                              : "partial_rotary_factor",
                     "1; models of this family rotate whole heads");
    }
    if (rule == "linear") {
      rotary.scaling = LinearRotaryScaling{.factor = config_.number(at("factor"))};
    } else if (rule == "dynamic") {
      rotary.scaling = DynamicNtkRotaryScaling{
          .factor = config_.number(at("factor")),
          .max_position_embeddings = config_.integer("max_position_embeddings")};
    } else if (rule == "yarn") {
      rotary.scaling = yarn();
    } else if (rule == "longrope") {
      rotary.scaling = long_rope();
    } else if (rule == "llama3") {
      rotary.scaling =
          Llama3RotaryScaling{.factor = config_.number(at("factor")),
                              .low_freq_factor = config_.number(at("low_freq_factor")),
                              .high_freq_factor = config_.number(at("high_freq_factor")),
                              .original_max_position_embeddings = trained_length()};
    } else if (rule != "default" && (rotated || rule != "proportional")) {
      config_.reject(field, rotated ? "default, linear, dynamic, yarn, longrope or llama3"
                                    : "default, linear, dynamic, yarn, longrope, llama3 or "
                                      "proportional");
    }
    RotaryEmbedding checked(rotary);
    return rotary;
  }

 private:
  std::string at(const char* name) const {
    for (const std::string& path : paths_) {
      if (config_.has(path + "." + name)) return path + "." + name;
    }
    return paths_.front() + "." + name;
  }
  std::optional<double> number(const char* name) const { return config_.find_number(at(name)); }
  /// The number, or nullopt if it is 0, which means the same as a missing field.
  std::optional<double> find_nonzero_number(const char* name) const {
    const auto value = number(name);
    return value && *value == 0 ? std::nullopt : value;
  }

  double partial_rotary_factor() const {
    const double all = config_.number("partial_rotary_factor", 1);
    return number("partial_rotary_factor").value_or(all);
  }

  /// The length used in training. The field outside the scaling rule takes precedence over the same
  /// field inside it.
  std::int64_t trained_length() const {
    const char* name = "original_max_position_embeddings";
    const auto outside = config_.find_integer(name), own = config_.find_integer(at(name));
    if (outside) return *outside;
    return own ? *own : config_.integer("max_position_embeddings");
  }

  /// The rule's factor or, if it has none, the model's longest sequence divided by the length used
  /// in training.
  double growth(std::int64_t trained) const {
    if (const auto factor = number("factor")) return *factor;
    return static_cast<double>(config_.integer("max_position_embeddings")) /
           static_cast<double>(trained);
  }

  LongRotaryScaling long_rope() const {
    const auto numbers = [&](const char* name) {
      const std::string field = at(name);
      std::vector<double> result;
      for (std::int64_t i = 0; i < config_.count(field); ++i) {
        result.push_back(config_.number(field + "." + std::to_string(i)));
      }
      return result;
    };
    const std::int64_t trained = trained_length();
    return {.short_factor = numbers("short_factor"),
            .long_factor = numbers("long_factor"),
            .original_max_position_embeddings = trained,
            .factor = growth(trained),
            .attention_factor = number("attention_factor")};
  }

  YarnRotaryScaling yarn() const {
    const std::int64_t trained = trained_length();
    return {.factor = growth(trained),
            .original_max_position_embeddings = trained,
            .attention_factor = number("attention_factor"),
            .beta_fast = find_nonzero_number("beta_fast").value_or(32),
            .beta_slow = find_nonzero_number("beta_slow").value_or(1),
            .mscale = find_nonzero_number("mscale"),
            .mscale_all_dim = find_nonzero_number("mscale_all_dim"),
            .truncate = config_.flag(at("truncate"), true)};
  }

  const ModelConfig& config_;
  std::vector<std::string> paths_;
};

}  // namespace

RotaryEmbeddingOptions read_rotary_rule(const ModelConfig& config, std::vector<std::string> paths,
                                        double base, std::int64_t head_dim, const char* rotated) {
  return RotaryRuleReader(config, std::move(paths)).read(base, head_dim, rotated);
}

}  // namespace attn
