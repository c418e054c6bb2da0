#include "positions/rotary_frequencies.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <optional>
#include <variant>
#include <vector>

#include "validation.hpp"

namespace attn {
namespace {

void require_positive(const char* name, double value) {
  if (!(value > 0) || !std::isfinite(value)) {
    validation::fail_value(name, value, {"a finite number above 0"});
  }
}

void require_finite(const char* name, double value) {
  if (!std::isfinite(value)) validation::fail_value(name, value, {"a finite number"});
}

/// Applies a scaling rule to the frequencies of `width` columns, whose first pair has index `first`
/// among all pairs.
struct Scaled {
  std::int64_t width;
  std::int64_t first;
  double base;
  double sequence_length;

  double frequency(double scaled_base, std::int64_t j) const {
    return std::pow(scaled_base, -2.0 * static_cast<double>(j) / static_cast<double>(width));
  }
  double pair(const std::monostate&, std::int64_t j) const { return frequency(base, j); }
  double pair(const LinearRotaryScaling& rule, std::int64_t j) const {
    return frequency(base, j) / rule.factor;
  }
  double pair(const DynamicNtkRotaryScaling& rule, std::int64_t j) const {
    const auto longest = static_cast<double>(rule.max_position_embeddings);
    if (!(sequence_length > longest)) return frequency(base, j);
    const auto d = static_cast<double>(width);
    const double growth = rule.factor * (sequence_length / longest - 1) + 1;
    return frequency(base * std::pow(growth, d / (d - 2)), j);
  }
  double pair(const YarnRotaryScaling& rule, std::int64_t j) const {
    const auto d = static_cast<double>(width);
    // Returns the index of the pair that makes `turns` full turns over the original sequence
    // length. The index may be fractional.
    const auto pair_of_turns = [&](double turns) {
      const auto length = static_cast<double>(rule.original_max_position_embeddings);
      return d * std::log(length / (turns * 2 * std::numbers::pi)) / (2 * std::log(base));
    };
    double low = pair_of_turns(rule.beta_fast);
    double high = pair_of_turns(rule.beta_slow);
    if (rule.truncate) {
      low = std::floor(low);
      high = std::ceil(high);
    }
    low = std::max(low, 0.0);
    high = std::min(high, d - 1);
    if (low == high) high += 0.001;
    const double ramp = std::clamp((static_cast<double>(j) - low) / (high - low), 0.0, 1.0);
    const double plain = frequency(base, j);
    return (1 - ramp) * plain + ramp * (plain / rule.factor);
  }
  double pair(const Llama3RotaryScaling& rule, std::int64_t j) const {
    const double plain = frequency(base, j);
    const double turns =
        static_cast<double>(rule.original_max_position_embeddings) * plain / (2 * std::numbers::pi);
    const double smooth = std::clamp(
        (turns - rule.low_freq_factor) / (rule.high_freq_factor - rule.low_freq_factor), 0.0, 1.0);
    return (1 - smooth) * (plain / rule.factor) + smooth * plain;
  }
  double pair(const ProportionalRotaryScaling& rule, std::int64_t j) const {
    const double turning = std::floor(rule.partial_rotary_factor * static_cast<double>(width) / 2);
    return static_cast<double>(j) < turning ? frequency(base, j) / rule.factor : 0;
  }
  double pair(const LongRotaryScaling& rule, std::int64_t j) const {
    const bool is_long =
        sequence_length > static_cast<double>(rule.original_max_position_embeddings);
    const std::vector<double>& factors = is_long ? rule.long_factor : rule.short_factor;
    return frequency(base, j) / factors[static_cast<std::size_t>(first + j)];
  }
};

void check_sections(const RotaryEmbeddingOptions& options) {
  const std::int64_t half = options.rotary_dim / 2;
  const std::int64_t axes = std::ssize(options.sections);
  std::int64_t pairs = 0;
  for (std::int64_t axis = 0; axis < axes; ++axis) {
    const std::int64_t section = options.sections[static_cast<std::size_t>(axis)];
    validation::require_at_least("sections", section, 0);
    if (section > half - pairs) {
      validation::fail(ErrorCode::kShapeMismatch, "sections", {"more than ", half, " pairs"},
                       {half, " in total"});
    }
    pairs += section;
    if (options.axes == RotaryAxes::kInterleaved && axis > 0 && section > 0 &&
        axis + (section - 1) * axes >= half) {
      validation::fail_value(
          "sections", section,
          {"at most ", (half - axis + axes - 1) / axes, ", the number of pairs that axis ", axis,
           " gets if the axes take turns"});
    }
  }
  if (axes > 0 && pairs != half) {
    validation::fail(ErrorCode::kShapeMismatch, "sections", {pairs, " pairs"}, {half, " in total"});
  }
}

/// Checks a rule's parameters.
struct CheckRule {
  double base;
  std::int64_t pairs;

  void operator()(const std::monostate&) const {}
  void operator()(const LinearRotaryScaling& rule) const {
    require_positive("scaling.factor", rule.factor);
  }
  void operator()(const DynamicNtkRotaryScaling& rule) const {
    require_positive("scaling.factor", rule.factor);
    validation::require_at_least("scaling.max_position_embeddings", rule.max_position_embeddings,
                                 1);
  }
  void operator()(const YarnRotaryScaling& rule) const {
    require_positive("scaling.factor", rule.factor);
    validation::require_at_least("scaling.original_max_position_embeddings",
                                 rule.original_max_position_embeddings, 1);
    require_positive("scaling.beta_slow", rule.beta_slow);
    require_positive("scaling.beta_fast", rule.beta_fast);
    if (rule.beta_fast < rule.beta_slow) {
      validation::fail_value(
          "scaling.beta_fast", rule.beta_fast,
          {"at least ", validation::Name("beta_slow"), " (", rule.beta_slow, ")"});
    }
    if (rule.attention_factor) {
      require_positive("scaling.attention_factor", *rule.attention_factor);
    }
    if (rule.mscale) require_finite("scaling.mscale", *rule.mscale);
    if (rule.mscale_all_dim) require_finite("scaling.mscale_all_dim", *rule.mscale_all_dim);
    if (!(base > 1)) validation::fail_value("base", base, {"more than 1 with YaRN"});
  }
  void operator()(const Llama3RotaryScaling& rule) const {
    require_positive("scaling.factor", rule.factor);
    validation::require_at_least("scaling.original_max_position_embeddings",
                                 rule.original_max_position_embeddings, 1);
    require_positive("scaling.low_freq_factor", rule.low_freq_factor);
    require_positive("scaling.high_freq_factor", rule.high_freq_factor);
    if (rule.high_freq_factor <= rule.low_freq_factor) {
      validation::fail_value(
          "scaling.high_freq_factor", rule.high_freq_factor,
          {"more than ", validation::Name("low_freq_factor"), " (", rule.low_freq_factor, ")"});
    }
  }
  void operator()(const ProportionalRotaryScaling& rule) const {
    require_positive("scaling.factor", rule.factor);
    validation::require_probability("scaling.partial_rotary_factor", rule.partial_rotary_factor);
  }
  void operator()(const LongRotaryScaling& rule) const {
    require_factors("scaling.short_factor", rule.short_factor);
    require_factors("scaling.long_factor", rule.long_factor);
    validation::require_at_least("scaling.original_max_position_embeddings",
                                 rule.original_max_position_embeddings, 1);
    require_positive("scaling.factor", rule.factor);
    if (rule.attention_factor) {
      require_positive("scaling.attention_factor", *rule.attention_factor);
    }
  }
  void require_factors(const char* name, const std::vector<double>& factors) const {
    for (const double factor : factors) require_positive(name, factor);
    if (std::ssize(factors) == pairs) return;
    validation::fail(ErrorCode::kShapeMismatch, name, {"length ", factors.size()},
                     {pairs, ", one for each pair"});
  }
};

double attention_factor_of(const RotaryScaling& scaling) {
  if (const auto* rule = std::get_if<LongRotaryScaling>(&scaling)) {
    if (rule->attention_factor) return *rule->attention_factor;
    const auto trained = static_cast<double>(rule->original_max_position_embeddings);
    return rule->factor > 1 ? std::sqrt(1 + std::log(rule->factor) / std::log(trained)) : 1;
  }
  const auto* yarn = std::get_if<YarnRotaryScaling>(&scaling);
  if (!yarn) return 1;
  if (yarn->attention_factor) return *yarn->attention_factor;
  const auto magnitude = [&](double mscale) {
    return yarn->factor > 1 ? 0.1 * mscale * std::log(yarn->factor) + 1 : 1;
  };
  const double mscale = yarn->mscale.value_or(0);
  const double mscale_all_dim = yarn->mscale_all_dim.value_or(0);
  if (mscale == 0 || mscale_all_dim == 0) return magnitude(1);
  return magnitude(mscale) / magnitude(mscale_all_dim);
}

}  // namespace

double check_rotary_frequencies(const RotaryEmbeddingOptions& options) {
  check_sections(options);
  if (options.frequencies.empty()) {
    std::visit(CheckRule{options.base, options.rotary_dim / 2}, options.scaling);
    const double factor = attention_factor_of(options.scaling);
    require_positive("attention_factor", factor);
    return factor;
  }
  const std::int64_t pairs = options.rotary_dim / 2;
  if (std::ssize(options.frequencies) != pairs) {
    validation::fail(ErrorCode::kShapeMismatch, "frequencies",
                     {"length ", options.frequencies.size()}, {pairs, ", one for each pair"});
  }
  return 1;
}

std::optional<std::int64_t> longest_sequence_of_first_frequencies(
    const RotaryEmbeddingOptions& options) noexcept {
  if (!options.frequencies.empty()) return std::nullopt;
  if (const auto* rule = std::get_if<DynamicNtkRotaryScaling>(&options.scaling)) {
    return rule->max_position_embeddings;
  }
  if (const auto* rule = std::get_if<LongRotaryScaling>(&options.scaling)) {
    return rule->original_max_position_embeddings;
  }
  return std::nullopt;
}

void write_rotary_frequencies(const RotaryEmbeddingOptions& options, double sequence_length,
                              std::span<double> to) {
  std::int64_t first = 0;
  const auto write = [&](std::span<double> pairs) {
    const Scaled scaled{2 * std::ssize(pairs), first, options.base, sequence_length};
    for (std::size_t j = 0; j < pairs.size(); ++j) {
      pairs[j] = std::visit(
          [&](const auto& rule) { return scaled.pair(rule, static_cast<std::int64_t>(j)); },
          options.scaling);
    }
  };
  if (options.axes != RotaryAxes::kAxial || options.sections.empty()) return write(to);
  for (const std::int64_t section : options.sections) {
    write(to.first(static_cast<std::size_t>(section)));
    first += section;
    to = to.subspan(static_cast<std::size_t>(section));
  }
}

void require_usable_frequencies(std::span<const double> frequencies) {
  /// This bound on frequencies ensures that the product of a frequency and 2^53 is finite.
  constexpr double kLargest = 1e100;
  for (const double frequency : frequencies) {
    if (!(std::abs(frequency) <= kLargest)) {
      validation::fail_value("frequencies", frequency, {"a number between -1e100 and 1e100"});
    }
  }
}

}  // namespace attn
