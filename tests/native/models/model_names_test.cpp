// Tests tensor names: names changed by wrappers around a model, and the name of the matrix that
// computes the logits.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "attn/models/language_model.hpp"
#include "attn/models/load_language_model.hpp"
#include "attn/owned_tensor.hpp"
#include "models/changed_models.hpp"

namespace {

using attn::LanguageModel;
using attn_test::ChangedTensors;
using attn_test::describe;
using attn_test::loading_error;
using attn_test::logits_of;
using attn_test::recorded_files;
using attn_test::RecordedFiles;
using attn_test::with;
using attn_test::with_config_of;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

RecordedFiles renamed(RecordedFiles files,
                      const std::function<std::string(const std::string&)>& rename) {
  for (auto& file : files.files) {
    ChangedTensors tensors(file);
    tensors.rename(rename);
    file = tensors.bytes();
  }
  return files;
}

RecordedFiles prefixed(const RecordedFiles& files, const std::string& prefix) {
  return renamed(files, [&](const std::string& name) { return prefix + name; });
}

attn::OwnedTensor random_matrix(std::int64_t rows, std::int64_t cols) {
  attn::OwnedTensor matrix({rows, cols});
  attn::fill_uniform(matrix, {.seed = 7});
  return matrix;
}

/// Checks that a model's logits equal its hidden vectors times the transpose of `head`.
void expect_logits_of_head(const LanguageModel& model, const attn::OwnedTensor& head) {
  const std::vector<std::int64_t> ids{1, 5, 3};
  const std::int64_t v = model.options().vocab_size, e = model.d_model();
  attn::OwnedTensor logits({3, v}), hidden({3, e});
  attn::LanguageModelCall call;
  call.hidden = hidden;
  model.forward(ids, logits, call);
  for (std::int64_t i = 0; i < 3; ++i) {
    for (std::int64_t j = 0; j < v; ++j) {
      double sum = 0;
      for (std::int64_t c = 0; c < e; ++c) sum += double{hidden(i, c)} * double{head(j, c)};
      EXPECT_NEAR(logits(i, j), sum, 1e-5) << i << ", " << j;
    }
  }
}

TEST(ModelNames, wrappers_around_a_model_change_nothing) {
  for (const auto& recorded : attn_test::recorded_models()) {
    const RecordedFiles files = recorded_files(recorded.name);
    const LanguageModel plain = attn_test::load_from_memory(files, recorded.hints);
    for (const char* prefix : {"module.", "_orig_mod.", "module._orig_mod.", "_orig_mod.module.",
                               "_fsdp_wrapped_module.", "module.net."}) {
      if (recorded.family == "attn" && std::string(prefix) == "module.net.") continue;
      SCOPED_TRACE(recorded.name + " as " + prefix);
      const RecordedFiles wrapped = prefixed(files, prefix);
      const LanguageModel model = attn_test::load_from_memory(wrapped, recorded.hints);
      ASSERT_EQ(model.parameter_names(), plain.parameter_names());
      for (const std::string& name : plain.parameter_names()) {
        attn::OwnedTensor got(plain.parameter_shape(name)), want(plain.parameter_shape(name));
        model.read_parameter(name, got);
        plain.read_parameter(name, want);
        EXPECT_TRUE(std::ranges::equal(got.values(), want.values())) << name;
      }
      const auto description = describe(wrapped, recorded.hints);
      EXPECT_EQ(description.family, recorded.family);
      EXPECT_TRUE(description.weights[0].tensor.starts_with(prefix));
    }
  }
}

TEST(ModelNames, wrappers_may_be_inside_a_model) {
  const RecordedFiles files = recorded_files("qwen3");
  const RecordedFiles wrapped = renamed(files, [](std::string name) {
    const std::string layer = "model.layers.1.";
    if (name.starts_with(layer)) name.insert(layer.size(), "_checkpoint_wrapped_module.");
    return name;
  });
  EXPECT_EQ(logits_of(attn_test::load_from_memory(wrapped, {})),
            logits_of(attn_test::load_from_memory(files, {})));
}

TEST(ModelNames, two_names_of_one_tensor_are_rejected) {
  const auto twice = with("gpt2", [](ChangedTensors& t) {
    t.all.emplace_back("module.wpe.weight", attn::OwnedTensor({19, 20}));
  });
  EXPECT_THAT(loading_error(twice),
              AllOf(HasSubstr("invalid_format: tensor"), HasSubstr("\"module.wpe.weight\"")));
  const auto two_models = with("bert_plain", [](ChangedTensors& t) {
    const auto copy = t.all;
    for (const auto& [name, values] : copy) {
      t.all.emplace_back("query." + name, attn::OwnedTensor(values.shape()));
    }
  });
  EXPECT_THAT(loading_error(two_models), HasSubstr("unsupported: tensors: got two models, with "
                                                   "\"embeddings.word_embeddings.weight\" and "
                                                   "\"query.embeddings.word_embeddings.weight\""));
}

TEST(ModelNames, an_untied_output_layer_is_found_under_a_prefix) {
  const attn::OwnedTensor head = random_matrix(29, 20);
  for (const char* prefix : {"", "module.", "_orig_mod.", "module._orig_mod.", "net."}) {
    SCOPED_TRACE(prefix);
    RecordedFiles files = with("gpt2", [&](ChangedTensors& t) {
      t.rename([&](const std::string& name) { return prefix + ("transformer." + name); });
      t.all.emplace_back(prefix + std::string("lm_head.weight"), head);
    });
    files =
        with_config_of(files, "\"vocab_size\"", "\"tie_word_embeddings\": false, \"vocab_size\"");
    const auto description = describe(files);
    EXPECT_FALSE(description.options.tied);
    EXPECT_THAT(description.warnings, IsEmpty());
    expect_logits_of_head(attn_test::load_from_memory(files, {}), head);
  }
}

TEST(ModelNames, an_output_layer_that_differs_from_a_tied_embedding_counts_with_a_warning) {
  const attn::OwnedTensor head = random_matrix(29, 20);
  const RecordedFiles gpt2 =
      with("gpt2", [&](ChangedTensors& t) { t.all.emplace_back("lm_head.weight", head); });
  EXPECT_THAT(describe(gpt2).warnings,
              ElementsAre("config.json: tie_word_embeddings is true, but the files have "
                          "\"lm_head.weight\", which attn uses for logits"));
  expect_logits_of_head(attn_test::load_from_memory(gpt2, {}), head);

  const attn::OwnedTensor other = random_matrix(33, 22);
  RecordedFiles gemma =
      with("gemma", [&](ChangedTensors& t) { t.all.emplace_back("lm_head.weight", other); });
  expect_logits_of_head(attn_test::load_from_memory(gemma, {}), other);
}

TEST(ModelNames, a_promised_output_layer_that_is_missing_is_a_warning) {
  const auto untied = [](const char* name, const char* before) {
    return with_config_of(recorded_files(name), before,
                          std::string("\"tie_word_embeddings\": false, ") + before);
  };
  RecordedFiles llama = recorded_files("llama");
  for (auto& file : llama.files) {
    ChangedTensors tensors(file);
    tensors.remove("lm_head.weight");
    file = tensors.bytes();
  }
  for (const auto& [files, head] :
       {std::pair{llama, "lm_head.weight"},
        {untied("gpt2", "\"vocab_size\""), "lm_head.weight"},
        {untied("bert", "\"vocab_size\""), "cls.predictions.decoder.weight"},
        {untied("roberta", "\"vocab_size\""), "lm_head.decoder.weight"},
        {untied("distilbert", "\"vocab_size\""), "vocab_projector.weight"}}) {
    const auto description = describe(files);
    EXPECT_FALSE(description.options.output) << head;
    EXPECT_FALSE(description.options.transform) << head;
    EXPECT_THAT(description.warnings,
                ElementsAre("config.json: tie_word_embeddings is false, but the files have no \"" +
                            std::string(head) + "\", so the model gives no logits"));
    EXPECT_EQ(loading_error(files), "nothing") << head;
  }
}

TEST(ModelNames, a_tied_model_may_be_saved_under_the_name_of_its_output_layer) {
  for (const auto& [name, embedding, head] :
       {std::tuple{"gpt2", "wte.weight", "lm_head.weight"},
        {"gpt_neo", "transformer.wte.weight", "lm_head.weight"},
        {"opt_projected", "model.decoder.embed_tokens.weight", "lm_head.weight"},
        {"gemma3", "model.embed_tokens.weight", "lm_head.weight"},
        {"bert", "bert.embeddings.word_embeddings.weight", "cls.predictions.decoder.weight"},
        {"roberta", "roberta.embeddings.word_embeddings.weight", "lm_head.decoder.weight"},
        {"distilbert", "distilbert.embeddings.word_embeddings.weight", "vocab_projector.weight"}}) {
    SCOPED_TRACE(name);
    const RecordedFiles files =
        renamed(recorded_files(name), [from = embedding, to = head](const std::string& tensor) {
          return tensor == from ? std::string(to) : tensor;
        });
    EXPECT_TRUE(describe(files).options.tied);
    EXPECT_EQ(logits_of(attn_test::load_from_memory(files, {})),
              logits_of(attn_test::load_from_memory(recorded_files(name), {})));
  }
}

TEST(ModelNames, the_outer_flag_of_a_model_of_text_and_pictures_takes_precedence) {
  RecordedFiles files = recorded_files("gemma3");
  files.config = R"({"model_type": "gemma3", "tie_word_embeddings": false, "text_config": )" +
                 files.config + "}";
  EXPECT_FALSE(describe(files).options.output);
  files = recorded_files("gemma3");
  files.config = R"({"model_type": "gemma3", "text_config": {"tie_word_embeddings": false, )" +
                 files.config.substr(files.config.find('{') + 1) + "}";
  EXPECT_TRUE(describe(files).options.tied);
}

TEST(ModelNames, the_bias_of_a_decoder_precedes_its_other_name) {
  const RecordedFiles files = with("bert", [](ChangedTensors& t) {
    attn::OwnedTensor bias({27});
    bias(3) = 100;
    t.all.emplace_back("cls.predictions.decoder.bias", bias);
  });
  EXPECT_GT(logits_of(attn_test::load_from_memory(files, {}))[3], 50);
}

TEST(ModelNames, adapters_are_rejected) {
  for (const char* name :
       {"h.0.attn.c_attn.lora_A.default.weight", "wte.lora_embedding_A.default",
        "h.0.attn.c_attn.lora_magnitude_vector.default.weight", "lm_head.original_module.weight",
        "lm_head.modules_to_save.default.weight", "lora_unet_attn.lora_down.weight",
        "prompt_embeddings"}) {
    const RecordedFiles files = with(
        "gpt2", [&](ChangedTensors& t) { t.all.emplace_back(name, attn::OwnedTensor({2, 20})); });
    EXPECT_THAT(loading_error(files),
                AllOf(HasSubstr("got weights of an adapter"), HasSubstr("merge_and_unload()")))
        << name;
  }
}

}  // namespace
