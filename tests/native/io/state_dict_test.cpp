#include "attn/io/state_dict.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "allocation.hpp"
#include "attn/layers/linear.hpp"
#include "attn/layers/multi_head_attention.hpp"
#include "attn/layers/transformer_encoder.hpp"
#include "attn/owned_tensor.hpp"
#include "compare.hpp"
#include "layers/transformer_layer.hpp"
#include "module_values.hpp"
#include "random.hpp"

namespace {

using attn::Linear;
using attn::NamedTensor;
using attn::Safetensors;
using attn_test::error_of;
using attn_test::Random;
using attn_test::values_of;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

void set(attn::Module& module, Random& random) {
  for (const std::string& name : module.parameter_names()) {
    const std::vector<float> values =
        random.normals(static_cast<std::int64_t>(values_of(module, name).size()));
    module.set_parameter(name, {values.data(), module.parameter(name).shape()});
  }
}

Safetensors saved(const attn::Module& module, std::string_view prefix = "") {
  return Safetensors::own(attn::to_safetensors(attn::state_dict(module, prefix)));
}

TEST(StateDictTest, layers_of_todays_models_are_saved_and_loaded) {
  Random random;
  for (const attn::TransformerLayerOptions& options : attn_test::todays_layers()) {
    attn::TransformerEncoder source({.final_norm = true, .layers = {options, options}});
    attn::TransformerEncoder target({.final_norm = true, .layers = {options, options}});
    set(source, random);
    attn::load_state_dict(target, saved(source, "model."), "model.");
    const std::vector<float> x = random.normals(3 * options.d_model);
    std::vector<float> a(x.size()), b(x.size());
    source.forward({x.data(), {3, options.d_model}}, {a.data(), {3, options.d_model}});
    target.forward({x.data(), {3, options.d_model}}, {b.data(), {3, options.d_model}});
    EXPECT_TRUE(attn_test::same_bits(a, b));
  }
}

TEST(StateDictTest, what_was_saved_is_loaded) {
  Random random;
  attn::MultiHeadAttention source({.d_model = 6, .num_heads = 2, .bias = true});
  attn::MultiHeadAttention target({.d_model = 6, .num_heads = 2, .bias = true});
  set(source, random);
  const attn::IncompatibleKeys keys = attn::load_state_dict(target, saved(source));
  EXPECT_THAT(keys.missing_keys, IsEmpty());
  EXPECT_THAT(keys.unexpected_keys, IsEmpty());
  for (const std::string& name : source.parameter_names()) {
    EXPECT_EQ(values_of(target, name), values_of(source, name)) << name;
  }
  // The layer computes with the loaded parameters.
  const std::vector<float> x = random.normals(3 * 6);
  std::vector<float> a(18), b(18);
  source.forward({x.data(), {3, 6}}, {x.data(), {3, 6}}, {x.data(), {3, 6}}, {a.data(), {3, 6}});
  target.forward({x.data(), {3, 6}}, {x.data(), {3, 6}}, {x.data(), {3, 6}}, {b.data(), {3, 6}});
  EXPECT_TRUE(attn_test::same_bits(a, b));
}

TEST(StateDictTest, weights_of_two_bytes_are_saved_and_loaded_bit_by_bit) {
  Random random;
  for (const auto type : {attn::ElementType::kFloat16, attn::ElementType::kBFloat16}) {
    const attn::TransformerLayerOptions options{
        .d_model = 6, .num_heads = 2, .dim_feedforward = 9, .weights = type};
    attn::TransformerEncoderLayer source(options), target(options), floats([&] {
      attn::TransformerLayerOptions wide = options;
      wide.weights = {};
      return wide;
    }());
    source.initialize_xavier(3);
    const Safetensors file = saved(source, "a.");
    for (const std::string& name : source.parameter_names()) {
      const bool is_matrix = source.parameter_shape(name).size() == 2;
      const char* const short_type = type == attn::ElementType::kFloat16 ? "F16" : "BF16";
      EXPECT_EQ(file.entry("a." + name).dtype, is_matrix ? short_type : "F32") << name;
    }
    // Writing the loaded parameters gives the same bytes.
    attn::load_state_dict(target, file, "a.");
    EXPECT_EQ(attn::to_safetensors(attn::state_dict(target)),
              attn::to_safetensors(attn::state_dict(source)));
    attn::load_state_dict(floats, file, "a.");
    for (const std::string& name : source.parameter_names()) {
      attn::OwnedTensor exact(source.parameter_shape(name));
      source.read_parameter(name, exact);
      EXPECT_TRUE(std::ranges::equal(exact.values(), values_of(floats, name))) << name;
    }
    // A state stays valid after the layer changes or is destroyed.
    std::vector<NamedTensor> state;
    std::vector<std::byte> bytes;
    {
      Linear linear(3, 2, false, type);
      linear.initialize_xavier(5);
      state = attn::state_dict(linear);
      bytes = attn::to_safetensors(state);
      linear.initialize_xavier(6);
    }
    EXPECT_EQ(attn::to_safetensors(state), bytes);
  }
}

TEST(StateDictTest, names_and_shapes_match_pytorch) {
  const attn::MultiHeadAttention layer({.d_model = 6, .num_heads = 2, .bias = true});
  const Safetensors file = saved(layer, "encoder.self_attn.");
  EXPECT_THAT(file.entry("encoder.self_attn.in_proj_weight").shape, ElementsAre(18, 6));
  EXPECT_THAT(file.entry("encoder.self_attn.in_proj_bias").shape, ElementsAre(18));
  EXPECT_THAT(file.entry("encoder.self_attn.out_proj.weight").shape, ElementsAre(6, 6));
  EXPECT_THAT(file.entry("encoder.self_attn.out_proj.bias").shape, ElementsAre(6));
}

TEST(StateDictTest, a_prefix_picks_a_part_of_a_model) {
  Random random;
  Linear first(2, 3), second(2, 3), target(2, 3);
  set(first, random);
  set(second, random);
  std::vector<NamedTensor> all = attn::state_dict(first, "layers.0.");
  for (NamedTensor& tensor : attn::state_dict(second, "layers.1.")) all.push_back(tensor);
  const Safetensors file = Safetensors::own(attn::to_safetensors(all));
  attn::load_state_dict(target, file, "layers.1.");
  EXPECT_EQ(values_of(target, "weight"), values_of(second, "weight"));
  EXPECT_EQ(values_of(target, "bias"), values_of(second, "bias"));
}

TEST(StateDictTest, half_precision_is_converted) {
  const std::string header = R"({"weight":{"dtype":"BF16","shape":[1,2],"data_offsets":[0,4]}})";
  std::vector<std::byte> bytes;
  for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<std::byte>(i == 0 ? header.size() : 0));
  for (const char c : header) bytes.push_back(static_cast<std::byte>(c));
  for (const int byte : {0x80, 0x3F, 0x00, 0xC0}) bytes.push_back(static_cast<std::byte>(byte));
  Linear layer(2, 1, false);
  attn::load_state_dict(layer, Safetensors::view(bytes));
  EXPECT_THAT(values_of(layer, "weight"), ElementsAre(1.0F, -2.0F));
}

TEST(StateDictTest, missing_and_unexpected_names_are_listed) {
  Random random;
  Linear source(2, 3, false), target(2, 3);
  set(source, random);
  set(target, random);
  const std::vector<float> before = values_of(target, "weight");
  std::vector<NamedTensor> tensors = attn::state_dict(source);
  tensors.push_back({"scale", source.parameter("weight")});
  const Safetensors file = Safetensors::own(attn::to_safetensors(tensors));
  EXPECT_EQ(error_of([&] { attn::load_state_dict(target, file); }),
            "not_found: state_dict: got no bias and the unexpected scale, needs exactly this "
            "module's parameters");
  EXPECT_EQ(
      error_of([&] { attn::load_state_dict(source, file); }),
      "not_found: state_dict: got the unexpected scale, needs exactly this module's parameters");
  EXPECT_EQ(error_of([&] { attn::load_state_dict(target, file, "layers.0."); }),
            "not_found: state_dict: got no layers.0.weight, layers.0.bias, needs exactly this "
            "module's parameters");
  EXPECT_EQ(values_of(target, "weight"), before);

  const attn::IncompatibleKeys keys = attn::load_state_dict(target, file, "", false);
  EXPECT_THAT(keys.missing_keys, ElementsAre("bias"));
  EXPECT_THAT(keys.unexpected_keys, ElementsAre("scale"));
  EXPECT_EQ(values_of(target, "weight"), values_of(source, "weight"));
}

TEST(StateDictTest, long_lists_of_names_are_cut) {
  Linear layer(2, 3, false);
  std::vector<NamedTensor> tensors = attn::state_dict(layer);
  for (int i = 10; i < 30; ++i) {
    tensors.push_back({std::string("x").append(std::to_string(i)), layer.parameter("weight")});
  }
  const Safetensors file = Safetensors::own(attn::to_safetensors(tensors));
  const std::string error = error_of([&] { attn::load_state_dict(layer, file); });
  EXPECT_THAT(error, ::testing::StartsWith("not_found: state_dict: got the unexpected x10, x11, "));
  EXPECT_THAT(error,
              ::testing::EndsWith(", x17 and 12 more, needs exactly this module's parameters"));
}

TEST(StateDictTest, nothing_is_set_when_one_tensor_does_not_fit) {
  Random random;
  Linear target(2, 3);
  set(target, random);
  const std::vector<float> before = values_of(target, "weight"), other(12, 9.0F);
  const Safetensors file = Safetensors::own(attn::to_safetensors(
      std::vector<NamedTensor>{{"weight", {other.data(), {3, 2}}}, {"bias", {other.data(), {4}}}}));
  for (const bool strict : {true, false}) {
    EXPECT_EQ(error_of([&] { attn::load_state_dict(target, file, "", strict); }),
              "shape_mismatch: bias: got shape (4), needs shape (3)");
  }
  EXPECT_EQ(values_of(target, "weight"), before);
}

TEST(StateDictTest, nothing_is_set_when_a_dtype_cannot_be_read) {
  const std::string header = R"({"bias":{"dtype":"I64","shape":[1],"data_offsets":[0,8]},)"
                             R"("weight":{"dtype":"F32","shape":[1,1],"data_offsets":[8,12]}})";
  std::vector<std::byte> bytes;
  for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<std::byte>(i == 0 ? header.size() : 0));
  for (const char c : header) bytes.push_back(static_cast<std::byte>(c));
  bytes.resize(bytes.size() + 12, std::byte{0x3F});
  Linear layer(1, 1);
  EXPECT_EQ(error_of([&] { attn::load_state_dict(layer, Safetensors::view(bytes)); }),
            "unsupported: tensor \"bias\": got dtype I64, needs F32, F16, BF16 or F64 to be "
            "read as float32");
  EXPECT_THAT(values_of(layer, "weight"), ElementsAre(0.0F));
}

TEST(StateDictTest, running_out_of_memory_sets_nothing) {
  const std::vector<float> numbers(6, 9.0F);
  const Safetensors file = Safetensors::own(attn::to_safetensors(std::vector<NamedTensor>{
      {"weight", {numbers.data(), {3, 2}}}, {"bias", {numbers.data(), {3}}}}));
  Linear layer(2, 3);
  bool untouched = true;
  EXPECT_GE(attn_test::out_of_memory_failures([&] {
              const std::vector<float> before = values_of(layer, "weight");
              try {
                attn::load_state_dict(layer, file);
              } catch (...) {
                untouched = untouched && layer.parameter("weight")(0, 0) == before[0];
                throw;
              }
            }),
            1);
  EXPECT_TRUE(untouched);
  const Linear stored(2, 3, true, attn::ElementType::kBFloat16);
  EXPECT_GE(attn_test::out_of_memory_failures([&] { (void)attn::state_dict(stored); }), 1);
}

}  // namespace
