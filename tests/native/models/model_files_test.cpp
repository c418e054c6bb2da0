// Tests which files in a model's folder attn reads, how it interprets their contents, and which
// errors explain unsuitable files.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "attn/models/language_model.hpp"
#include "attn/models/load_language_model.hpp"
#include "attn/owned_tensor.hpp"
#include "compare.hpp"
#include "io/safetensors_file.hpp"
#include "models/changed_models.hpp"
#include "models/model_folder.hpp"

namespace {

using attn::LanguageModel;
using attn_test::ChangedTensors;
using attn_test::describe;
using attn_test::error_of;
using attn_test::load_from_memory;
using attn_test::loading_error;
using attn_test::logits_of;
using attn_test::recorded_files;
using attn_test::RecordedFiles;
using attn_test::with;
using attn_test::with_config;
using attn_test::with_config_of;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

namespace fs = std::filesystem;

using ModelFiles = attn_test::ModelFolder;

std::vector<float> recorded_logits(const std::string& name) {
  return logits_of(attn_test::load_recorded(name));
}

TEST_F(ModelFiles, an_index_decides_between_two_files_with_a_tensor) {
  const RecordedFiles files = recorded_files("gpt2");
  std::vector<std::byte> other =
      with("gpt2", [](ChangedTensors& t) {
        std::erase_if(t.all, [](const auto& tensor) { return tensor.first != "ln_f.weight"; });
        std::ranges::fill(t.at("ln_f.weight").values(), 0.5F);
      }).files[0];
  const std::vector<float> want_other = logits_of(load_from_memory(
      with("gpt2",
           [](ChangedTensors& t) { std::ranges::fill(t.at("ln_f.weight").values(), 0.5F); }),
      {}));
  write("config.json", files.config);
  write("1.safetensors", files.files[0]);
  write("2.safetensors", other);
  const auto index = [](const char* norm) {
    return std::string(R"({"metadata": {}, "weight_map": {"wte.weight": "1.safetensors",
                           "wpe.weight": "2.safetensors", "ln_f.weight": ")") +
           norm + "\"}}";
  };
  write("model.safetensors.index.json", index("1.safetensors"));
  EXPECT_EQ(logits(), recorded_logits("gpt2"));
  write("model.safetensors.index.json", index("2.safetensors"));
  EXPECT_EQ(logits(), want_other);
  fs::remove(folder / "model.safetensors.index.json");
  EXPECT_THAT(error(), HasSubstr("tensor \"ln_f.weight\": got copies in two files"));

  const RecordedFiles both = {{files.files[0], other}, files.config};
  EXPECT_THAT(error_of([&] {
                attn::describe_language_model(both.headers(), both.config, {},
                                              R"({"weight_map": {"a": "1"}})");
              }),
              HasSubstr("invalid_argument: files: got 2, needs 1; pass the files that the index "
                        "names"));
}

TEST_F(ModelFiles, a_missing_part_is_named_with_and_without_an_index) {
  write_model("llama");
  const std::vector<float> want = recorded_logits("llama");
  EXPECT_EQ(logits(), want) << "all parts, without an index";
  fs::remove(folder / "model-00001-of-00002.safetensors");
  EXPECT_EQ(error(),
            "not_found: files: got no \"model-00001-of-00002.safetensors\", needs all 2 parts of "
            "the model");
  write("model.safetensors.index.json", R"({"weight_map": {
      "a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}})");
  // The error shortens long paths.
  EXPECT_THAT(error(), AllOf(HasSubstr("file_error: path"), HasSubstr("model-00001-of-00002.saf"),
                             HasSubstr("\" (missing, although model.safetensors.index.json names "
                                       "it)")));
  EXPECT_EQ(error("model-00002-of-00002.safetensors"),
            "unsupported: \"model-00002-of-00002.safetensors\": got one of 2 parts, needs the "
            "folder with all parts");
}

TEST_F(ModelFiles, the_numbers_of_parts_may_have_any_width) {
  // DeepSeek-V3's weight files have names such as "model-00001-of-000002.safetensors".
  const RecordedFiles files = recorded_files("llama");
  write("config.json", files.config);
  write("model-00001-of-000002.safetensors", files.files[0]);
  EXPECT_EQ(error(),
            "not_found: files: got no \"model-00002-of-000002.safetensors\", needs all 2 parts of "
            "the model");
  write("model-00002-of-000002.safetensors", files.files[1]);
  EXPECT_EQ(logits(), recorded_logits("llama"));
}

TEST_F(ModelFiles, thousands_of_parts_are_checked_in_linear_time) {
  for (int i = 1; i <= 3000; ++i) {
    const std::string digits = std::to_string(i);
    write("model-" + std::string(5 - digits.size(), '0') + digits + "-of-03000.safetensors",
          std::string());
  }
  EXPECT_THAT(error(), HasSubstr("\"model-00001-of-03000.safetensors\", safetensors: got 0 bytes"));
  fs::remove(folder / "model-01234-of-03000.safetensors");
  EXPECT_THAT(error(), HasSubstr("got no \"model-01234-of-03000.safetensors\""));
}

TEST_F(ModelFiles, hidden_files_of_other_systems_are_ignored) {
  write_model("llama");
  for (const char* name : {"._model-00001-of-00002.safetensors", "._config.json", ".DS_Store"}) {
    write(name, std::string("Mac OS X"));
  }
  EXPECT_EQ(logits(), recorded_logits("llama"));
}

TEST_F(ModelFiles, a_cache_of_hugging_face_gives_its_snapshot) {
  write_model("gpt2", "snapshots/0f1e/");
  fs::create_directories(folder / "blobs");
  EXPECT_EQ(logits(), recorded_logits("gpt2"));
  write_model("qwen3", "snapshots/ab12/");
  EXPECT_THAT(error(), AllOf(HasSubstr("file_error: path"),
                             HasSubstr("with the snapshots \"0f1e\", \"ab12\"")));
  write("refs/main", std::string("ab12\n"));
  EXPECT_EQ(logits(), recorded_logits("qwen3"));
  write("refs/main", std::string("0f1e"));
  EXPECT_EQ(logits(), recorded_logits("gpt2"));
  EXPECT_EQ(logits("snapshots/ab12"), recorded_logits("qwen3"));
}

TEST_F(ModelFiles, files_of_a_cache_may_be_symbolic_links_to_its_blobs) {
  for (const std::string model : {"gpt2", "llama"}) {
    fs::remove_all(folder);
    write_model(model, "snapshots/0f1e/");
    write("refs/main", std::string("0f1e"));
    fs::create_directories(folder / "blobs");
    const fs::path snapshot = folder / "snapshots" / "0f1e";
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(snapshot)) files.push_back(entry.path());
    for (std::size_t i = 0; i < files.size(); ++i) {
      const std::string blob = "b10b" + std::to_string(i);
      fs::rename(files[i], folder / "blobs" / blob);
      std::error_code failure;
      fs::create_symlink(fs::path("..") / ".." / "blobs" / blob, files[i], failure);
      if (failure) GTEST_SKIP() << "no symbolic links: " << failure.message();
    }
    const std::vector<float> want = recorded_logits(model);
    EXPECT_EQ(logits(), want);
    EXPECT_EQ(logits("snapshots/0f1e"), want);
    if (model == "gpt2") {
      EXPECT_EQ(logits("snapshots/0f1e/model.safetensors"), want);
    }
  }
}

TEST_F(ModelFiles, files_without_weights_are_explained) {
  const auto explained = [&](const std::vector<std::string>& names) {
    fs::remove_all(folder);
    for (const std::string& name : names) write(name, std::string("x"));
    return error();
  };
  EXPECT_EQ(explained({"adapter_config.json", "adapter_model.safetensors", "tokenizer.json"}),
            "not_found: files: got an adapter without .safetensors files, needs a whole model; "
            "merge the adapter with PEFT's merge_and_unload() and save the result");
  EXPECT_EQ(explained({"config.json", "pytorch_model.bin"}),
            "not_found: files: got a PyTorch checkpoint without .safetensors files, needs a "
            ".safetensors file and tokenizer.json, which this Python code saves in the folder "
            "\"converted\"; for BERT, use AutoModelForMaskedLM, and for T5 or Marian, "
            "AutoModelForSeq2SeqLM\n\n"
            "from transformers import AutoModelForCausalLM, AutoTokenizer\n"
            "AutoModelForCausalLM.from_pretrained(\"folder\").save_pretrained(\"converted\")\n"
            "AutoTokenizer.from_pretrained(\"folder\").save_pretrained(\"converted\")");
  EXPECT_THAT(
      explained({"model-Q4_K_M.gguf"}),
      AllOf(HasSubstr("got a GGUF file"), HasSubstr("\n\nfrom transformers import "),
            HasSubstr("(\"folder\", gguf_file=\"name.gguf\").save_pretrained(\"converted\")\n")));
  EXPECT_THAT(explained({"ckpt.pt"}), HasSubstr("got a PyTorch checkpoint"));
  EXPECT_THAT(explained({"model.onnx"}), HasSubstr("got an ONNX model"));
  EXPECT_THAT(explained({"tf_model.h5"}), HasSubstr("got TensorFlow weights"));
  EXPECT_THAT(explained({"vocab.txt"}), HasSubstr("got a tokenizer's vocabulary"));
  EXPECT_THAT(explained({"tokenizer.model"}), HasSubstr("got a SentencePiece tokenizer"));
  EXPECT_THAT(explained({"source.spm", "target.spm"}), HasSubstr("got a SentencePiece tokenizer"));
  EXPECT_THAT(explained({"config.json", "pytorch_model-00001-of-00002.bin",
                         "pytorch_model-00002-of-00002.bin", "pytorch_model.bin.index.json"}),
              HasSubstr("got a PyTorch checkpoint without"));
  EXPECT_THAT(explained({"config.json"}), HasSubstr("got a configuration without"));
  EXPECT_THAT(explained({"adapter_model.bin"}), HasSubstr("got an adapter"));
  EXPECT_THAT(explained({"config.json", "model.safetensors.crdownload"}),
              HasSubstr("got an unfinished download without .safetensors files, needs the complete "
                        "files; download them again"));
  EXPECT_THAT(explained({"config.json", "model.safetensors.incomplete"}),
              HasSubstr("got an unfinished download"));
  EXPECT_THAT(explained({"model.zip"}), HasSubstr("got an archive"));
  EXPECT_THAT(explained({"model.tar.gz"}), HasSubstr("needs the files inside; unpack it first"));
  EXPECT_THAT(explained({"model.fp16.safetensors.index.json", "config.json"}),
              HasSubstr("got an index without .safetensors files"));
  EXPECT_THAT(explained({"vocab.json", "merges.txt"}), HasSubstr("a tokenizer's vocabulary"));
  EXPECT_THAT(explained({"spiece.model"}), HasSubstr("got a SentencePiece tokenizer"));
  EXPECT_THAT(explained({"a.txt", "b.txt"}), HasSubstr("files: got \"a.txt\", \"b.txt\", needs"));
  EXPECT_THAT(explained({"pytorch_model.bin"}), HasSubstr("got a PyTorch checkpoint"));
  EXPECT_THAT(error("pytorch_model.bin"),
              HasSubstr("unsupported: \"pytorch_model.bin\": got a PyTorch checkpoint, needs"));
  EXPECT_THAT(error("no.gguf"), HasSubstr("unsupported: \"no.gguf\": got a GGUF file"));
}

TEST_F(ModelFiles, files_in_other_formats_are_named_with_their_path) {
  write_model("gpt2");
  const std::string pointer =
      "version https://git-lfs.github.com/spec/v1\noid "
      "sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f"
      "32b1258daaa5e2ca24d17e2393\nsize 12345\n";
  write("model.safetensors", pointer);
  EXPECT_THAT(error(),
              HasSubstr("invalid_format: \"model.safetensors\", safetensors: got a Git LFS "
                        "pointer"));
  write("model.safetensors", std::string("<!DOCTYPE html><html></html>"));
  EXPECT_THAT(error(), HasSubstr("\"model.safetensors\", safetensors: got a web page"));
  write_model("gpt2");
  write("config.json", pointer);
  EXPECT_THAT(error(), HasSubstr("invalid_format: config.json: got a Git LFS pointer, which"));
  write("config.json", std::string("<html>"));
  EXPECT_THAT(error(), HasSubstr("config.json: got a web page"));
  // Some texts are responses that servers send instead of a file. Others are left by tools in place
  // of the real file. One is a compressed file.
  const std::pair<std::string, std::string> others[] = {
      {"Entry not found", "plain text, such as a server's error message"},
      {"Access to model x is restricted. You must be authenticated to access it.", "plain text"},
      {"Invalid username or password.", "plain text"},
      {"# xet version 0\nfilesize = 5\n", "a Xet pointer"},
      {"/annex/objects/SHA256E-s5--0a.safetensors\n", "a git-annex pointer"},
      {"\x1F\x8B\x08\x08 gzip", "a compressed file (gzip)"},
  };
  for (const auto& [text, kind] : others) {
    write_model("gpt2");
    write("config.json", text);
    EXPECT_THAT(error(), HasSubstr("config.json: got " + kind));
    write("model.safetensors", text);
    EXPECT_THAT(error(), HasSubstr("\"model.safetensors\", safetensors: got " + kind));
  }
  write_model("gpt2");
  write("config.json", std::string("\xFF\xFE{\0}\0", 6));
  EXPECT_THAT(error(), HasSubstr("config.json: got text in UTF-16, needs UTF-8"));
  fs::remove(folder / "model.safetensors");
  write("model.safetensors.index.json", pointer);
  EXPECT_THAT(error(), HasSubstr("safetensors index: got a Git LFS pointer"));
}

TEST(ModelContents, a_byte_order_mark_and_pythons_numbers_are_read) {
  RecordedFiles files = recorded_files("gpt2");
  const std::vector<float> want = logits_of(load_from_memory(files, {}));
  files.config = "\xEF\xBB\xBF" + files.config;
  EXPECT_EQ(logits_of(load_from_memory(files, {})), want);
  files = with_config("gpt2", "\"vocab_size\"", R"("a": NaN, "b": [-Infinity, Infinity, 1e-05],
      "model_max_length": 1000000000000000019884624838656, "resid_pdrop": 1E+2,
      "time_step_limit": [0.0, {"__float__": "Infinity"}], "vocab_size")");
  EXPECT_EQ(logits_of(load_from_memory(files, {})), want);
  EXPECT_THAT(
      describe(files).unused_fields,
      ElementsAre("architectures", "a", "b", "model_max_length", "resid_pdrop", "time_step_limit"));
  for (const char* number : {"NaN", "Infinity", "-Infinity", "1e999"}) {
    EXPECT_THAT(loading_error(with_config("gpt2", "1e-05", number)),
                HasSubstr(std::string("\"layer_norm_epsilon\": got ") + number +
                          ", needs a finite number"));
  }
  EXPECT_THAT(loading_error(with_config("gpt2", "1e-05", "Inf")), HasSubstr("invalid_format"));
  EXPECT_THAT(loading_error(with_config("gpt2", "1e-05", "[1e-05]")),
              HasSubstr("\"layer_norm_epsilon\": got an array, needs a number"));
  EXPECT_THAT(loading_error(with_config("gpt2", "29", "1000000000000000019884624838656")),
              HasSubstr("needs a whole number"));
  EXPECT_THAT(attn::safetensors_index_files("\xEF\xBB\xBF"
                                            R"({"weight_map": {"a": "1"}})"),
              ElementsAre("1"));
}

TEST(ModelContents, long_names_and_many_names_take_memory_and_time_in_proportion) {
  std::string zeros = "0";
  for (int i = 1; i < 100000; ++i) zeros += ",0";
  const std::string key(1 << 20, 'k');
  const RecordedFiles files =
      with_config("gpt2", "\"vocab_size\"", "\"" + key + "\": [" + zeros + "], \"vocab_size\"");
  EXPECT_THAT(describe(files).unused_fields, ElementsAre("architectures", key));

  std::string index = R"({"weight_map": {)";
  for (int i = 0; i < 100000; ++i) {
    const std::string number = std::to_string(i);
    index += (i > 0 ? ",\"" : "\"") + number + "\":\"file" + number + "\"";
  }
  EXPECT_EQ(attn::safetensors_index_files(index + "}}").size(), 100000U);
}

TEST(ModelContents, a_configuration_may_have_many_layers_with_long_names) {
  const std::string prefix(50000, 'x');
  std::string header =
      "{\"" + prefix + R"(.wte.weight":{"dtype":"F32","shape":[1,4],"data_offsets":[0,16]})";
  for (int i = 0; i < 20000; ++i) {
    header += ",\"" + std::to_string(i) + R"(":{"dtype":"F32","shape":[0],"data_offsets":[16,16]})";
  }
  const RecordedFiles files = {
      {attn_test::safetensors_file(header + "}", 16)},
      R"({"model_type": "gpt2", "n_embd": 4, "n_head": 1, "n_layer": 20000, "vocab_size": 1,
          "n_positions": 1})"};
  EXPECT_THAT(loading_error(files), HasSubstr("not_found"));
}

TEST(ModelContents, a_name_of_many_parts_takes_time_in_proportion) {
  std::string prefix;
  for (int i = 0; i < 50000; ++i) prefix += "a.";
  RecordedFiles files = with("gpt2", [&](ChangedTensors& t) {
    t.rename([&](const std::string& name) { return prefix + name; });
  });
  EXPECT_EQ(logits_of(load_from_memory(files, {})), recorded_logits("gpt2"));
}

TEST(ModelContents, weights_of_float64_are_rounded) {
  const RecordedFiles files = recorded_files("gpt2");
  const ChangedTensors tensors(files.files[0]);
  std::string header = "{";
  std::vector<double> values;
  for (const auto& [name, tensor] : tensors.all) {
    std::string shape;
    for (const std::int64_t size : tensor.shape()) {
      shape += (shape.empty() ? "" : ",") + std::to_string(size);
    }
    const std::size_t begin = 8 * values.size();
    // The factor changes each value by less than half a unit in the last place of a float.
    for (const float value : tensor.values()) values.push_back(double{value} * (1 + 0x1p-26));
    header += (header.size() > 1 ? ",\"" : "\"") + name + R"(":{"dtype":"F64","shape":[)" + shape +
              R"(],"data_offsets":[)" + std::to_string(begin) + "," +
              std::to_string(8 * values.size()) + "]}";
  }
  RecordedFiles wide = files;
  wide.files[0] = attn_test::safetensors_file(header + "}");
  const std::size_t at = wide.files[0].size();
  wide.files[0].resize(at + 8 * values.size());
  std::memcpy(wide.files[0].data() + at, values.data(), 8 * values.size());
  EXPECT_EQ(logits_of(load_from_memory(wide, {}, 8 * 7)), logits_of(load_from_memory(files, {})));
  EXPECT_EQ(describe(wide).options.weights.type, attn::ElementType::kFloat32);
  values.back() = 1e300;
  std::memcpy(wide.files[0].data() + at, values.data(), 8 * values.size());
  EXPECT_THAT(loading_error(wide), HasSubstr("got an infinite number"));
}

TEST(ModelContents, gpt2_in_the_layout_of_nanogpt_is_transposed) {
  const auto transpose = [](ChangedTensors& t) {
    for (auto& [name, values] : t.all) {
      if (!name.ends_with("attn.c_attn.weight") && !name.ends_with("c_proj.weight") &&
          !name.ends_with("c_fc.weight")) {
        continue;
      }
      attn::OwnedTensor turned({values.shape()[1], values.shape()[0]});
      for (std::int64_t i = 0; i < turned.shape()[0]; ++i) {
        for (std::int64_t j = 0; j < turned.shape()[1]; ++j) turned(i, j) = values(j, i);
      }
      values = std::move(turned);
    }
  };
  const std::vector<float> want = logits_of(load_from_memory(recorded_files("gpt2"), {}));
  EXPECT_EQ(logits_of(load_from_memory(with("gpt2", transpose), {})), want);

  const auto is_bias = [](const std::string& name) {
    return name.ends_with(".bias") && !name.ends_with(".attn.bias");
  };
  const auto zero = with("gpt2", [&](ChangedTensors& t) {
    for (auto& [name, values] : t.all) {
      if (is_bias(name)) std::ranges::fill(values.values(), 0.0F);
    }
  });
  const std::vector<float> unbiased = logits_of(load_from_memory(zero, {}));
  RecordedFiles nano = with("gpt2", [&](ChangedTensors& t) {
    transpose(t);
    std::erase_if(t.all, [&](const auto& tensor) { return is_bias(tensor.first); });
  });
  EXPECT_EQ(logits_of(load_from_memory(nano, {})), unbiased);
  EXPECT_THAT(describe(nano).warnings, IsEmpty());

  // Without a configuration, nanoGPT's activation is used unless the caller passes another
  // activation.
  nano.config.clear();
  const attn::LanguageModelHints tanh = {.num_heads = 4, .activation = attn::Activation::kGeluTanh};
  EXPECT_EQ(logits_of(load_from_memory(nano, tanh)), unbiased);
  EXPECT_THAT(describe(nano, tanh).warnings, IsEmpty());
  const auto assumed = describe(nano, {.num_heads = 4});
  EXPECT_EQ(assumed.options.stack.layers[0].activation, attn::Activation::kGelu);
  EXPECT_THAT(assumed.warnings, ElementsAre(HasSubstr("nanoGPT")));

  // Some biases are missing, so the tensors match neither layout.
  const auto some = with("gpt2", [&](ChangedTensors& t) {
    transpose(t);
    t.remove("h.1.mlp.c_fc.bias");
  });
  EXPECT_THAT(loading_error(some), HasSubstr("got no \"h.1.mlp.c_fc.bias\""));
  const auto unbiased_conv1d = with("gpt2", [&](ChangedTensors& t) {
    std::erase_if(t.all, [&](const auto& tensor) { return is_bias(tensor.first); });
  });
  EXPECT_THAT(loading_error(unbiased_conv1d), HasSubstr("not_found: tensors: got no"));
}

TEST(ModelConfigurations, fields_of_other_families_have_no_effect_or_are_rejected) {
  const auto with_field = [](const char* name, const std::string& field) {
    return with_config_of(recorded_files(name), "\"model_type\"", field + ", \"model_type\"");
  };
  // Adds fields that the family's class in Transformers does not have.
  for (const auto& [name, field] : {std::pair{"llama", R"("query_pre_attn_scalar": 7)"},
                                    {"llama", R"("attn_logit_softcapping": 7.0)"},
                                    {"llama", R"("final_logit_softcapping": 7.0)"},
                                    {"llama", R"("layer_types": ["sliding_attention"])"},
                                    {"mistral", R"("layer_types": ["full_attention"])"},
                                    {"qwen2", R"("final_logit_softcapping": 7.0)"},
                                    {"distilbert", R"("layer_norm_eps": 0.5)"}}) {
    SCOPED_TRACE(field);
    const RecordedFiles files = with_field(name, field);
    EXPECT_EQ(logits_of(load_from_memory(files, {})),
              logits_of(load_from_memory(recorded_files(name), {})));
    const std::string_view quoted = field;
    EXPECT_THAT(describe(files).unused_fields,
                ::testing::Contains(quoted.substr(1, quoted.find('"', 1) - 1)));
  }
  for (const auto& [name, field] :
       {std::pair{"qwen2", R"("attention_bias": true)"},
        {"qwen2", R"("mlp_bias": true)"},
        {"gemma2", R"("mlp_bias": true)"},
        {"bert", R"("pruned_heads": {"0": [1]})"},
        {"llama", R"("per_layer_config": {"0": {"sliding_window": 4}})"}}) {
    EXPECT_THAT(loading_error(with_field(name, field)), HasSubstr("unsupported: config.json"))
        << field;
  }
  EXPECT_EQ(loading_error(with_field("bert", R"("pruned_heads": {})")), "nothing");
  // Python treats None as false.
  const RecordedFiles null_flag = with_field("gpt2", R"("tie_word_embeddings": null)");
  EXPECT_FALSE(describe(null_flag).options.output);
  EXPECT_THAT(describe(null_flag).warnings, ElementsAre(HasSubstr("the model gives no logits")));
  // The field may also be in the outer configuration, which contains the configuration of the text
  // model.
  RecordedFiles gemma3 = recorded_files("gemma3");
  gemma3.config = R"({"model_type": "gemma3", "quantization_config": {"bits": 4},
                      "text_config": )" +
                  gemma3.config + "}";
  EXPECT_THAT(loading_error(gemma3), HasSubstr("\"quantization_config\": got an object"));
  gemma3 = recorded_files("gemma3");
  gemma3.config =
      R"({"model_type": "gemma3", "sliding_window": 2, "text_config": )" + gemma3.config + "}";
  EXPECT_EQ(logits_of(load_from_memory(gemma3, {})),
            logits_of(load_from_memory(recorded_files("gemma3"), {})));
}

TEST(ModelConfigurations, other_names_of_fields_are_read) {
  const RecordedFiles gpt2 = with_config_of(
      with_config_of(with_config_of(with_config("gpt2", "\"n_embd\"", "\"hidden_size\""),
                                    "\"n_head\"", "\"num_attention_heads\""),
                     "\"n_layer\"", "\"num_hidden_layers\""),
      "\"n_positions\"", "\"max_position_embeddings\"");
  EXPECT_EQ(logits_of(load_from_memory(gpt2, {})),
            logits_of(load_from_memory(recorded_files("gpt2"), {})));
  const RecordedFiles distilbert =
      with_config_of(with_config_of(with_config("distilbert", "\"dim\"", "\"hidden_size\""),
                                    "\"n_heads\"", "\"num_attention_heads\""),
                     "\"n_layers\"", "\"num_hidden_layers\"");
  EXPECT_EQ(logits_of(load_from_memory(distilbert, {})),
            logits_of(load_from_memory(recorded_files("distilbert"), {})));
  EXPECT_FLOAT_EQ(describe(with_config("roberta", "\"layer_norm_eps\"", "\"former_eps\""))
                      .options.stack.layer.layer_norm_eps,
                  1e-12F);
}

TEST(ModelConfigurations, an_architecture_distinguishes_roberta_from_bert) {
  RecordedFiles files = with_config("roberta", "\"model_type\": \"roberta\",", "");
  ChangedTensors tensors(files.files[0]);
  tensors.rename([](std::string name) {
    const std::string prefix = "roberta.";
    return name.starts_with(prefix) ? name.substr(prefix.size()) : name;
  });
  files.files[0] = tensors.bytes();
  EXPECT_EQ(describe(files).family, "roberta");
  EXPECT_EQ(logits_of(load_from_memory(files, {})), recorded_logits("roberta"));
}

TEST(ModelConfigurations, quantised_weights_are_recognised_without_a_configuration) {
  const auto error_with = [](const char* tensor) {
    return loading_error(with(
        "gpt2", [&](ChangedTensors& t) { t.all.emplace_back(tensor, attn::OwnedTensor({1})); }));
  };
  for (const char* name : {"h.0.attn.c_attn.qweight", "h.0.attn.c_attn.weight_scale_inv",
                           "h.0.mlp.c_fc.weight.absmax", "h.0.mlp.c_fc.SCB"}) {
    EXPECT_THAT(error_with(name), HasSubstr("got part of quantised weights, needs weights in F32"))
        << name;
  }
  // MLX packs eight quantised numbers into each 32-bit number.
  const RecordedFiles mlx = {
      {attn_test::safetensors_file(
          R"({"model.layers.0.self_attn.q_proj.weight":{"dtype":"U32","shape":[2],"data_offsets":[0,8]},)"
          R"("model.layers.0.self_attn.q_proj.scales":{"dtype":"F16","shape":[0],"data_offsets":[8,8]}})",
          8)},
      recorded_files("llama").config};
  EXPECT_THAT(loading_error(mlx), HasSubstr("got part of quantised weights"));
  EXPECT_THAT(loading_error(with_config("llama", "\"model_type\"",
                                        R"("quantization": {"group_size": 64}, "model_type")")),
              HasSubstr("\"quantization\": got an object, needs none"));
}

TEST(ModelConfigurations, gemma_1_uses_hidden_act) {
  using attn::Activation;
  const struct {
    const char *hidden_act, *hidden_activation;
    Activation activation;
    const char* warning;
  } cases[] = {
      {"\"gelu_pytorch_tanh\"", "null", Activation::kGeluTanh, nullptr},
      {"\"gelu_pytorch_tanh\"", "\"gelu_pytorch_tanh\"", Activation::kGeluTanh, nullptr},
      {"\"silu\"", "null", Activation::kSilu, nullptr},
      {"null", "null", Activation::kGeluTanh, nullptr},
      {"\"gelu\"", "null", Activation::kGelu,
       "hidden_act is \"gelu\", which attn computes exactly"},
      {"\"gelu\"", "\"gelu_pytorch_tanh\"", Activation::kGelu, "hidden_activation differs"},
  };
  for (const auto& c : cases) {
    const std::string act = "\"hidden_act\": ", activation = "\"hidden_activation\": ";
    SCOPED_TRACE(act + c.hidden_act + ", " + activation + c.hidden_activation);
    const auto model = describe(
        with_config_of(with_config("gemma", act + "\"gelu_pytorch_tanh\"", act + c.hidden_act),
                       activation + "null", activation + c.hidden_activation));
    EXPECT_EQ(model.options.stack.layers[0].activation, c.activation);
    if (c.warning) {
      EXPECT_THAT(model.warnings, ElementsAre(HasSubstr(c.warning)));
    } else {
      EXPECT_THAT(model.warnings, IsEmpty());
    }
  }
}

}  // namespace
