// Tests the configurations of encoder–decoder models: defaults, variants, and the errors for what
// attn does not support.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "attn/models/load_encoder_decoder.hpp"
#include "compare.hpp"
#include "models/changed_models.hpp"

namespace {

using attn::EncoderDecoderDescription;
using attn::EncoderDecoderOptions;
using attn_test::ChangedTensors;
using attn_test::error_of;
using attn_test::recorded_files;
using attn_test::RecordedFiles;
using attn_test::with;
using attn_test::with_config;
using attn_test::with_config_of;
using attn_test::with_field;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

EncoderDecoderDescription described(const RecordedFiles& files) {
  return attn::describe_encoder_decoder(files.headers(), files.config);
}

/// The error thrown when the files are loaded.
std::string error_loading(const RecordedFiles& files) {
  return error_of([&] { attn::EncoderDecoderLoader loader(described(files)); });
}

std::string error_with_field(const char* model, const std::string& field) {
  return error_loading(with_field(recorded_files(model), field));
}

TEST(EncoderDecoders, missing_fields_of_t5_have_the_defaults_of_transformers) {
  RecordedFiles files = recorded_files("t5");
  files.config = R"({"model_type": "t5", "num_heads": 4, "num_decoder_layers": 2})";
  const EncoderDecoderOptions t5 = described(files).options;
  EXPECT_EQ(t5.encoder.num_layers, 3);
  EXPECT_EQ(t5.decoder.num_layers, 2);
  EXPECT_EQ(t5.start_id, 0);
  EXPECT_TRUE(t5.tied && t5.scale_output && t5.encoder.final_norm && t5.decoder.shared_t5_bias);
  EXPECT_FALSE(t5.scale_embedding || t5.output_bias || t5.sinusoidal);
  const attn::TransformerLayerOptions& layer = t5.decoder.layer;
  EXPECT_EQ(layer.head_dim, 5);
  EXPECT_EQ(layer.dim_feedforward, 27);
  EXPECT_EQ(layer.activation, attn::Activation::kRelu);
  EXPECT_EQ(layer.scale, 1.0F);
  EXPECT_EQ(layer.rms_norm->eps, 1e-6F);
  EXPECT_FALSE(layer.gated_feed_forward || layer.bias);
  EXPECT_EQ(layer.positions.t5_bias->num_buckets, 10);
  EXPECT_EQ(layer.positions.t5_bias->max_distance, 128);
  EXPECT_FALSE(layer.positions.t5_bias->bidirectional);
  EXPECT_TRUE(t5.encoder.layer.positions.t5_bias->bidirectional);

  files = recorded_files("t5_gated");
  files.config = R"({"model_type": "mt5", "num_heads": 3, "num_decoder_layers": null})";
  const EncoderDecoderOptions mt5 = described(files).options;
  EXPECT_FALSE(mt5.tied || mt5.scale_output);
  EXPECT_TRUE(mt5.encoder.layer.gated_feed_forward);
  EXPECT_EQ(mt5.encoder.layer.activation, attn::Activation::kGeluTanh);
  EXPECT_EQ(mt5.decoder.num_layers, 2);
}

TEST(EncoderDecoders, t5_has_activations_with_and_without_a_gate) {
  const auto layer = [](const char* model, const char* from, const char* to) {
    RecordedFiles files = with_config(model, from, to);
    if (std::string(model) == "t5_gated") {
      files = with_config_of(files, "\"dense_act_fn\": \"gelu_new\",", "");
    }
    return described(files).options.encoder.layer;
  };
  EXPECT_EQ(layer("t5", "\"relu\"", "\"gelu\"").activation, attn::Activation::kGelu);
  const auto silu = layer("t5_gated", "gated-gelu", "gated-silu");
  EXPECT_TRUE(silu.gated_feed_forward);
  EXPECT_EQ(silu.activation, attn::Activation::kSilu);
  EXPECT_EQ(layer("t5_gated", "gated-gelu", "gated-relu").activation, attn::Activation::kRelu);
}

TEST(EncoderDecoders, the_flag_of_tied_weights_decides_whether_t5_scales_its_output) {
  // Since version 5, Transformers ties the weights even if the flag is false.
  EncoderDecoderOptions options =
      described(with_config("t5", "embeddings\": true", "embeddings\": false")).options;
  EXPECT_TRUE(options.tied);
  EXPECT_FALSE(options.scale_output);
  options = described(with_config("t5", "embeddings\": true", "embeddings\": null")).options;
  EXPECT_TRUE(options.scale_output);
  options =
      described(with_field(recorded_files("t5"), R"("scale_decoder_outputs": false)")).options;
  EXPECT_FALSE(options.scale_output);

  const EncoderDecoderDescription flagged =
      described(with_config("t5_gated", "embeddings\": false", "embeddings\": true"));
  EXPECT_FALSE(flagged.options.tied);
  EXPECT_TRUE(flagged.options.scale_output);
  EXPECT_THAT(flagged.warnings, ElementsAre(HasSubstr("tie_word_embeddings is true")));
}

TEST(EncoderDecoders, the_embedding_of_t5_may_have_other_names) {
  const RecordedFiles files = with("t5", [](ChangedTensors& t) { t.remove("shared.weight"); });
  EXPECT_EQ(error_loading(files), "nothing");
  const RecordedFiles wrapped = with("t5", [](ChangedTensors& t) {
    t.rename([](const std::string& name) { return "module.model." + name; });
  });
  EXPECT_EQ(error_loading(wrapped), "nothing");
}

TEST(EncoderDecoders, copies_of_the_embedding_and_the_oldest_table_are_unused) {
  EXPECT_THAT(described(recorded_files("t5")).unused_tensors,
              ElementsAre("decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight",
                          "decoder.embed_tokens.weight", "encoder.embed_tokens.weight"));
}

TEST(EncoderDecoders, missing_fields_of_marian_have_the_defaults_of_transformers) {
  RecordedFiles files = recorded_files("marian");
  files.config = R"({"model_type": "marian", "encoder_attention_heads": 3,
                     "decoder_attention_heads": 7, "decoder_start_token_id": 26})";
  const EncoderDecoderOptions options = described(files).options;
  EXPECT_EQ(options.encoder.num_layers, 2);
  EXPECT_EQ(options.decoder.num_layers, 3);
  EXPECT_EQ(options.encoder.layer.dim_feedforward, 34);
  EXPECT_EQ(options.decoder.layer.dim_feedforward, 31);
  EXPECT_EQ(options.encoder.layer.activation, attn::Activation::kGelu);
  EXPECT_EQ(options.sinusoidal->layout, attn::SinusoidalLayout::kConcatenated);
  EXPECT_TRUE(options.tied && options.output_bias);
  EXPECT_FALSE(options.scale_embedding || options.scale_output || options.encoder.final_norm);
  EXPECT_FALSE(options.encoder.layer.norm_first);
}

TEST(EncoderDecoders, marian_may_have_no_bias_of_logits) {
  const RecordedFiles files =
      with("marian", [](ChangedTensors& t) { t.remove("final_logits_bias"); });
  EXPECT_FALSE(described(files).options.output_bias);
  EXPECT_EQ(error_loading(files), "nothing");
}

TEST(EncoderDecoders, tables_of_positions_in_the_files_limit_the_length) {
  const attn::EncoderDecoderModel model =
      attn::load_encoder_decoder(attn_test::recorded_folder("marian_table"));
  EXPECT_EQ(model.options().max_positions, 17);
  const std::vector<std::int64_t> ids(18, 1);
  attn::OwnedTensor memory({18, 20});
  EXPECT_THAT(error_of([&] { model.encode(ids, memory); }), HasSubstr("17"));
  EXPECT_THAT(error_of([&] { model.generate(std::vector{1}, {.max_new_tokens = 18}); }),
              HasSubstr("max_new_tokens: got 18, needs at most 17, the number of positions"));
  const RecordedFiles one = with(
      "marian_table", [](ChangedTensors& t) { t.remove("model.decoder.embed_positions.weight"); });
  EXPECT_THAT(error_loading(one), HasSubstr("no \"model.decoder.embed_positions.weight\""));
}

TEST(EncoderDecoders, unsupported_variants_of_marian_are_rejected_by_name) {
  for (const char* field : {"normalize_before", "normalize_embedding", "add_final_layer_norm"}) {
    const std::string name = "\"" + std::string(field) + "\": ";
    EXPECT_THAT(error_loading(with_config("marian", name + "false", name + "true")),
                HasSubstr(name + "got true, needs false"));
  }
  EXPECT_THAT(error_with_field("marian", R"("share_encoder_decoder_embeddings": false)"),
              HasSubstr("\"share_encoder_decoder_embeddings\": got false, needs true"));
  EXPECT_THAT(error_with_field("marian", R"("tie_word_embeddings": false)"),
              HasSubstr("got no \"lm_head.weight\""));
  EXPECT_THAT(error_loading(with_config("marian", "heads\": 3", "heads\": 4")),
              HasSubstr("\"encoder_attention_heads\": got 4, needs a divisor of d_model"));
}

TEST(EncoderDecoders, unsupported_variants_are_rejected_by_name) {
  EXPECT_THAT(error_loading(with_config("t5", "decoder\": true", "decoder\": false")),
              HasSubstr("\"is_encoder_decoder\": got false, needs true"));
  EXPECT_THAT(error_with_field("marian", R"("tie_encoder_decoder": true)"),
              HasSubstr("\"tie_encoder_decoder\": got true, needs false"));
  for (const char* type : {"umt5", "longt5", "switch_transformers", "bart", "llama"}) {
    EXPECT_THAT(error_loading(with_config("t5", "\"t5\"", "\"" + std::string(type) + "\"")),
                HasSubstr("\"model_type\": got \"" + std::string(type) +
                          "\", needs t5, mt5 or marian; attn loads no"));
  }
  EXPECT_THAT(error_loading(with_config("t5", "\"relu\"", "\"quick_gelu\"")),
              HasSubstr("\"feed_forward_proj\": got \"quick_gelu\", needs gelu, "));
  EXPECT_THAT(error_loading(with_config("t5", "\"relu\"", "\"gated-gelu-new\"")),
              HasSubstr("\"feed_forward_proj\": got \"gated-gelu-new\""));
  EXPECT_THAT(error_loading(with_config("t5_gated", "\"gelu_new\"", "\"silu\"")),
              HasSubstr("\"dense_act_fn\": got \"silu\", needs the activation of "
                        "feed_forward_proj, \"gated-gelu\""));
  EXPECT_THAT(error_loading(with_config("t5_gated", "act\": true", "act\": false")),
              HasSubstr("\"is_gated_act\": got false"));
  EXPECT_THAT(error_with_field("t5", R"("num_experts": 8)"), HasSubstr("\"num_experts\": got 8"));
  EXPECT_THAT(error_with_field("t5", R"("quantization_config": {"bits": 4})"),
              HasSubstr("\"quantization_config\": got an object"));
  EXPECT_THAT(error_loading(with_config("t5", "distance\": 11", "distance\": 5")),
              HasSubstr("max_distance: got 5"));
  EXPECT_THAT(error_loading(with_config("t5", "start_token_id\": 0", "start_token_id\": 29")),
              HasSubstr("start_id: got 29"));
  RecordedFiles files = recorded_files("t5");
  files.config.clear();
  EXPECT_THAT(error_loading(files), HasSubstr("config: got none, needs config.json"));
  files.config = "{}";
  EXPECT_THAT(error_loading(files), HasSubstr("\"model_type\": got none"));
}

TEST(EncoderDecoders, missing_and_unknown_tensors_are_named) {
  const std::string cross = "decoder.block.1.layer.1.EncDecAttention.k.weight";
  EXPECT_THAT(error_loading(with("t5", [&](ChangedTensors& t) { t.remove(cross); })),
              HasSubstr("got no \"" + cross + "\", needs all tensors of the t5"));
  // UMT5 has a table in every layer.
  const std::string table = "encoder.block.1.layer.0.SelfAttention.relative_attention_bias.weight";
  EXPECT_THAT(
      error_loading(with(
          "t5", [&](ChangedTensors& t) { t.all.emplace_back(table, attn::OwnedTensor({10, 4})); })),
      AllOf(HasSubstr("unexpected \"" + table + "\"")));
}

TEST(EncoderDecoders, language_models_point_to_the_other_function) {
  EXPECT_THAT(attn_test::loading_error(recorded_files("t5")),
              HasSubstr("\"model_type\": got \"t5\", needs a language model; load "
                        "encoder–decoder models with load_encoder_decoder()"));
  EXPECT_THAT(attn_test::loading_error(with_config("t5", "\"t5\"", "\"bart\"")),
              HasSubstr("\"is_encoder_decoder\": got true, needs false, or a model that "
                        "load_encoder_decoder() supports"));
  EXPECT_THAT(error_loading(recorded_files("gpt2")),
              HasSubstr("got \"gpt2\", needs t5, mt5 or marian;"));
}

}  // namespace
