// Tests the configurations of GPT-NeoX, GPT-Neo and OPT: defaults, variants, and the errors for
// what attn does not support.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "attn/layers/transformer_decoder.hpp"
#include "attn/models/language_model.hpp"
#include "compare.hpp"
#include "models/changed_models.hpp"

namespace {

using attn::LanguageModelOptions;
using attn_test::ChangedTensors;
using attn_test::describe;
using attn_test::error_of;
using attn_test::loading_error;
using attn_test::recorded_files;
using attn_test::RecordedFiles;
using attn_test::with;
using attn_test::with_config;
using attn_test::with_config_of;
using attn_test::with_field;
using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(Decoders, missing_fields_have_the_defaults_of_transformers) {
  RecordedFiles files = recorded_files("gpt_neox");
  files.config = R"({"model_type": "gpt_neox", "num_attention_heads": 3})";
  const LanguageModelOptions neox = describe(files).options;
  ASSERT_EQ(neox.stack.layers.size(), 2U);
  const attn::TransformerLayerOptions& layer = neox.stack.layers[1];
  EXPECT_TRUE(layer.parallel_residual && layer.norm_first && neox.stack.final_norm);
  EXPECT_FALSE(neox.tied);
  EXPECT_EQ(layer.dim_feedforward, 41);
  EXPECT_EQ(layer.activation, attn::Activation::kGelu);
  EXPECT_EQ(layer.positions.rotary->rotary_dim, 2);  // ⌊10 / 4⌋
  EXPECT_EQ(layer.positions.rotary->base, 10000);

  files = recorded_files("gpt_neo");
  files.config = R"({"model_type": "gpt_neo", "num_heads": 3,
                     "attention_types": [[["local"], 1], [["global"], 3]]})";
  const LanguageModelOptions neo = describe(files).options;
  EXPECT_TRUE(neo.tied);
  EXPECT_EQ(neo.stack.layers[0].dim_feedforward, 72);
  EXPECT_EQ(neo.stack.layers[0].activation, attn::Activation::kGeluTanh);
  EXPECT_FALSE(neo.stack.layers[1].window);

  files = recorded_files("opt");
  files.config = R"({"model_type": "opt", "num_attention_heads": 4})";
  const LanguageModelOptions opt = describe(files).options;
  EXPECT_TRUE(opt.tied && opt.stack.final_norm && opt.stack.layers[0].norm_first);
  EXPECT_EQ(opt.stack.layers[0].activation, attn::Activation::kRelu);
  EXPECT_EQ(opt.max_positions, 19);
  EXPECT_EQ(opt.first_position, 2);
  EXPECT_EQ(opt.embedding_dim, 0);
}

TEST(Decoders, fields_may_have_their_common_names) {
  RecordedFiles files = with_config("gpt_neo", "num_layers", "num_hidden_layers");
  files = with_config_of(files, "num_heads", "num_attention_heads");
  EXPECT_EQ(describe(files).options.stack.layers.size(), 4U);
}

TEST(Decoders, rotary_rules_scale_the_rotated_columns) {
  const RecordedFiles files = with_field(recorded_files("gpt_neox"),
                                         R"("rope_scaling": {"type": "linear", "factor": 2.0})");
  const attn::RotaryEmbeddingOptions rotary =
      *describe(files).options.stack.layers[0].positions.rotary;
  EXPECT_EQ(rotary.rotary_dim, 4);
  EXPECT_EQ(rotary.base, 500);
  EXPECT_EQ(std::get<attn::LinearRotaryScaling>(rotary.scaling).factor, 2);
}

TEST(Decoders, attention_may_have_no_biases) {
  const RecordedFiles files = with("gpt_neox", [](ChangedTensors& t) {
    std::erase_if(t.all, [](const auto& tensor) {
      return tensor.first.ends_with("query_key_value.bias") ||
             tensor.first.ends_with("attention.dense.bias");
    });
  });
  EXPECT_EQ(loading_error(with_field(files, R"("attention_bias": false)")), "nothing");
}

TEST(Decoders, older_opt_models_have_no_final_norm) {
  const RecordedFiles files =
      with("opt", [](ChangedTensors& t) { t.remove("model.decoder.final_layer_norm.weight"); });
  const auto description = describe(with_field(files, R"("_remove_final_layer_norm": true)"));
  EXPECT_FALSE(description.options.stack.final_norm);
}

TEST(Decoders, a_missing_joined_projection_is_named_once) {
  const std::string name = "gpt_neox.layers.0.attention.query_key_value.weight";
  EXPECT_THAT(loading_error(with("gpt_neox", [&](ChangedTensors& t) { t.remove(name); })),
              HasSubstr("got no \"" + name + "\", needs all tensors of the gpt_neox"));
}

TEST(Decoders, unsupported_variants_are_rejected_by_name) {
  const auto error = [](const char* model, const std::string& field) {
    return loading_error(with_field(recorded_files(model), field));
  };
  EXPECT_EQ(error("opt", R"("enable_bias": false)"),
            "unsupported: config.json, \"enable_bias\": got false, needs true; attn does not "
            "support this option");
  EXPECT_THAT(error("opt", R"("layer_norm_elementwise_affine": false)"),
              HasSubstr("\"layer_norm_elementwise_affine\": got false, needs true"));
  EXPECT_THAT(loading_error(with_config("opt", "\"relu\"", "\"relu6\"")),
              HasSubstr("\"activation_function\": got \"relu6\""));
  EXPECT_THAT(loading_error(with_config("gpt_neox", "0.45", "0.1")),
              AllOf(HasSubstr("\"rotary_pct\": got 0.1"), HasSubstr("at least 2 columns")));
  EXPECT_THAT(loading_error(with_config("gpt_neox", "0.45", "1.5")),
              HasSubstr("\"rotary_pct\": got 1.5"));
  EXPECT_THAT(loading_error(with_config("gpt_neox", "0.45", "0.3")),
              HasSubstr("rotary_dim: got 3"));
  EXPECT_THAT(error("gpt_neox", R"("rope_scaling": {"rope_type": "proportional"})"),
              HasSubstr("\"rope_scaling.rope_type\": got \"proportional\""));
  EXPECT_THAT(error("gpt_neox", R"("rope_theta": 10000)"),
              HasSubstr("\"rope_theta\": got 10000, needs the same number as rotary_emb_base"));
  EXPECT_EQ(error("gpt_neox", R"("rope_theta": 500, "partial_rotary_factor": 0.45)"), "nothing");
  EXPECT_THAT(error("gpt_neox", R"("partial_rotary_factor": 1)"),
              HasSubstr("\"partial_rotary_factor\": got 1, needs the same number as rotary_pct"));
  EXPECT_THAT(loading_error(with_config("gpt_neox", "\"num_attention_heads\": 3",
                                        "\"num_attention_heads\": 4")),
              HasSubstr("\"num_attention_heads\": got 4, needs a divisor of hidden_size"));
  EXPECT_THAT(loading_error(with_config("gpt_neo", "\"local\"", "\"dilated\"")),
              HasSubstr("\"attention_types.0.0.1\": got \"dilated\", needs global or local"));
  EXPECT_THAT(loading_error(with_config("gpt_neo", "\"window_size\": 4", "\"window_size\": 0")),
              HasSubstr("\"window_size\": got 0, needs 1 or more"));
  const std::string last = "\"local\"\n ]";
  EXPECT_THAT(
      loading_error(with_config("gpt_neo", last, "\"global\"\n ]")),
      HasSubstr("\"attention_layers.3\": got \"global\", needs local, as in attention_types"));
  EXPECT_THAT(loading_error(with_config("gpt_neo", ",\n  " + last, "\n ]")),
              HasSubstr("\"attention_layers.3\": got none, needs local, as in attention_types"));
  EXPECT_THAT(loading_error(with_config("gpt_neo", last, "\"local\", \"local\"\n ]")),
              HasSubstr("\"attention_layers.4\": got \"local\", needs no more kinds than layers"));
  for (const char* count : {"\"num_layers\": 3", "\"num_layers\": 2000"}) {
    EXPECT_NE(loading_error(with_config("gpt_neo", "\"num_layers\": 4", count)), "nothing");
  }
  RecordedFiles types = recorded_files("gpt_neo");
  types.config = R"({"model_type": "gpt_neo", "num_heads": 3})";
  EXPECT_THAT(loading_error(types),
              HasSubstr("\"attention_types\": got kinds for 24 or more layers, needs 4"));
  types.config = R"({"model_type": "gpt_neo", "num_heads": 3, "attention_types":
                     [[["global", "local"], 2000000000]]})";
  EXPECT_THAT(loading_error(types), HasSubstr("\"attention_types\": got"));
  for (const char* model : {"gpt_neox", "gpt_neo", "opt"}) {
    RecordedFiles files = recorded_files(model);
    files.config.clear();
    EXPECT_THAT(loading_error(files, {.num_heads = 3}), HasSubstr("config: got none")) << model;
  }
}

TEST(Decoders, options_that_contradict_each_other) {
  EXPECT_THAT(error_of([] {
                attn::TransformerDecoderLayer layer(
                    {.d_model = 8, .norm_first = true, .parallel_residual = true});
              }),
              HasSubstr("parallel_residual: got true, needs false in a decoder layer"));
  LanguageModelOptions options;
  options.stack.layer.d_model = 8;
  options.embedding_dim = 4;
  EXPECT_THAT(error_of([&] { attn::LanguageModel model(options); }),
              HasSubstr("embedding_dim: got a value, needs 0 without a vocabulary"));
}

}  // namespace
