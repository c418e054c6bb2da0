// Tests interventions: each must equal the same change made by hand.

#include "attn/layers/interventions.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "allocation.hpp"
#include "attn/attn.hpp"
#include "compare.hpp"
#include "layers/transformer_layer.hpp"
#include "random.hpp"

namespace {

using attn::Ablation;
using attn::ConstTensor;
using attn::Intermediates;
using attn::Interventions;
using attn::OwnedTensor;
using attn::Tensor;
using attn::TransformerEncoder;
using attn_test::error_of;
using attn_test::Random;
using attn_test::randomize;
using ::testing::Each;

constexpr std::int64_t kTokens = 5;

const attn::TransformerLayerOptions kPostNorm{.d_model = 8, .num_heads = 2, .dim_feedforward = 12};

attn::TransformerLayerOptions pre_norm() {
  attn::TransformerLayerOptions options = kPostNorm;
  options.norm_first = true;
  return options;
}

/// Post-norm, pre-norm and parallel layers, plain and gated feed-forward networks, norms of outputs
/// and of heads, and a window with a scale and a bias in the last projection only.
std::vector<attn::TransformerLayerOptions> all_layers() {
  std::vector<attn::TransformerLayerOptions> layers = attn_test::todays_layers();
  layers.push_back(kPostNorm);
  layers.push_back(pre_norm());
  layers.push_back(pre_norm());
  layers.back().parallel_residual = true;  // GPT-NeoX
  layers.back().positions = {.rotary = attn::RotaryEmbeddingOptions{.rotary_dim = 2}};
  layers.push_back(pre_norm());
  layers.back().attention_bias = false;  // GPT-Neo
  layers.back().attention_output_bias = true;
  layers.back().scale = 1;
  layers.back().window = attn::Window{.left = 2};
  return layers;
}

OwnedTensor normals(const std::vector<std::int64_t>& shape, Random& random) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  return {shape, random.normals(count)};
}

std::vector<float> numbers(const ConstTensor& values) {
  if (values.rank() == 0) return {*values.data()};
  std::vector<float> result;
  for (std::int64_t i = 0; i < values.size(0); ++i) {
    if (values.rank() == 1) {
      result.push_back(values(i));
    } else {
      const std::vector<float> rest = numbers(values.select(0, i));
      result.insert(result.end(), rest.begin(), rest.end());
    }
  }
  return result;
}

/// Runs a stack, with causal attention, and returns its output.
std::vector<float> run(const TransformerEncoder& encoder, const ConstTensor& x,
                       const Interventions* interventions, Intermediates* shown = nullptr,
                       attn::Context& context = attn::Context::default_context()) {
  OwnedTensor y(std::vector<std::int64_t>(x.shape().begin(), x.shape().end()));
  encoder.forward(
      x, y, {.attention = {.causal = true}, .intermediates = shown, .interventions = interventions},
      context);
  return numbers(y);
}

TransformerEncoder stack(const attn::TransformerLayerOptions& layer, Random& random) {
  TransformerEncoder encoder({.layer = layer, .num_layers = 2, .final_norm = layer.norm_first});
  randomize(encoder, random);
  return encoder;
}

TEST(InterventionsTest, an_empty_set_changes_no_bit) {
  Random random;
  const Interventions none;
  EXPECT_TRUE(none.empty());
  for (const auto& options : all_layers()) {
    const TransformerEncoder encoder = stack(options, random);
    const OwnedTensor x = normals({2, kTokens, options.d_model}, random);
    EXPECT_TRUE(attn_test::same_bits(run(encoder, x, &none), run(encoder, x, nullptr)));
  }
}

TEST(InterventionsTest, patching_any_value_with_itself_changes_no_bit) {
  Random random;
  for (const auto& options : all_layers()) {
    const TransformerEncoder encoder = stack(options, random);
    for (const bool batched : {true, false}) {
      const OwnedTensor all = normals({2, kTokens, options.d_model}, random);
      const ConstTensor x = batched ? ConstTensor(all) : ConstTensor(all).select(0, 1);
      const std::vector<std::string> names = Interventions::names_of(encoder);
      Intermediates shown(names);
      const std::vector<float> plain = run(encoder, x, nullptr, &shown);
      for (const std::string& name : names) {
        SCOPED_TRACE(name);
        const ConstTensor values = shown[name];
        Interventions whole;
        whole.patch(name, values);
        EXPECT_TRUE(attn_test::same_bits(run(encoder, x, &whole), plain));

        const int rows = batched ? 1 : 0;
        const bool by_head = values.rank() == rows + 3;
        const bool by_token = name.ends_with("_norm.output") && by_head;
        const int tokens = by_head && !by_token ? rows + 1 : rows;
        const int heads = by_token ? rows + 1 : rows;
        Interventions parts;
        for (std::int64_t i = 0; i < kTokens; ++i) {
          parts.patch(name, values.select(tokens, i), {.position = i});
          if (!by_head) continue;
          for (std::int64_t h = 0; h < values.size(heads); ++h) {
            const ConstTensor head = values.select(heads, h);
            parts.patch(name, head, {.head = h});
            parts.patch(name, head.select(rows, i), {.head = h, .position = i});
          }
        }
        EXPECT_TRUE(attn_test::same_bits(run(encoder, x, &parts), plain));
      }
    }
  }
}

TEST(InterventionsTest, patching_the_stream_at_one_position_replaces_its_row_between_two_layers) {
  Random random;
  for (const auto& options : all_layers()) {
    const TransformerEncoder encoder = stack(options, random);
    const OwnedTensor x = normals({2, kTokens, options.d_model}, random);
    const OwnedTensor row = normals({2, options.d_model}, random);
    for (const std::string name : {"layers.0.output", "layers.1.resid_pre"}) {
      Interventions cut;
      cut.patch(name, row, {.position = 3});
      Intermediates shown({"layers.1.resid_pre", "layers.1.output"});
      run(encoder, x, &cut, &shown);

      OwnedTensor h({2, kTokens, options.d_model}), y = h;
      const attn::TransformerEncoderLayerCall causal{.attention = {.causal = true}};
      encoder.layers()[0].forward(x, h, causal);
      for (std::int64_t b = 0; b < 2; ++b) {
        for (std::int64_t c = 0; c < options.d_model; ++c) h(b, 3, c) = row(b, c);
      }
      encoder.layers()[1].forward(h, y, causal);
      EXPECT_TRUE(attn_test::same_bits(numbers(shown["layers.1.resid_pre"]), numbers(h)));
      EXPECT_TRUE(attn_test::same_bits(numbers(shown["layers.1.output"]), numbers(y)));
    }
  }
}

TEST(InterventionsTest, a_patch_changes_only_later_positions_of_a_causal_stack) {
  Random random;
  const TransformerEncoder encoder = stack(pre_norm(), random);
  const OwnedTensor x = normals({kTokens, 8}, random);
  Interventions cut;
  cut.patch("layers.0.resid_mid", normals({8}, random), {.position = 2});
  const std::vector<float> plain = run(encoder, x, nullptr), changed = run(encoder, x, &cut);
  for (std::size_t i = 0; i < plain.size(); ++i) {
    EXPECT_EQ(plain[i] == changed[i], i < 2 * 8) << i;
  }
}

TEST(InterventionsTest, ablating_a_head_is_like_zeroing_its_columns_of_the_output_projection) {
  Random random;
  for (const auto& options : all_layers()) {
    TransformerEncoder encoder = stack(options, random);
    const OwnedTensor x = normals({2, kTokens, options.d_model}, random);
    const std::int64_t head_dim = options.head_dim.value_or(options.d_model / options.num_heads);
    const std::int64_t head = options.num_heads - 1;
    Interventions cut;
    cut.ablate("layers.1.self_attn.head_output", Ablation::kZero, {.head = head});
    const std::vector<float> ablated = run(encoder, x, &cut);
    EXPECT_NE(ablated, run(encoder, x, nullptr));
    encoder.update_parameters([&](const attn::Parameter& parameter) {
      if (parameter.name != "layers.1.self_attn.out_proj.weight") return;
      for (std::int64_t i = 0; i < options.d_model; ++i) {
        for (std::int64_t d = 0; d < head_dim; ++d) {
          parameter.values(i, head * head_dim + d) = 0;
        }
      }
    });
    EXPECT_EQ(ablated, run(encoder, x, nullptr));
  }
}

TEST(InterventionsTest, ablating_what_a_layer_adds_leaves_the_stream) {
  Random random;
  for (const auto& options : all_layers()) {
    const TransformerEncoder encoder = stack(options, random);
    const OwnedTensor x = normals({2, kTokens, options.d_model}, random);
    Interventions cut;
    cut.ablate("layers.0.attn_out");
    cut.ablate("layers.0.mlp_out");
    Intermediates shown({"layers.0.resid_mid", "layers.0.output"});
    run(encoder, x, &cut, &shown);
    EXPECT_EQ(numbers(shown["layers.0.resid_mid"]), numbers(x));
    if (options.norm_first || options.norm_outputs) {
      EXPECT_EQ(numbers(shown["layers.0.output"]), numbers(x));
    }
  }
}

TEST(InterventionsTest, the_values_added_to_the_stream_are_intermediates) {
  Random random;
  for (const auto& options : all_layers()) {
    const TransformerEncoder encoder = stack(options, random);
    const OwnedTensor x = normals({2, kTokens, options.d_model}, random);
    Intermediates shown(
        {"layers.0.resid_mid", "layers.0.attn_out", "layers.0.mlp_out", "layers.0.resid_post"});
    run(encoder, x, nullptr, &shown);
    std::vector<float> sum = numbers(x);
    const std::vector<float> attended = numbers(shown["layers.0.attn_out"]);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += attended[i];
    EXPECT_TRUE(attn_test::same_bits(numbers(shown["layers.0.resid_mid"]), sum));
    if (!options.norm_first && !options.norm_outputs) continue;
    const std::vector<float> fed = numbers(shown["layers.0.mlp_out"]);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += fed[i];
    EXPECT_TRUE(attn_test::same_bits(numbers(shown["layers.0.resid_post"]), sum));
  }
}

/// Expects that the tokens of `got` (B, N, E) are the mean of the tokens of `plain`, rounded once.
void expect_mean(const ConstTensor& got, const ConstTensor& plain,
                 std::optional<std::int64_t> position = {}) {
  for (std::int64_t b = 0; b < plain.size(0); ++b) {
    for (std::int64_t c = 0; c < plain.size(2); ++c) {
      double mean = 0;
      for (std::int64_t i = 0; i < plain.size(1); ++i) mean += double{plain(b, i, c)};
      mean /= static_cast<double>(plain.size(1));
      for (std::int64_t i = 0; i < plain.size(1); ++i) {
        const double want = position && i != *position ? double{plain(b, i, c)} : mean;
        EXPECT_NEAR(double{got(b, i, c)}, want, std::abs(want) * 0x1.001p-24);
      }
    }
  }
}

TEST(InterventionsTest, a_mean_is_computed_in_double_precision_and_rounded_once) {
  Random random;
  for (const auto& options : all_layers()) {
    const TransformerEncoder encoder = stack(options, random);
    const OwnedTensor x = normals({2, kTokens, options.d_model}, random);
    const std::string heads = "layers.0.self_attn.head_output";
    for (const std::string name : {"layers.0.attn_out", "layers.0.hidden", "layers.0.mlp_out"}) {
      for (const std::optional<std::int64_t> position : {std::optional<std::int64_t>(), {4}}) {
        Intermediates plain({name}), shown({name});
        run(encoder, x, nullptr, &plain);
        Interventions cut;
        cut.ablate(name, Ablation::kMean, {.position = position});
        run(encoder, x, &cut, &shown);
        expect_mean(shown[name], plain[name], position);
      }
    }
    Intermediates plain({heads}), shown({heads});
    run(encoder, x, nullptr, &plain);
    Interventions cut;
    cut.ablate(heads, Ablation::kMean, {.head = 0});
    run(encoder, x, &cut, &shown);
    expect_mean(shown[heads].select(1, 0), plain[heads].select(1, 0));
    for (std::int64_t h = 1; h < options.num_heads; ++h) {
      EXPECT_EQ(numbers(shown[heads].select(1, h)), numbers(plain[heads].select(1, h)));
    }
  }
}

TEST(InterventionsTest, changes_are_made_in_the_order_in_which_they_were_added) {
  Random random;
  const TransformerEncoder encoder = stack(kPostNorm, random);
  const OwnedTensor x = normals({kTokens, 8}, random), row = normals({8}, random);
  Interventions cut;
  cut.patch("layers.0.resid_mid", row, {.position = 0});
  cut.ablate("layers.0.resid_mid");
  cut.patch("layers.0.resid_mid", row, {.position = 2});
  Intermediates shown({"layers.0.resid_mid"});
  run(encoder, x, &cut, &shown);
  for (std::int64_t i = 0; i < kTokens; ++i) {
    for (std::int64_t c = 0; c < 8; ++c) {
      EXPECT_EQ(shown["layers.0.resid_mid"](i, c), i == 2 ? row(c) : 0);
    }
  }
}

/// Attention over 2 entries of 5 tokens, with 4 query heads and 2 heads of keys and values.
struct Attention {
  Random random;
  attn::MultiHeadAttention layer{{.d_model = 8, .num_heads = 4, .num_kv_heads = 2, .bias = true}};
  OwnedTensor x, v;
  Attention() {
    randomize(layer, random);
    x = normals({2, kTokens, 8}, random);
  }
  std::vector<float> forward(const attn::AttentionOptions& options,
                             const Interventions* interventions, Intermediates* shown = nullptr) {
    OwnedTensor y({2, kTokens, 8});
    layer.forward(x, x, x, y,
                  {.attention = options, .intermediates = shown, .interventions = interventions});
    return numbers(y);
  }
};

TEST(InterventionsTest, a_knockout_has_the_same_bits_as_a_mask) {
  Attention attention;
  Interventions cut;
  cut.knock_out("", {}, 4, 1);
  cut.knock_out("", 2, 3, 0);
  cut.knock_out("", 2, 3, 2);
  std::vector<std::uint8_t> given(2 * 1 * 5 * 5);
  for (std::size_t i = 0; i < given.size(); ++i) given[i] = i % 7 != 0;
  const auto is_cut = [](std::int64_t h, std::int64_t i, std::int64_t j) {
    return (i == 4 && j == 1) || (h == 2 && i == 3 && (j == 0 || j == 2));
  };
  for (const bool causal : {false, true}) {
    for (const attn::ConstMask& mask :
         {attn::ConstMask(), attn::ConstMask(given.data(), {5, 5}),
          attn::ConstMask(given.data(), {5, 1}), attn::ConstMask(given.data(), {2, 1, 5, 5}),
          attn::ConstMask(given.data(), {5, 3})}) {
      std::vector<std::uint8_t> whole(2 * 4 * 5 * 5);
      for (std::int64_t b = 0; b < 2; ++b) {
        for (std::int64_t h = 0; h < 4; ++h) {
          for (std::int64_t i = 0; i < 5; ++i) {
            for (std::int64_t j = 0; j < 5; ++j) {
              const bool attends = mask.is_none()      ? true
                                   : mask.rank() == 4  ? mask(b, 0, i, j) != 0
                                   : mask.size(1) == 1 ? mask(i, 0) != 0
                                   : j >= mask.size(1) ? false
                                                       : mask(i, j) != 0;
              whole[static_cast<std::size_t>(((b * 4 + h) * 5 + i) * 5 + j)] =
                  attends && !is_cut(h, i, j);
            }
          }
        }
      }
      attn::AttentionOptions by_hand{.causal = causal}, options{.causal = causal};
      by_hand.mask = attn::ConstMask(whole.data(), {2, 4, 5, 5});
      options.mask = mask;
      EXPECT_TRUE(attn_test::same_bits(attention.forward(options, &cut),
                                       attention.forward(by_hand, nullptr)));
    }
  }
}

TEST(InterventionsTest, a_knockout_normalises_the_other_weights_again) {
  Attention attention;
  Interventions cut;
  cut.knock_out("", 1, 4, 2);
  Intermediates plain({"weights", "v"}), shown({"weights", "head_output", "output"});
  const attn::AttentionOptions causal{.causal = true};
  attention.forward(causal, nullptr, &plain);
  attention.forward(causal, &cut, &shown);
  const ConstTensor before = plain["weights"], after = shown["weights"], v = plain["v"];
  for (std::int64_t b = 0; b < 2; ++b) {
    for (std::int64_t h = 0; h < 4; ++h) {
      for (std::int64_t i = 0; i < kTokens; ++i) {
        const bool is_cut = h == 1 && i == 4;
        std::vector<double> weights;
        for (std::int64_t j = 0; j < kTokens; ++j) {
          const double kept = is_cut && j == 2 ? 0 : double{before(b, h, i, j)};
          weights.push_back(is_cut ? kept / (1 - double{before(b, h, i, 2)}) : kept);
          EXPECT_NEAR(double{after(b, h, i, j)}, weights.back(), 1e-6);
        }
        for (std::int64_t d = 0; d < 2; ++d) {
          double sum = 0;
          for (std::int64_t j = 0; j < kTokens; ++j) {
            sum += weights[static_cast<std::size_t>(j)] * double{v(b, h / 2, j, d)};
          }
          EXPECT_NEAR(double{shown["head_output"](b, h, i, d)}, sum, attn_test::kTransformerError);
        }
      }
    }
  }
}

TEST(InterventionsTest, a_query_without_keys_gets_zeros) {
  Attention attention;
  Interventions cut;
  for (std::int64_t key = 0; key < kTokens; ++key) cut.knock_out("", 3, 1, key);
  Intermediates shown({"weights", "head_output"});
  attention.forward({}, &cut, &shown);
  EXPECT_THAT(numbers(shown["weights"].select(1, 3).select(1, 1)), Each(0.0F));
  EXPECT_THAT(numbers(shown["head_output"].select(1, 3).select(1, 1)), Each(0.0F));
}

TEST(InterventionsTest, threads_may_share_an_object_and_give_the_same_bits) {
  if (attn::Context({.num_threads = 3}).num_threads() < 3) GTEST_SKIP() << "there are no threads";
  Random random;
  const TransformerEncoder encoder = stack(pre_norm(), random);
  const OwnedTensor x = normals({2, 700, 8}, random);
  Interventions cut;
  cut.ablate("layers.0.self_attn.head_output", Ablation::kMean, {.head = 1});
  cut.knock_out("layers.1.self_attn", {}, 600, 3);
  cut.patch("layers.0.hidden", normals({2, 12}, random), {.position = 650});
  attn::Context one({.num_threads = 1});
  const std::vector<float> want = run(encoder, x, &cut, nullptr, one);
  std::vector<std::vector<float>> got(3);
  std::vector<std::thread> threads;
  for (std::vector<float>& result : got) {
    threads.emplace_back([&] {
      attn::Context three({.num_threads = 3});
      result = run(encoder, x, &cut, nullptr, three);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::vector<float>& result : got) EXPECT_TRUE(attn_test::same_bits(result, want));
  EXPECT_NE(run(encoder, x, nullptr, nullptr, one), want);
}

TEST(InterventionsTest, the_output_of_a_layer_may_have_any_element_type) {
  Random random;
  attn::TransformerEncoderLayer layer(pre_norm());
  randomize(layer, random);
  const OwnedTensor x = normals({kTokens, 8}, random);
  Interventions cut;
  cut.patch("output", x);
  std::vector<attn::BFloat16> y(kTokens * 8), want = y;
  const attn::AnyTensor to(attn::TensorView<attn::BFloat16>(y.data(), {kTokens, 8}));
  layer.forward(x, to, {.interventions = &cut});
  const std::vector<float> values = numbers(x);
  for (std::size_t i = 0; i < y.size(); ++i) {
    EXPECT_EQ(static_cast<float>(y[i]), static_cast<float>(attn::BFloat16(values[i])));
  }
}

TEST(InterventionsTest, no_interventions_take_no_memory) {
  attn::Context context({.num_threads = 1});
  const TransformerEncoder encoder({.layer = kPostNorm, .num_layers = 2});
  OwnedTensor x({1, kTokens, 8});
  const Interventions none;
  attn_test::expect_no_allocations(
      [&] { encoder.forward(x, x, {.interventions = &none}, context); });
}

/// Expects an error that leaves the output unchanged, and returns it.
std::string error_with(const TransformerEncoder& encoder, const Interventions& cut) {
  const OwnedTensor x({2, kTokens, 8});
  std::vector<float> y(2 * kTokens * 8, 77.0F);
  const std::string error = error_of(
      [&] { encoder.forward(x, Tensor(y.data(), {2, kTokens, 8}), {.interventions = &cut}); });
  EXPECT_THAT(y, Each(77.0F));
  return error;
}

TEST(InterventionsErrorTest, a_wrong_name_is_an_error_that_suggests_the_nearest) {
  const TransformerEncoder encoder({.layer = kPostNorm, .num_layers = 2});
  Interventions ablation, patch, stage, knockout;
  ablation.ablate("layers.1.self_atn.head_output");
  EXPECT_EQ(
      error_with(encoder, ablation),
      "not_found: ablate: got \"layers.1.self_atn.head_output\", needs a value that a call can "
      "change, such as \"layers.1.self_attn.q\", \"layers.1.self_attn.k\", "
      "\"layers.1.self_attn.v\", \"layers.1.self_attn.head_output\", "
      "\"layers.1.self_attn.output\"; the nearest is \"layers.1.self_attn.head_output\"");
  patch.patch("layers.2.output", OwnedTensor({2, kTokens, 8}));
  EXPECT_EQ(error_with(encoder, patch),
            "not_found: patch: got \"layers.2.output\", needs a value that a call can change, such "
            "as \"layers.0.resid_pre\", \"layers.0.attn_out\", \"layers.0.resid_mid\", "
            "\"layers.0.mlp_out\", \"layers.0.resid_post\", \"layers.0.output\", "
            "\"layers.0.hidden\"; the nearest is \"layers.0.output\"");
  stage.ablate("layers.0.self_attn.weights");
  EXPECT_THAT(error_with(encoder, stage), ::testing::StartsWith("not_found: ablate: got"));
  knockout.knock_out("layers.1", {}, 0, 0);
  EXPECT_EQ(error_with(encoder, knockout),
            "not_found: knock_out: got \"layers.1\", needs an attention layer: "
            "\"layers.0.self_attn\", \"layers.1.self_attn\"; the nearest is "
            "\"layers.1.self_attn\"");
}

TEST(InterventionsErrorTest, a_wrong_head_or_position_is_an_error_with_the_valid_range) {
  const TransformerEncoder encoder({.layer = kPostNorm, .num_layers = 2});
  const std::string heads = "layers.1.self_attn.head_output";
  const auto ablate = [&](const std::string& name, const attn::ValuePart& part) {
    Interventions cut;
    cut.ablate(name, Ablation::kZero, part);
    return error_with(encoder, cut);
  };
  EXPECT_EQ(ablate(heads, {.head = 2}),
            "invalid_argument: head: got 2, needs 0 to 1 in \"" + heads + "\"");
  EXPECT_EQ(ablate(heads, {.head = -1}),
            "invalid_argument: head: got -1, needs 0 to 1 in \"" + heads + "\"");
  EXPECT_EQ(ablate("layers.1.norm2.output", {.position = 5}),
            "invalid_argument: position: got 5, needs 0 to 4 in \"layers.1.norm2.output\"");
  EXPECT_EQ(ablate("layers.1.output", {.head = 0}),
            "invalid_argument: head: got 0, needs none; \"layers.1.output\" has no heads");
  const auto knock_out = [&](std::optional<std::int64_t> head, std::int64_t query,
                             std::int64_t key) {
    Interventions cut;
    cut.knock_out("layers.1.self_attn", head, query, key);
    return error_with(encoder, cut);
  };
  EXPECT_EQ(knock_out(2, 0, 0),
            "invalid_argument: head: got 2, needs 0 to 1 in \"layers.1.self_attn\"");
  EXPECT_EQ(knock_out({}, 5, 0),
            "invalid_argument: query: got 5, needs 0 to 4 in \"layers.1.self_attn\"");
  EXPECT_EQ(knock_out({}, 0, -1),
            "invalid_argument: key: got -1, needs 0 to 4 in \"layers.1.self_attn\"");
}

TEST(InterventionsErrorTest, values_of_a_wrong_shape_are_an_error) {
  const TransformerEncoder encoder({.layer = kPostNorm, .num_layers = 2});
  Interventions whole, row;
  whole.patch("layers.1.resid_post", OwnedTensor({kTokens, 8}));
  EXPECT_EQ(error_with(encoder, whole),
            "shape_mismatch: layers.1.resid_post: got shape (5, 8), needs shape (2, 5, 8)");
  row.patch("layers.1.self_attn.q", OwnedTensor({2, 2, 8}), {.position = 1});
  EXPECT_EQ(error_with(encoder, row),
            "shape_mismatch: layers.1.self_attn.q: got shape (2, 2, 8), needs shape (2, 2, 4)");
  Interventions empty;
  EXPECT_NE(error_of([&] { empty.patch("output", ConstTensor()); }), "");
  EXPECT_TRUE(empty.empty());
}

TEST(InterventionsErrorTest, caches_tapes_and_rounded_norms_are_not_supported) {
  const TransformerEncoder encoder({.layer = kPostNorm, .num_layers = 2, .final_norm = true});
  Interventions cut;
  cut.ablate("layers.0.output");
  std::vector<attn::KeyValueCache> caches = encoder.make_caches(2);
  const OwnedTensor x({2, kTokens, 8});
  OwnedTensor y({2, kTokens, 8});
  const std::string no_cache =
      "unsupported: interventions: got interventions and a cache, needs a call without a cache, "
      "with the whole sequence";
  EXPECT_EQ(error_of([&] { encoder.forward(x, y, {.caches = caches, .interventions = &cut}); }),
            no_cache);
  EXPECT_EQ(caches[0].length(), 0);
  const attn::TransformerEncoderLayer& layer = encoder.layers()[0];
  EXPECT_EQ(error_of([&] { layer.forward(x, y, {.cache = caches.data(), .interventions = &cut}); }),
            no_cache);
  attn::Tape tape;
  EXPECT_EQ(
      error_of([&] { encoder.forward(tape.variable(x), {.interventions = &cut}); }),
      "invalid_argument: interventions: got a value, needs none when a tape records the call");
  Interventions norm;
  norm.ablate("norm.output");
  std::vector<attn::Float16> rounded(2 * kTokens * 8);
  const attn::AnyTensor to(attn::TensorView<attn::Float16>(rounded.data(), {2, kTokens, 8}));
  EXPECT_EQ(error_of([&] { encoder.forward(x, to, {.interventions = &norm}); }),
            "unsupported: norm.output: got a change of an output that is not float32, needs an "
            "output of type float32");
}

TEST(InterventionsErrorTest, pairs_of_packed_sequences_cannot_be_knocked_out) {
  const TransformerEncoder encoder({.layer = kPostNorm, .num_layers = 2});
  Interventions cut;
  cut.knock_out("layers.1.self_attn", {}, 1, 0);
  const std::vector<std::int64_t> starts{0, 2, kTokens};
  attn::AttentionOptions attention;
  attention.cu_seqlens = starts;
  const OwnedTensor x({kTokens, 8});
  OwnedTensor y({kTokens, 8});
  EXPECT_EQ(
      error_of([&] { encoder.forward(x, y, {.attention = attention, .interventions = &cut}); }),
      "invalid_argument: knock_out: got some pairs, needs none, because cu_seqlens is set");
}

TEST(InterventionsErrorTest, running_out_of_memory_leaves_the_output_unchanged) {
  attn::Context context({.num_threads = 1});
  const TransformerEncoder encoder({.layer = kPostNorm, .num_layers = 2, .final_norm = true});
  const OwnedTensor x({1, kTokens, 8});
  Interventions cut;
  cut.ablate("layers.0.self_attn.head_output", Ablation::kMean);
  cut.knock_out("layers.1.self_attn", 0, 4, 4);
  cut.patch("norm.output", x);
  std::vector<float> y(kTokens * 8, 77.0F);
  attn_test::expect_unchanged_until_memory_suffices(
      [&] {
        encoder.forward(x, Tensor(y.data(), {1, kTokens, 8}), {.interventions = &cut}, context);
      },
      [&](std::int64_t) { EXPECT_THAT(y, Each(77.0F)); });
}

}  // namespace
