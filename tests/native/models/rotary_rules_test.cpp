// Tests the rotary rules of configurations in every published form. Compares them with the
// definitions in Transformers (modeling_rope_utils.py, see tests/README.md), computed here in
// double precision.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "attn/models/load_language_model.hpp"
#include "attn/positions/rotary_embedding.hpp"
#include "compare.hpp"

namespace {

using attn_test::error_of;
using ::testing::HasSubstr;

constexpr int kHeadDim = 32;
using Frequencies = std::vector<double>;

/// A header without data for a model of two layers, with all tensors that `family` needs.
attn::SafetensorsHeader header_of(const std::string& family) {
  attn::SafetensorsHeader header;
  std::int64_t at = 0;
  const auto add = [&](const std::string& name, std::vector<std::int64_t> shape) {
    std::int64_t bytes = 4;
    for (const std::int64_t size : shape) bytes *= size;
    header.tensors.push_back({name, "F32", std::move(shape), at, at + bytes});
    at += bytes;
  };
  constexpr std::int64_t e = kHeadDim, f = 8, v = 4;
  add("model.embed_tokens.weight", {v, e});
  add("lm_head.weight", {v, e});
  add("model.norm.weight", {e});
  const bool is_gemma3 = family == "gemma3_text";
  for (const char* layer : {"model.layers.0.", "model.layers.1."}) {
    const std::string attention = layer + std::string("self_attn.");
    for (const char* name : {"q_proj", "k_proj", "v_proj", "o_proj"}) {
      add(attention + name + ".weight", {e, e});
      if (family == "gpt_oss" || (family == "qwen2" && *name != 'o')) {
        add(attention + name + ".bias", {e});
      }
    }
    if (family == "gpt_oss") add(attention + "sinks", {1});
    if (is_gemma3) {
      add(attention + "q_norm.weight", {e});
      add(attention + "k_norm.weight", {e});
    }
    const std::string mlp = layer + std::string("mlp.");
    add(mlp + "gate_proj.weight", {f, e});
    add(mlp + "up_proj.weight", {f, e});
    add(mlp + "down_proj.weight", {e, f});
    for (const char* name : {"input", "post_attention"}) {
      add(layer + std::string(name) + "_layernorm.weight", {e});
    }
    for (const char* name : {"pre_feedforward", "post_feedforward"}) {
      if (is_gemma3) add(layer + std::string(name) + "_layernorm.weight", {e});
    }
  }
  return header;
}

std::vector<attn::TransformerLayerOptions> layers_of(const std::string& family,
                                                     const std::string& fields) {
  const attn::SafetensorsHeader headers[] = {header_of(family)};
  const std::string config = R"({"model_type": ")" + family +
                             R"(", "num_attention_heads": 1, "num_key_value_heads": 1,
                                 "head_dim": 32, "num_hidden_layers": 2)" +
                             (fields.empty() ? "" : ", ") + fields + "}";
  return attn::describe_language_model(headers, config).options.stack.layers;
}

std::string error_about(const std::string& family, const std::string& fields) {
  return error_of([&] { layers_of(family, fields); });
}

void expect_rule(const attn::TransformerLayerOptions& layer, const Frequencies& want,
                 double attention_factor = 1, double length = 0) {
  ASSERT_TRUE(layer.positions.rotary);
  const attn::RotaryEmbedding rotary(*layer.positions.rotary);
  const Frequencies got = rotary.frequencies(length);
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t j = 0; j < want.size(); ++j) {
    EXPECT_NEAR(got[j], want[j], 1e-14 + 1e-12 * want[j]) << j;
  }
  EXPECT_NEAR(rotary.attention_factor(), attention_factor, 1e-14);
}

/// Checks a rule for both layers of a Llama model.
void expect_llama(const std::string& fields, const Frequencies& want, double attention_factor = 1) {
  SCOPED_TRACE(fields);
  for (const auto& layer : layers_of("llama", fields)) expect_rule(layer, want, attention_factor);
}

Frequencies default_rule(double base) {
  Frequencies result;
  for (int j = 0; j < kHeadDim; j += 2) result.push_back(std::pow(base, -double(j) / kHeadDim));
  return result;
}

Frequencies linear_rule(double base, double factor) {
  Frequencies result = default_rule(base);
  for (double& frequency : result) frequency /= factor;
  return result;
}

Frequencies dynamic_rule(double base, double factor, double most, double length) {
  const double ratio = factor * std::max(length, most) / most - (factor - 1);
  return default_rule(base * std::pow(ratio, kHeadDim / (kHeadDim - 2.0)));
}

Frequencies yarn_rule(double base, double factor, double trained, double fast = 32, double slow = 1,
                      bool truncate = true) {
  const auto column = [&](double turns) {
    return kHeadDim * std::log(trained / (turns * 2 * std::numbers::pi)) / (2 * std::log(base));
  };
  double low = column(fast), high = column(slow);
  if (truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, kHeadDim - 1.0);
  if (low == high) high += 0.001;
  Frequencies result = default_rule(base);
  for (std::size_t j = 0; j < result.size(); ++j) {
    const double ramp = std::clamp((double(j) - low) / (high - low), 0.0, 1.0);
    result[j] = result[j] / factor * ramp + result[j] * (1 - ramp);
  }
  return result;
}

double yarn_factor(double factor, double scale = 1) { return 0.1 * scale * std::log(factor) + 1; }

Frequencies llama3_rule(double base, double factor, double low, double high, double trained) {
  Frequencies result = default_rule(base);
  for (double& frequency : result) {
    const double length = 2 * std::numbers::pi / frequency;
    if (length > trained / low) {
      frequency /= factor;
    } else if (length >= trained / high) {
      const double smooth = (trained / length - low) / (high - low);
      frequency = (1 - smooth) * frequency / factor + smooth * frequency;
    }
  }
  return result;
}

/// The factors of LongRoPE, one for each pair, and the resulting frequencies.
struct LongRope {
  explicit LongRope(double step) {
    for (int j = 0; j < kHeadDim / 2; ++j) factors.push_back(1 + step * j);
  }
  std::string text() const {
    std::string result;
    for (const double factor : factors) {
      result += (result.empty() ? "[" : ", ") + std::to_string(factor);
    }
    return result + "]";
  }
  Frequencies rule(double base) const {
    Frequencies result = default_rule(base);
    for (std::size_t j = 0; j < result.size(); ++j) result[j] /= factors[j];
    return result;
  }
  std::vector<double> factors;
};

TEST(RotaryRules, long_rope_has_factors_for_short_and_long_sequences) {
  const LongRope near(0.25), far(4);
  const std::string lists = R"("short_factor": )" + near.text() + R"(, "long_factor": )" +
                            far.text() + R"(, "rope_type": "longrope")";
  const auto expect = [&](const std::string& fields, double base, double trained, double growth) {
    SCOPED_TRACE(fields);
    const double factor = growth > 1 ? std::sqrt(1 + std::log(growth) / std::log(trained)) : 1;
    for (const auto& layer : layers_of("llama", fields)) {
      for (const double length : {0.0, trained}) {
        expect_rule(layer, near.rule(base), factor, length);
      }
      expect_rule(layer, far.rule(base), factor, trained + 1);
    }
  };
  expect(R"("rope_parameters": {)" + lists + R"(, "rope_theta": 500, "factor": 4,
             "original_max_position_embeddings": 64}, "max_position_embeddings": 1024)",
         500, 64, 4);
  // A configuration with the fields of Phi 3 and similar models.
  expect(R"("rope_scaling": {)" + lists + R"(}, "max_position_embeddings": 131072,
             "original_max_position_embeddings": 4096)",
         1e4, 4096, 32);
  expect(R"("rope_scaling": {)" + lists + R"(, "factor": 0.5}, "max_position_embeddings": 128)",
         1e4, 128, 0.5);
  const std::string own = R"("rope_scaling": {)" + lists + R"(, "attention_factor": 1.5},
                             "original_max_position_embeddings": 4096)";
  expect_rule(layers_of("qwen2", own + R"(, "max_position_embeddings": 8192)")[0], near.rule(1e4),
              1.5);
  EXPECT_THAT(error_about("llama", R"("rope_scaling": {"rope_type": "longrope", "factor": 4,
                                       "short_factor": [1], "long_factor": [2]})"),
              HasSubstr("scaling.short_factor: got length 1, needs 16, one for each pair"));
  EXPECT_THAT(error_about("llama", R"("rope_scaling": {"rope_type": "longrope", "factor": 4,
                                       "short_factor": )" +
                                       near.text() + "}"),
              HasSubstr("scaling.long_factor: got length 0, needs 16"));
}

TEST(RotaryRules, the_base_is_in_the_rule_or_next_to_it_or_the_familys_default) {
  expect_llama("", default_rule(1e4));
  expect_llama(R"("rope_theta": 500)", default_rule(500));
  expect_llama(R"("rope_theta": null)", default_rule(1e4));
  expect_llama(R"("rope_parameters": {"rope_type": "default", "rope_theta": 500})",
               default_rule(500));
  expect_llama(R"("rope_parameters": {"rope_theta": 500}, "rope_theta": 7)", default_rule(500));
  expect_llama(R"("rope_parameters": {"rope_type": "default"}, "rope_theta": 7)", default_rule(7));
  expect_llama(R"("rope_parameters": null, "rope_scaling": null)", default_rule(1e4));
  expect_rule(layers_of("smollm3", "")[0], default_rule(2e6));
  expect_rule(layers_of("smollm3", R"("rope_parameters": {"rope_type": "default"})")[0],
              default_rule(2e6));
}

TEST(RotaryRules, linear_and_dynamic_rules_have_a_new_and_an_old_key) {
  for (const char* key : {"rope_type", "type"}) {
    for (const char* field : {"rope_scaling", "rope_parameters"}) {
      const std::string begin = std::string("\"") + field + "\": {\"" + key + "\": ";
      expect_llama(begin + "\"linear\", \"factor\": 4}", linear_rule(1e4, 4));
      const std::string dynamic =
          begin + R"("dynamic", "factor": 3, "rope_theta": 700}, "max_position_embeddings": 64)";
      expect_llama(dynamic, default_rule(700));
      expect_rule(layers_of("llama", dynamic)[1], dynamic_rule(700, 3, 64, 200), 1, 200);
    }
  }
  expect_llama(R"("rope_scaling": {"type": null, "rope_type": "linear", "factor": 4})",
               linear_rule(1e4, 4));
  expect_llama(R"("rope_scaling": {"type": "linear", "rope_type": null, "factor": 4})",
               linear_rule(1e4, 4));
  // Without max_position_embeddings, the family's default applies.
  expect_rule(layers_of("llama", R"("rope_scaling": {"rope_type": "dynamic", "factor": 3})")[0],
              dynamic_rule(1e4, 3, 2048, 5000), 1, 5000);
}

TEST(RotaryRules, an_older_rule_replaces_a_newer_one_unless_it_is_empty) {
  const std::string newer = R"("rope_parameters": {"rope_type": "linear", "factor": 4,
                                                   "rope_theta": 500}, )";
  expect_llama(newer + R"("rope_scaling": {"rope_type": "linear", "factor": 2})",
               linear_rule(1e4, 2));
  expect_llama(newer + R"("rope_scaling": {"rope_type": "linear", "factor": 2}, "rope_theta": 7)",
               linear_rule(7, 2));
  expect_llama(newer + R"("rope_scaling": {})", linear_rule(500, 4));
  expect_llama(newer + R"("rope_scaling": null)", linear_rule(500, 4));
}

TEST(RotaryRules, yarn_has_defaults_for_everything_except_its_name) {
  const std::string yarn = R"("rope_scaling": {"rope_type": "yarn", "factor": 8)";
  expect_llama(yarn + "}", yarn_rule(1e4, 8, 2048), yarn_factor(8));
  expect_llama(yarn + R"(}, "max_position_embeddings": 4096)", yarn_rule(1e4, 8, 4096),
               yarn_factor(8));
  expect_llama(yarn + R"(, "original_max_position_embeddings": 512})", yarn_rule(1e4, 8, 512),
               yarn_factor(8));
  // The field outside the scaling rule takes precedence over the same field inside it.
  expect_llama(yarn + R"(, "original_max_position_embeddings": 512},
                       "original_max_position_embeddings": 1024)",
               yarn_rule(1e4, 8, 1024), yarn_factor(8));
  expect_llama(yarn + R"(, "beta_fast": 20, "beta_slow": 2, "truncate": false})",
               yarn_rule(1e4, 8, 2048, 20, 2, false), yarn_factor(8));
  expect_llama(yarn + R"(, "beta_fast": null, "beta_slow": 0})", yarn_rule(1e4, 8, 2048),
               yarn_factor(8));
  // Python treats None as false, whereas a missing `truncate` defaults to true.
  expect_llama(yarn + R"(, "truncate": null})", yarn_rule(1e4, 8, 2048, 32, 1, false),
               yarn_factor(8));
  expect_llama(yarn + R"(, "attention_factor": 1.25})", yarn_rule(1e4, 8, 2048), 1.25);
  expect_llama(yarn + R"(, "attention_factor": null})", yarn_rule(1e4, 8, 2048), yarn_factor(8));
  expect_llama(yarn + R"(, "mscale": 0.7, "mscale_all_dim": 0.9})", yarn_rule(1e4, 8, 2048),
               yarn_factor(8, 0.7) / yarn_factor(8, 0.9));
  expect_llama(yarn + R"(, "mscale": 0.7, "mscale_all_dim": 0})", yarn_rule(1e4, 8, 2048),
               yarn_factor(8));
  expect_llama(yarn + R"(, "mscale": 0.7})", yarn_rule(1e4, 8, 2048), yarn_factor(8));
  for (const char* factor : {"", R"("factor": null, )"}) {
    expect_llama(std::string(R"("rope_parameters": {"rope_type": "yarn", )") + factor +
                     R"("original_max_position_embeddings": 512, "rope_theta": 900})",
                 yarn_rule(900, 4, 512), yarn_factor(4));
  }
}

TEST(RotaryRules, llama3_and_proportional_rules_are_computed) {
  const std::string llama3 = R"("rope_scaling": {"rope_type": "llama3", "factor": 32,
                                "low_freq_factor": 1, "high_freq_factor": 4)";
  expect_llama(llama3 + R"(, "original_max_position_embeddings": 512}, "rope_theta": 5e5)",
               llama3_rule(5e5, 32, 1, 4, 512));
  expect_llama(llama3 + "}", llama3_rule(1e4, 32, 1, 4, 2048));

  Frequencies partial = default_rule(1e4);
  std::fill(partial.begin() + 4, partial.end(), 0.0);
  expect_llama(R"("rope_parameters": {"rope_type": "proportional", "partial_rotary_factor": 0.25})",
               partial);
}

TEST(RotaryRules, gpt_oss_has_yarn_by_default) {
  for (const char* fields : {"", R"("rope_parameters": null)", R"("rope_scaling": null)"}) {
    for (const auto& layer : layers_of("gpt_oss", fields)) {
      expect_rule(layer, yarn_rule(150000, 32, 4096, 32, 1, false), yarn_factor(32));
    }
  }
  expect_rule(layers_of("gpt_oss", R"("rope_parameters": {"rope_type": "default"})")[0],
              default_rule(150000));
}

TEST(RotaryRules, gemma3_has_rules_for_each_kind_of_layer) {
  const auto expect_gemma3 =
      [](const std::string& fields, const Frequencies& full, const Frequencies& sliding) {
        SCOPED_TRACE(fields);
        const auto layers = layers_of("gemma3_text", R"("layer_types": ["sliding_attention",
                                  "full_attention"])" + (fields.empty() ? "" : ", " + fields));
        expect_rule(layers[0], sliding);
        expect_rule(layers[1], full);
      };
  expect_gemma3("", default_rule(1e6), default_rule(1e4));
  expect_gemma3(R"("rope_theta": 5e5, "rope_local_base_freq": 300)", default_rule(5e5),
                default_rule(300));
  expect_gemma3(R"("rope_scaling": {"rope_type": "linear", "factor": 8})", linear_rule(1e6, 8),
                default_rule(1e4));
  const std::string linear = R"({"rope_type": "linear", "factor": 8, "rope_theta": 2e6})";
  const std::string local = R"({"rope_type": "default", "rope_theta": 300})";
  expect_gemma3(R"("rope_parameters": {"full_attention": )" + linear +
                    R"(, "sliding_attention": )" + local + "}",
                linear_rule(2e6, 8), default_rule(300));
  // If the rule for one kind of layer is missing, the rule for the other kind is not used in its
  // place.
  for (const char* none : {"", R"(, "sliding_attention": null)", R"(, "sliding_attention": {})"}) {
    expect_gemma3(R"("rope_parameters": {"full_attention": )" + linear + none + "}",
                  linear_rule(2e6, 8), default_rule(1e4));
  }
  expect_gemma3(R"("rope_parameters": {"sliding_attention": )" + local + "}", default_rule(1e6),
                default_rule(300));
  // One of the two rules lacks some of its fields.
  expect_gemma3(R"("rope_parameters": {"full_attention": {"rope_type": "linear", "factor": 8},
                   "sliding_attention": {"rope_type": "default"}}, "rope_theta": 5e5,
                   "rope_local_base_freq": 300)",
                linear_rule(5e5, 8), default_rule(300));
  expect_gemma3(R"("rope_parameters": {"full_attention": {"rope_theta": 5e5},
                   "sliding_attention": {}}, "rope_scaling": {"rope_type": "linear", "factor": 8})",
                linear_rule(5e5, 8), default_rule(1e4));
  // In the next two cases, Transformers ignores the fields `type` and `truncate`.
  expect_gemma3(R"("rope_scaling": {"type": "linear", "factor": 8})", linear_rule(1e6, 8),
                default_rule(1e4));
  const auto yarn = layers_of("gemma3_text", R"("layer_types": ["full_attention",
      "sliding_attention"], "rope_parameters": {"full_attention": {"rope_type": "yarn",
      "factor": 8, "original_max_position_embeddings": 512, "truncate": false}})");
  expect_rule(yarn[0], yarn_rule(1e6, 8, 512, 32, 1, false), yarn_factor(8));
  expect_rule(yarn[1], default_rule(1e4));
  EXPECT_THAT(
      error_about("gemma3_text", R"("rope_parameters": {"rope_type": "linear", "factor": 8})"),
      HasSubstr("\"rope_parameters.rope_type\": got \"linear\", needs separate rules in "
                "full_attention and sliding_attention"));
}

TEST(RotaryRules, several_axes_make_no_difference_to_a_text) {
  for (const char* family : {"llama", "qwen2"}) {
    const auto layers =
        layers_of(family, R"("rope_scaling": {"type": "mrope", "rope_type": "default",
                              "mrope_section": [4, 6, 6]}, "rope_theta": 1e6)");
    expect_rule(layers[0], default_rule(1e6));
  }
}

TEST(RotaryRules, rules_that_are_not_computed_are_rejected) {
  EXPECT_THAT(error_about("qwen2", R"("rope_scaling": {"type": "mrope", "mrope_section": [4, 6]})"),
              HasSubstr("\"rope_scaling.type\": got \"mrope\", needs default, linear"));
  EXPECT_THAT(error_about("llama", R"("rope_scaling": {"rope_type": "su", "factor": 4})"),
              HasSubstr("\"rope_scaling.rope_type\": got \"su\", needs default, linear"));
  EXPECT_THAT(error_about("llama", R"("rope_scaling": "yarn")"),
              HasSubstr("\"rope_scaling\": got \"yarn\", needs an object"));
  EXPECT_THAT(error_about("llama", R"("rope_parameters": [1])"),
              HasSubstr("\"rope_parameters\": got an array, needs an object"));
  EXPECT_THAT(error_about("llama", R"("rope_scaling": {"rope_type": "linear"})"),
              HasSubstr("\"rope_scaling.factor\": got none, needs a number"));
  EXPECT_THAT(error_about("llama", R"("partial_rotary_factor": 0.5)"),
              HasSubstr("\"partial_rotary_factor\": got 0.5, needs 1"));
  EXPECT_THAT(error_about("llama", R"("rope_parameters": {"rope_type": "linear", "factor": 2,
                                       "partial_rotary_factor": 0.5})"),
              HasSubstr("\"rope_parameters.partial_rotary_factor\": got 0.5, needs 1"));
  for (const char* family : {"llama", "qwen2", "gpt_oss"}) {
    EXPECT_THAT(
        error_about(family, R"("rope_parameters": {"full_attention": {"rope_theta": 7}})"),
        HasSubstr("\"rope_parameters\": got an object, needs a single rule for all layers"));
  }
}

TEST(RotaryRules, kinds_of_layers_are_as_many_as_layers) {
  EXPECT_THAT(error_about("qwen2", R"("layer_types": ["full_attention"])"),
              HasSubstr("\"layer_types\": got 1 entries, needs 2, one for each layer"));
  EXPECT_THAT(error_about("smollm3", R"("no_rope_layers": [1, 0, 1])"),
              HasSubstr("\"no_rope_layers\": got 3 entries, needs 2"));
}

}  // namespace
