// Tests how attn reads a model's files, and the errors if the files do not match each other.

#include "attn/models/load_language_model.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "attn/error.hpp"
#include "attn/io/state_dict.hpp"
#include "attn/models/language_model.hpp"
#include "attn/owned_tensor.hpp"
#include "compare.hpp"
#include "models/changed_models.hpp"
#include "models/model_folder.hpp"
#include "models/recorded_models.hpp"

namespace {

using attn::LanguageModel;
using attn::LanguageModelDescription;
using attn_test::describe;
using attn_test::error_of;
using attn_test::load_recorded;
using attn_test::loading_error;
using attn_test::logits_of;
using attn_test::recorded_files;
using attn_test::RecordedFiles;
using attn_test::with;
using attn_test::with_config;
using attn_test::with_config_of;
using Tensors = attn_test::ChangedTensors;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(LoadLanguageModel, every_family_is_recognised) {
  for (const auto& recorded : attn_test::recorded_models()) {
    SCOPED_TRACE(recorded.name);
    const auto description = describe(recorded_files(recorded.name), recorded.hints);
    EXPECT_EQ(description.family, recorded.family);
    const LanguageModel model(description.options);
    std::int64_t count = 0;
    model.visit_parameters([&](const attn::ConstParameter& parameter) {
      std::int64_t size = 1;
      for (const std::int64_t n : parameter.values.shape()) size *= n;
      count += size;
    });
    EXPECT_EQ(description.num_parameters, count);
    // A 16-bit weight takes 2 bytes of memory. A float32 weight takes 4 or 8.
    const bool stored = description.options.weights.type != attn::ElementType::kFloat32;
    EXPECT_GT(description.memory, (stored ? 2 : 4) * count);
    EXPECT_LT(description.memory, 16 * count);
  }
}

TEST(LoadLanguageModel, weights_are_kept_as_stored_and_give_the_same_logits) {
  std::map<attn::ElementType, int> kept;
  for (const auto& recorded : attn_test::recorded_models()) {
    SCOPED_TRACE(recorded.name);
    const auto stored = describe(recorded_files(recorded.name), recorded.hints);
    attn::LanguageModelHints hints = recorded.hints;
    hints.weights = attn::ElementType::kFloat32;
    const auto floats = describe(recorded_files(recorded.name), hints);
    EXPECT_EQ(floats.options.weights.type, attn::ElementType::kFloat32);
    EXPECT_EQ(floats.num_parameters, stored.num_parameters);
    EXPECT_FALSE(stored.options.weights.round_inputs &&
                 stored.options.weights.type != attn::ElementType::kFloat32);
    ++kept[stored.options.weights.type];
    if (stored.options.weights.type != attn::ElementType::kFloat32) {
      EXPECT_LT(2 * stored.memory, floats.memory);
    }
    const LanguageModel a =
        attn_test::load_from_memory(recorded_files(recorded.name), recorded.hints);
    const LanguageModel b = attn_test::load_from_memory(recorded_files(recorded.name), hints);
    // A model that keeps the stored type must have the same parameters as a float32 model.
    for (const std::string& name : a.parameter_names()) {
      attn::OwnedTensor got(a.parameter_shape(name));
      a.read_parameter(name, got);
      EXPECT_TRUE(std::ranges::equal(got.values(),
                                     std::span(b.parameter(name).data(), got.values().size())))
          << name;
    }
    if (!a.options().output || a.options().vocab_size == 0) continue;
    EXPECT_EQ(logits_of(a), logits_of(b));
  }
  EXPECT_GT(kept[attn::ElementType::kFloat16], 0);
  EXPECT_GT(kept[attn::ElementType::kBFloat16], 0);
  EXPECT_GT(kept[attn::ElementType::kFloat32], 0);
}

TEST(LoadLanguageModel, weights_of_two_bytes_are_saved_and_loaded) {
  attn::LanguageModelHints hints;
  for (const auto type : {attn::ElementType::kFloat16, attn::ElementType::kBFloat16}) {
    hints.weights = type;
    const LanguageModel model = attn_test::load_from_memory(recorded_files("llama"), hints);
    const auto bytes = attn::to_safetensors(attn::state_dict(model));
    LanguageModel again(model.options());
    attn::load_state_dict(again, attn::Safetensors::view(bytes));
    EXPECT_EQ(attn::to_safetensors(attn::state_dict(again)), bytes);
    EXPECT_EQ(logits_of(again), logits_of(model));
  }
}

TEST(LoadLanguageModel, weights_are_stored_in_the_requested_type) {
  attn::LanguageModelHints hints;
  for (const auto type : {attn::ElementType::kFloat16, attn::ElementType::kBFloat16}) {
    hints.weights = type;
    const LanguageModel model = attn_test::load_from_memory(recorded_files("llama"), hints);
    for (const std::string& name : model.parameter_names()) {
      const bool is_matrix = model.parameter_shape(name).size() == 2;
      EXPECT_EQ(model.parameter_type(name), is_matrix ? type : attn::ElementType::kFloat32) << name;
    }
  }
  hints.weights = attn::ElementType::kInt8;
  EXPECT_EQ(attn_test::error_of(
                [&] { (void)attn_test::load_from_memory(recorded_files("llama"), hints); }),
            "invalid_argument: weight_type: got int8, needs float32, float16 or bfloat16");
}

TEST(LoadLanguageModel, a_folder_is_read_with_its_index_and_configuration) {
  const std::string folder = attn_test::recorded_folder("llama");
  std::int64_t last = 0, total = 0;
  attn::LoadLanguageModelOptions options;
  options.on_progress = [&](std::int64_t done, std::int64_t all) {
    EXPECT_GT(done, last);
    last = done;
    total = all;
  };
  const LanguageModel model = attn::load_language_model(folder, options);
  EXPECT_EQ(last, total);
  EXPECT_EQ(total, 2 * attn::describe_language_model(folder).num_parameters);
  EXPECT_EQ(logits_of(model), logits_of(attn_test::load_from_memory(recorded_files("llama"), {})));

  const std::string file = attn_test::recorded_folder("gpt2") + "/model.safetensors";
  EXPECT_EQ(logits_of(attn::load_language_model(file)),
            logits_of(attn_test::load_from_memory(recorded_files("gpt2"), {})));
}

TEST(LoadLanguageModel, slices_may_have_any_size) {
  for (const char* name : {"gpt2", "qwen3", "attn_rotary"}) {
    const RecordedFiles files = recorded_files(name);
    const std::vector<float> whole = logits_of(attn_test::load_from_memory(files, {}, 1 << 30));
    EXPECT_EQ(logits_of(attn_test::load_from_memory(files, {}, 4)), whole);
    EXPECT_EQ(logits_of(attn_test::load_from_memory(files, {}, 60)), whole);
  }
}

TEST(LoadLanguageModel, gpt2_and_bert_need_no_configuration_but_the_number_of_heads) {
  for (const auto& [name, heads] : {std::pair{"gpt2", 4}, {"bert_plain", 3}, {"distilbert", 3}}) {
    RecordedFiles files = recorded_files(name);
    const LanguageModel with = attn_test::load_from_memory(files, {});
    files.config.clear();
    EXPECT_THAT(loading_error(files), HasSubstr("invalid_argument: num_heads: got none"));
    const LanguageModel without = attn_test::load_from_memory(files, {.num_heads = heads});
    if (with.options().output) {
      EXPECT_EQ(logits_of(with), logits_of(without));
    }
    EXPECT_EQ(with.parameter_names(), without.parameter_names());
  }
  RecordedFiles llama = recorded_files("llama");
  llama.config.clear();
  EXPECT_THAT(loading_error(llama, {.num_heads = 6}),
              AllOf(HasSubstr("invalid_argument: config: got none"), HasSubstr("config.json")));
}

TEST(LoadLanguageModel, newer_and_nested_configurations_give_the_same_model) {
  const RecordedFiles files = recorded_files("gemma3");
  const std::vector<float> want = logits_of(attn_test::load_from_memory(files, {}));
  RecordedFiles nested = files;
  nested.config = R"({"model_type": "gemma3", "text_config": )" + files.config + "}";
  EXPECT_EQ(logits_of(attn_test::load_from_memory(nested, {})), want);

  RecordedFiles newer = with_config(
      "gemma3", "\"rope_scaling\"",
      R"("rope_parameters": {"full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1e6},
         "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}}, "former")");
  EXPECT_EQ(logits_of(attn_test::load_from_memory(newer, {})), want);
  newer = with_config("llama_linear", "\"rope_scaling\": {",
                      "\"rope_parameters\": {\"rope_theta\": 500.0, ");
  const std::string theta = "\"rope_theta\": 500.0,\n";
  newer.config.erase(newer.config.find(theta), theta.size());
  EXPECT_EQ(logits_of(attn_test::load_from_memory(newer, {})),
            logits_of(attn_test::load_from_memory(recorded_files("llama_linear"), {})));

  const RecordedFiles kinds = with_config(
      "gemma2", "\"attention_bias\"",
      R"("layer_types": ["full_attention", "sliding_attention", "full_attention"], "attention_bias")");
  const auto& layers = describe(kinds).options.stack.layers;
  EXPECT_FALSE(layers[0].window || layers[2].window);
  EXPECT_EQ(layers[1].window->left, 3);
}

TEST(LoadLanguageModel,
     what_a_configuration_leaves_out_is_shown_by_shapes_or_is_the_familys_default) {
  // The configuration resembles the published one of google/gemma-3-4b. It contains only the fields
  // that differ from the defaults of the model's class.
  RecordedFiles little = recorded_files("gemma3");
  for (const char* line : {"\"vocab_size\": 33,\n", "\"hidden_size\": 22,\n",
                           "\"num_hidden_layers\": 3,\n", "\"intermediate_size\": 31,\n"}) {
    little = with_config_of(little, line, "");
  }
  little.config = R"({"model_type": "gemma3", "text_config": )" + little.config + "}";
  EXPECT_EQ(logits_of(attn_test::load_from_memory(little, {})),
            logits_of(attn_test::load_from_memory(recorded_files("gemma3"), {})));

  const auto options_of = [](const char* family, const std::string& fields) {
    RecordedFiles files = recorded_files(family);
    files.config = std::string(R"({"model_type": ")") + family + "\"" + fields + "}";
    return describe(files).options;
  };
  const std::string heads =
      R"(, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8)";
  attn::LanguageModelOptions gemma2 = options_of("gemma2", heads);
  EXPECT_EQ(gemma2.stack.layers[0].softcap, 50);
  EXPECT_EQ(gemma2.final_softcap, 30);
  EXPECT_EQ(gemma2.stack.layers[0].window->left, 4095);
  EXPECT_EQ(gemma2.stack.layers[0].scale, 1.0F / 16);
  EXPECT_TRUE(gemma2.tied);
  // A field that is null differs from a missing field.
  gemma2 = options_of("gemma2", heads + R"(, "attn_logit_softcapping": null,
      "final_logit_softcapping": null, "sliding_window": null, "query_pre_attn_scalar": null)");
  EXPECT_EQ(gemma2.stack.layers[0].softcap, 0);
  EXPECT_EQ(gemma2.final_softcap, 0);
  EXPECT_FALSE(gemma2.stack.layers[0].window);
  EXPECT_FALSE(gemma2.stack.layers[0].scale);

  const auto qwen2 = options_of("qwen2", R"(, "num_attention_heads": 3, "num_key_value_heads": 1,
      "use_sliding_window": true, "tie_word_embeddings": true)");
  EXPECT_FALSE(qwen2.stack.layers[1].window) << "the first 28 layers have none";
}

TEST(LoadLanguageModel, windows_of_smollm3_are_in_layers_without_positions) {
  const auto files = with_config("smollm3", "\"use_sliding_window\": false",
                                 "\"use_sliding_window\": true, \"sliding_window\": 3");
  const auto& layers = describe(files).options.stack.layers;
  EXPECT_FALSE(layers[0].window || layers[1].window);
  EXPECT_EQ(layers[2].window->left, 2);
  EXPECT_FALSE(layers[2].positions.rotary);
}

TEST(LoadLanguageModel, an_older_rule_replaces_a_newer_one_and_its_base) {
  const RecordedFiles both = with_config("llama_linear", "\"rope_theta\": 500.0,",
                                         R"("rope_parameters": {"rope_type": "default",
                                            "rope_theta": 500.0}, "rope_theta": 7.0,)");
  const RecordedFiles older =
      with_config("llama_linear", "\"rope_theta\": 500.0", "\"rope_theta\": 7.0");
  EXPECT_EQ(logits_of(attn_test::load_from_memory(both, {})),
            logits_of(attn_test::load_from_memory(older, {})));
}

TEST(LoadLanguageModel, models_may_look_ahead_or_have_no_output_layer) {
  const auto ahead = with_config("llama_none", "\"mlp_bias\": false", "\"is_causal\": false");
  EXPECT_FALSE(describe(ahead).options.causal);
  EXPECT_THAT(loading_error(with_config("mistral", "\"mlp_bias\": false", "\"is_causal\": false")),
              HasSubstr("\"is_causal\": got false, needs true in a model with sliding windows"));

  const RecordedFiles headless = with("olmo2", [](Tensors& t) { t.remove("lm_head.weight"); });
  EXPECT_FALSE(describe(headless).options.output);
  const LanguageModel model = attn_test::load_from_memory(headless, {});
  const LanguageModel whole = attn_test::load_from_memory(recorded_files("olmo2"), {});
  const std::vector<std::int64_t> ids{1, 5, 3};
  attn::OwnedTensor got({3, 20}), want({3, 20});
  attn::LanguageModelCall call;
  call.hidden = got;
  model.forward(ids, {}, call);
  call.hidden = want;
  whole.forward(ids, {}, call);
  EXPECT_TRUE(std::ranges::equal(got.values(), want.values()));

  // The file contains the position table; sinusoidal_pos_embds only says how the table was
  // initialised.
  EXPECT_EQ(loading_error(with_config("distilbert", "\"sinusoidal_pos_embds\": false",
                                      "\"sinusoidal_pos_embds\": true")),
            "nothing");
}

TEST(LoadLanguageModel, unused_tensors_and_fields_are_listed) {
  const auto bert = describe(recorded_files("bert"));
  EXPECT_THAT(bert.unused_tensors,
              ElementsAre("bert.embeddings.position_ids", "cls.seq_relationship.bias",
                          "cls.seq_relationship.weight"));
  EXPECT_THAT(bert.unused_fields, ElementsAre("architectures", "hidden_dropout_prob"));
  EXPECT_THAT(describe(recorded_files("gpt2")).unused_tensors,
              ElementsAre("h.0.attn.bias", "h.1.attn.bias"));
}

TEST(LoadLanguageModel, missing_unknown_and_duplicate_tensors_are_named) {
  EXPECT_THAT(loading_error(with("gpt2", [](Tensors& t) { t.remove("h.1.mlp.c_fc.bias"); })),
              HasSubstr("not_found: tensors: got no \"h.1.mlp.c_fc.bias\", needs all tensors of "
                        "the gpt2 architecture"));
  EXPECT_THAT(loading_error(with("qwen3",
                                 [](Tensors& t) {
                                   t.all.emplace_back("model.layers.1.self_attn.q_proj.bias",
                                                      attn::OwnedTensor({24}));
                                 })),
              HasSubstr("not_found: tensors: got unexpected "
                        "\"model.layers.1.self_attn.q_proj.bias\", needs layers with only the "
                        "tensors of the qwen3 architecture"));
  RecordedFiles twice = recorded_files("gpt2");
  twice.files.push_back(twice.files[0]);
  EXPECT_THAT(loading_error(twice),
              HasSubstr("invalid_format: tensor \"h.0.attn.bias\": got copies in two files"));
  RecordedFiles part = recorded_files("llama");
  part.files.pop_back();
  EXPECT_THAT(loading_error(part), HasSubstr("not_found: tensors: got no \"model.layers.2"));
}

TEST(LoadLanguageModel, shapes_that_contradict_the_configuration_are_named) {
  EXPECT_THAT(
      loading_error(with_config("gpt2", "\"n_embd\": 20", "\"n_embd\": 24")),
      HasSubstr("shape_mismatch: tensor \"wte.weight\": got shape (29, 20), needs shape (29, 24)"));
  EXPECT_THAT(loading_error(
                  with_config("llama", "\"num_key_value_heads\": 2", "\"num_key_value_heads\": 3")),
              HasSubstr("k_proj.weight\": got shape (8, 24), needs shape (12, 24)"));
  EXPECT_THAT(loading_error(with_config("gpt2", "\"n_head\": 4", "\"n_head\": 3")),
              HasSubstr("invalid_argument: num_heads: got 3, needs a divisor of d_model 20"));
  EXPECT_THAT(loading_error(with_config("gpt2", "\"n_layer\": 2", "\"n_layer\": 2000000")),
              HasSubstr("invalid_format: layers: got 2000000"));
  EXPECT_THAT(loading_error(with_config("gpt2", "\"n_layer\": 2", "\"n_layer\": 1")),
              HasSubstr("not_found: tensors: got unexpected \"h.1.attn.c_attn.bias\""));
}

TEST(LoadLanguageModel, an_unknown_architecture_is_an_error_that_names_the_nearest) {
  EXPECT_THAT(loading_error(with_config("llama", "\"llama\"", "\"mamba\"")),
              AllOf(HasSubstr("unsupported: architecture: got \"mamba\" with the tensors"),
                    HasSubstr("\"lm_head.weight\", \"model.embed_tokens.weight\""),
                    HasSubstr("needs one of gpt2, gpt_neox, gpt_neo, opt, bert"),
                    HasSubstr("the nearest is llama")));
  RecordedFiles files;
  const attn::OwnedTensor one({1});
  files.files = {attn::to_safetensors(std::vector<attn::NamedTensor>{
      {"blocks.0.attn.c_att.weight", one}, {"token_embedding.weight", one}})};
  EXPECT_THAT(
      loading_error(files),
      AllOf(
          HasSubstr("got an unknown architecture with the tensors \"blocks.0.attn.c_att.weight\", "
                    "\"token_embedding.weight\""),
          HasSubstr("the nearest is gpt2, which has h.0.attn.c_attn.weight")));
  files.files = {attn::to_safetensors({})};
  EXPECT_THAT(loading_error(files), HasSubstr("unsupported: architecture"));
  EXPECT_THAT(error_of([] { describe({}); }), HasSubstr("unsupported: architecture"));
}

TEST(LoadLanguageModel, unsupported_fields_that_change_the_result_are_rejected) {
  const auto refused = [](const char* name, const std::string& field) {
    return loading_error(with_config(name, "\"architectures\"", field + ", \"architectures\""));
  };
  EXPECT_THAT(refused("llama", R"("num_local_experts": 8)"),
              HasSubstr("unsupported: config.json, \"num_local_experts\": got 8, needs 0; attn "
                        "does not support mixtures of experts"));
  EXPECT_THAT(
      refused("llama", R"("quantization_config": {"bits": 4})"),
      HasSubstr(
          "\"quantization_config\": got an object, needs none; attn does not support quantised"));
  EXPECT_THAT(refused("llama", R"("residual_multiplier": 0.22)"), HasSubstr("got 0.22, needs 1"));
  EXPECT_THAT(refused("gpt2", R"("add_cross_attention": true)"),
              HasSubstr("got true, needs false"));
  EXPECT_THAT(loading_error(with_config("bert", "\"absolute\"", "\"relative_key\"")),
              HasSubstr("\"position_embedding_type\": got \"relative_key\", needs \"absolute\""));
  EXPECT_THAT(loading_error(with_config("llama", "\"llama3\"", "\"su\"")),
              HasSubstr("\"rope_scaling.rope_type\": got \"su\", needs default, linear"));
  EXPECT_THAT(loading_error(with_config("llama", "\"silu\"", "\"quick_gelu\"")),
              HasSubstr("\"hidden_act\": got \"quick_gelu\", needs gelu"));
  EXPECT_THAT(
      loading_error(with_config("gpt_oss_dense", "\"full_attention\"", "\"linear_attention\"")),
      HasSubstr("\"layer_types.1\": got \"linear_attention\""));
}

TEST(LoadLanguageModel, invalid_configurations_are_rejected) {
  const auto refused = [](const std::string& config) {
    RecordedFiles files = recorded_files("llama");
    files.config = config;
    return loading_error(files);
  };
  EXPECT_THAT(refused("[1]"),
              HasSubstr("invalid_format: config.json: got an array, needs an object"));
  EXPECT_THAT(refused("{\"a\": 1"),
              HasSubstr("invalid_format: config.json: got the end of the text"));
  EXPECT_THAT(refused(R"({"a": 1, "a": 2})"), HasSubstr("\"a\": got two values"));
  EXPECT_THAT(refused(std::string(100, '[')), HasSubstr("invalid_format"));
  EXPECT_THAT(refused("{\"a\": " + std::string(100, '[')), HasSubstr("at most 16 levels"));
  EXPECT_THAT(refused(R"({"model_type": "llama"})"),
              HasSubstr("invalid_format: config.json, \"num_attention_heads\": got none"));
  EXPECT_THAT(
      loading_error(with_config("llama", "\"hidden_size\": 24", "\"hidden_size\": \"24\"")),
      HasSubstr("invalid_format: config.json, \"hidden_size\": got \"24\", needs a number"));
  EXPECT_THAT(loading_error(with_config("llama", "\"hidden_size\": 24", "\"hidden_size\": 24.5")),
              HasSubstr("got 24.5, needs a whole number"));
  EXPECT_THAT(loading_error(with_config("llama", "\"num_attention_heads\": 6",
                                        "\"num_attention_heads\": null")),
              HasSubstr("\"num_attention_heads\": got none, needs a whole number"));
  EXPECT_THAT(refused(R"({"architectures": ["GemmaForCausalLM"], "num_attention_heads": 6})"),
              HasSubstr("config.json, \"model_type\": got none"));
  EXPECT_THAT(loading_error(with_config("llama", "\"mlp_bias\": false", "\"mlp_bias\": 0")),
              HasSubstr("\"mlp_bias\": got \"0\", needs true or false"));
}

TEST(LoadLanguageModel, numbers_that_are_not_finite_are_reported_with_their_position) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(
      loading_error(with("gpt2", [&](Tensors& t) { t.at("h.1.attn.c_attn.weight")(3, 41) = nan; })),
      HasSubstr("invalid_format: tensor \"h.1.attn.c_attn.weight\": got NaN at (3, 41), needs "
                "finite numbers"));
  EXPECT_THAT(
      loading_error(with("qwen2", [&](Tensors& t) { t.at("model.norm.weight")(7) = INFINITY; })),
      HasSubstr("tensor \"model.norm.weight\": got an infinite number at (7)"));
  // Tensors that the model does not use may contain any data.
  EXPECT_EQ(
      loading_error(with("gpt2", [&](Tensors& t) { t.at("h.1.attn.bias")(0, 0, 3, 4) = nan; })),
      "nothing");
}

TEST(LoadLanguageModel, weights_of_other_dtypes_are_rejected) {
  RecordedFiles files = recorded_files("gpt2");
  std::vector<std::byte>& bytes = files.files[0];
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::size_t at = text.find("\"F32\"", text.find("ln_f.bias"));
  bytes[at + 1] = std::byte{'I'};
  EXPECT_THAT(loading_error(files), HasSubstr("unsupported: tensor \"ln_f.bias\": got dtype I32"));
}

TEST(LoadLanguageModel, a_model_that_does_not_fit_is_rejected_before_anything_is_read) {
  const auto description = describe(recorded_files("gpt2"));
  EXPECT_THAT(error_of([&] { attn::LanguageModelLoader(description, description.memory - 1); }),
              HasSubstr("unsupported: weights: got " + std::to_string(description.num_parameters) +
                        " parameters that take 1 MB of memory, needs at most"));
  attn::LanguageModelLoader(description, description.memory);
  auto huge = description;
  huge.memory = std::int64_t{1} << 50;
  EXPECT_THAT(error_of([&] { attn::LanguageModelLoader{huge}; }),
              HasSubstr("parameters that take 1125899907 MB of memory"));
}

TEST(LoadLanguageModel, a_loader_takes_each_number_once) {
  const RecordedFiles files = recorded_files("gpt2");
  const auto description = describe(files);
  attn::LanguageModelLoader loader(description);
  const attn::WeightSource& source = description.weights[0];
  const std::vector<std::byte> zeros(static_cast<std::size_t>(source.end - source.begin));
  EXPECT_THAT(error_of([&] { loader.finish(); }), HasSubstr("got 0 bytes"));
  EXPECT_THAT(error_of([&] { loader.write(description.weights.size(), {}); }),
              HasSubstr("invalid_argument: source"));
  EXPECT_THAT(error_of([&] { loader.write(0, std::span(zeros).first(6)); }),
              HasSubstr("invalid_argument: bytes: got 6"));
  loader.write(0, zeros);
  EXPECT_THAT(error_of([&] { loader.write(0, std::span(zeros).first(4)); }),
              HasSubstr("at most the 0 remaining bytes"));
}

TEST(LoadLanguageModel, a_changed_description_cannot_write_beyond_a_parameter) {
  auto description = describe(recorded_files("gpt2"));
  description.weights[0].end += 4;
  EXPECT_THAT(error_of([&] { attn::LanguageModelLoader{description}; }),
              ::testing::AllOf(HasSubstr("shape_mismatch: tensor"), HasSubstr(" for shape (")));
}

TEST(LoadLanguageModel, a_changed_description_cannot_transpose_a_vector) {
  auto description = describe(recorded_files("gpt2"));
  const auto vector = std::ranges::find_if(
      description.weights, [](const auto& weight) { return weight.shape.size() == 1; });
  vector->transposed = true;
  EXPECT_THAT(error_of([&] { attn::LanguageModelLoader{description}; }),
              HasSubstr("needs rank 2, because it is stored transposed"));
}

TEST(LoadLanguageModel, a_changed_description_cannot_begin_at_a_row_that_does_not_exist) {
  for (const std::int64_t row : {std::int64_t{-1}, std::int64_t{1}, INT64_MAX}) {
    auto description = describe(recorded_files("gpt2"));
    description.weights[0].first_row = row;
    EXPECT_THAT(error_of([&] { attn::LanguageModelLoader{description}; }),
                HasSubstr("starting at row " + std::to_string(row)));
  }
}

TEST(LoadLanguageModel, a_changed_description_must_fill_each_row_once) {
  const auto description = describe(recorded_files("gpt2"));
  auto missing = description;
  missing.weights.pop_back();
  EXPECT_THAT(error_of([&] { attn::LanguageModelLoader{missing}; }),
              HasSubstr("got no tensor for row 0, needs one tensor for each row"));
  auto twice = description;
  twice.weights.push_back(description.weights[0]);
  EXPECT_THAT(error_of([&] { attn::LanguageModelLoader{twice}; }),
              HasSubstr("got more than one tensor for row 0, needs one tensor for each row"));
}

TEST(LoadLanguageModel, an_index_names_files_of_its_own_folder) {
  const auto files = [](const std::string& index) { return attn::safetensors_index_files(index); };
  EXPECT_THAT(
      files(
          R"({"metadata": {"total_size": 1, "x": [[{}]]}, "weight_map": {"a": "1", "b": "2", "c": "1"}})"),
      ElementsAre("1", "2"));
  for (const char* index :
       {"[]", "{}", R"({"weight_map": {"a": "../b"}})", R"({"weight_map": {"a": 1}})",
        R"({"weight_map": [1]})", R"({"weight_map": {"a": "b"})"}) {
    EXPECT_THAT(error_of([&] { files(index); }), HasSubstr("invalid_format: safetensors index"))
        << index;
  }
}

using LoadFromDisk = attn_test::ModelFolder;

TEST_F(LoadFromDisk, files_that_are_cut_off_or_missing_are_named) {
  EXPECT_EQ(error(), "not_found: files: got none, needs one or more .safetensors files");
  std::vector<std::byte> bytes = recorded_files("gpt2").files[0];
  const auto config = attn_test::bytes_of(attn_test::recorded_folder("gpt2") + "/config.json");
  write("config.json", config);
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{7}, std::size_t{100}, bytes.size() - 1}) {
    const auto end = bytes.begin() + static_cast<std::ptrdiff_t>(size);
    write("model.safetensors", std::vector(bytes.begin(), end));
    EXPECT_THAT(error(), HasSubstr("invalid_format: ")) << size;
  }
  bytes.push_back({});
  write("model.safetensors", bytes);
  EXPECT_THAT(error(), HasSubstr("1 bytes at the end of the data that belong to no tensor"));
  bytes.pop_back();
  write("model.safetensors", bytes);
  EXPECT_EQ(error(), "nothing");
  const std::string index = R"({"weight_map": {"a": "part.safetensors"}})";
  write("model.safetensors.index.json", index);
  EXPECT_EQ(error(), "nothing") << "one whole file precedes an index";
  std::filesystem::remove(folder / "model.safetensors");
  EXPECT_THAT(error(), AllOf(HasSubstr("file_error: path"), HasSubstr("part.safetensors")));
}

// ---- The model

TEST(LanguageModel, requesting_a_result_that_a_model_lacks_is_an_error) {
  const LanguageModel bert = load_recorded("bert_plain"), gpt2 = load_recorded("gpt2");
  const LanguageModel encoder = load_recorded("pytorch_encoder", {.num_heads = 3});
  const std::vector<std::int64_t> ids{1, 2, 3};
  attn::OwnedTensor logits({3, 27}), hidden({3, 15}), pooled({21});
  EXPECT_THAT(
      error_of([&] { bert.forward(ids, logits); }),
      HasSubstr(
          "unsupported: logits: got a model without an output layer, needs a model with one"));
  EXPECT_THAT(error_of([&] { bert.forward(ids, {}, {.pooled = pooled}); }),
              HasSubstr("unsupported: pooled"));
  EXPECT_THAT(error_of([&] { bert.make_caches(); }), HasSubstr("unsupported: make_caches"));
  EXPECT_THAT(error_of([&] { bert.generate(ids); }), HasSubstr("unsupported"));
  EXPECT_THAT(error_of([&] { encoder.forward(ids, {}); }), HasSubstr("unsupported: ids"));
  EXPECT_THAT(error_of([&] { gpt2.forward(ids, {}, {.token_types = ids}); }),
              HasSubstr("unsupported: token_types"));
  std::vector<attn::KeyValueCache> caches = gpt2.make_caches();
  EXPECT_THAT(error_of([&] { bert.forward(ids, {}, {.caches = caches}); }),
              HasSubstr("unsupported: caches"));
  EXPECT_THAT(error_of([&] { gpt2.forward(ids, logits); }), HasSubstr("shape_mismatch: logits"));
}

TEST(LanguageModel, tokens_beyond_vocabulary_and_positions_leave_caches_as_they_were) {
  const LanguageModel gpt2 = load_recorded("gpt2");
  std::vector<attn::KeyValueCache> caches = gpt2.make_caches();
  const std::vector<std::int64_t> ids(19, 3), bad{29};
  attn::LanguageModelCall call;
  call.caches = caches;
  attn::OwnedTensor logits({1, 29});
  EXPECT_THAT(error_of([&] { gpt2.forward(bad, logits, call); }),
              HasSubstr("invalid_argument: ids: got 29"));
  gpt2.forward(ids, logits, call);
  EXPECT_EQ(caches[1].length(), 19);
  EXPECT_THAT(error_of([&] { gpt2.forward(attn::IdView(ids).slice(0, 0, 1), logits, call); }),
              HasSubstr("invalid_argument"));
  EXPECT_EQ(caches[0].length(), 19);
  EXPECT_EQ(caches[1].length(), 19);
  EXPECT_THAT(
      error_of([&] { gpt2.generate(ids, {.max_new_tokens = 2}); }),
      HasSubstr("max_new_tokens: got 2, needs at most 1, because the model has 19 positions"));
  EXPECT_EQ(gpt2.generate(ids, {.max_new_tokens = 1}).size(), 1U);
}

TEST(LanguageModel, batches_equal_their_sequences) {
  for (const char* name : {"gpt2", "bert", "gemma2"}) {
    SCOPED_TRACE(name);
    const LanguageModel model = load_recorded(name);
    const std::int64_t v = model.options().vocab_size;
    const std::vector<std::int32_t> ids{1, 2, 3, 4, 9, 8, 7, 6};
    attn::OwnedTensor both({2, 2, v}), one({2, v});
    model.forward({ids.data(), {2, 4}}, both);
    for (int b = 0; b < 2; ++b) {
      model.forward({ids.data() + 4 * b, {4}}, one);
      const auto begin = both.values().begin() + b * 2 * v;
      EXPECT_TRUE(std::equal(one.values().begin(), one.values().end(), begin));
    }
  }
}

TEST(LanguageModel, options_that_contradict_each_other_are_rejected) {
  attn::LanguageModelOptions options{.vocab_size = 5, .max_positions = 4};
  options.stack.layer = {.d_model = 4, .dim_feedforward = 4};
  EXPECT_EQ(error_of([&] { LanguageModel{options}; }), "nothing");
  options.sinusoidal.emplace();
  EXPECT_THAT(error_of([&] { LanguageModel{options}; }), HasSubstr("invalid_argument: sinusoidal"));
  options.sinusoidal.reset();
  options.output = false;
  options.transform = attn::Activation::kGelu;
  EXPECT_THAT(error_of([&] { LanguageModel{options}; }), HasSubstr("invalid_argument: transform"));
}

TEST(ChooseToken, takes_the_largest_or_draws_by_the_stream) {
  const std::vector<float> logits{0.5F, 2, 2, -1, 1};
  const attn::ConstTensor view(logits.data(), {5});
  EXPECT_EQ(attn::choose_token(view), 1);
  const auto drawn = [&](double temperature, std::int64_t top_k) {
    std::vector<int> counts(5);
    for (std::int64_t step = 0; step < 20000; ++step) {
      ++counts[static_cast<std::size_t>(attn::choose_token(
          view, {.temperature = temperature, .top_k = top_k, .random = {.seed = 3}}, step))];
    }
    return counts;
  };
  double total = 0;
  for (const float logit : logits) total += std::exp(double{logit} / 0.7);
  const std::vector<int> all = drawn(0.7, 0);
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_NEAR(all[i] / 20000.0, std::exp(double{logits[i]} / 0.7) / total, 0.012) << i;
  }
  const std::vector<int> three = drawn(1, 3);
  EXPECT_EQ(three[0] + three[3], 0);
  EXPECT_GT(three[4], 0);
  EXPECT_THAT(drawn(5, 1), ElementsAre(0, 20000, 0, 0, 0));
  // Each step uses one random number of the stream. If that number is 0.4, for example, the step
  // chooses the token at which the cumulative probability passes 0.4.
  attn::OwnedTensor uniform({20});
  attn::fill_uniform(uniform, {.seed = 3});
  const std::vector<float> even(4, 1);
  for (std::int64_t step = 0; step < 20; ++step) {
    const auto token =
        attn::choose_token({even.data(), {4}}, {.temperature = 1, .random = {.seed = 3}}, step);
    EXPECT_EQ(token, static_cast<std::int64_t>(uniform(step) * 4));
  }
}

TEST(ChooseToken, rejects_invalid_arguments) {
  const std::vector<float> nan{1, NAN}, none(2, -INFINITY), some{1, INFINITY};
  const auto choose = [](const std::vector<float>& logits, const attn::SamplingOptions& options) {
    return attn::choose_token({logits.data(), {std::ssize(logits)}}, options);
  };
  EXPECT_THAT(error_of([&] { choose(nan, {}); }), HasSubstr("logits: got NaN at 1, needs numbers"));
  EXPECT_THAT(error_of([&] { choose(none, {}); }), HasSubstr("invalid_argument: logits"));
  EXPECT_THAT(error_of([&] { choose({}, {}); }), HasSubstr("invalid_argument"));
  EXPECT_THAT(error_of([&] { choose(some, {.temperature = -1}); }), HasSubstr("temperature"));
  EXPECT_THAT(error_of([&] { choose(some, {.top_k = -1}); }), HasSubstr("top_k"));
  EXPECT_EQ(choose(some, {.temperature = 1}), 1);
}

}  // namespace
