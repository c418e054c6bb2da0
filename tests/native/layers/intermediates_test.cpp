// Tests intermediates of layers. Each must be bit-identical to the result of the public function
// for its step, applied to the previous intermediate.

#include "attn/layers/intermediates.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "allocation.hpp"
#include "attn/attn.hpp"
#include "compare.hpp"
#include "layers/transformer_layer.hpp"
#include "random.hpp"
#include "shape.hpp"

namespace {

using attn::ConstTensor;
using attn::Intermediates;
using attn::Tensor;
using attn_test::error_of;
using attn_test::Random;
using attn_test::randomize;
using attn_test::Shape;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

/// A shape and its numbers.
struct ShapedNumbers {
  Shape shape;
  std::vector<float> values;

  explicit ShapedNumbers(Shape shape_) : shape(std::move(shape_)) {
    std::int64_t count = 1;
    for (const std::int64_t size : shape) count *= size;
    values.assign(static_cast<std::size_t>(count), 77.0F);
  }
  ShapedNumbers(Shape shape_, Random& random) : ShapedNumbers(std::move(shape_)) {
    values = random.normals(static_cast<std::int64_t>(values.size()));
  }
  /// Copies an intermediate.
  explicit ShapedNumbers(const ConstTensor& view)
      : shape(view.shape().begin(), view.shape().end()) {
    std::int64_t count = 1;
    for (const std::int64_t size : shape) count *= size;
    EXPECT_TRUE(view.is_contiguous());
    values.assign(view.data(), view.data() + count);
  }

  ConstTensor in() const { return {values.data(), shape}; }
  Tensor out() { return {values.data(), shape}; }
};

void expect_same(const ConstTensor& got, const ShapedNumbers& want, const std::string& what) {
  EXPECT_THAT(got.shape(), ElementsAreArray(want.shape)) << what;
  EXPECT_TRUE(attn_test::same_bits(ShapedNumbers(got).values, want.values)) << what;
}

ShapedNumbers sum(const ConstTensor& a, const ConstTensor& b) {
  ShapedNumbers result{ShapedNumbers(a)};
  const ShapedNumbers other{ShapedNumbers(b)};
  for (std::size_t i = 0; i < result.values.size(); ++i) result.values[i] += other.values[i];
  return result;
}

/// Gives `layer` the weights of a part of another module.
template <class L>
L part(const attn::Module& whole, const std::string& prefix, L layer) {
  for (const std::string& name : layer.parameter_names()) {
    layer.set_parameter(name, whole.parameter(prefix + name));
  }
  return layer;
}

template <class L>
ShapedNumbers through(const L& layer, const ConstTensor& x, std::int64_t width) {
  Shape shape(x.shape().begin(), x.shape().end());
  shape.back() = width;
  ShapedNumbers y(shape);
  layer.forward(x, y.out());
  return y;
}

Intermediates all_of(const attn::Module& layer) {
  return Intermediates(layer.intermediate_names());
}

const attn::TransformerLayerOptions kLayer{.d_model = 8, .num_heads = 2, .dim_feedforward = 12};

attn::TransformerLayerOptions layer_options(bool norm_first) {
  attn::TransformerLayerOptions options = kLayer;
  options.norm_first = norm_first;
  return options;
}

TEST(IntermediatesTest, names_are_paths) {
  EXPECT_THAT(attn::FeedForward({.d_model = 2, .dim_feedforward = 3}).intermediate_names(),
              ElementsAre("hidden", "linear1.output", "linear2.output"));
  EXPECT_THAT(attn::AddNorm(2).intermediate_names(), ElementsAre("sum", "ln.output"));
  EXPECT_THAT(attn::MultiHeadAttention({.d_model = 4}).intermediate_names(),
              ElementsAre("q", "k", "v", "scaled_scores", "capped_scores", "biased_scores",
                          "weights", "log_sum_exp", "head_output", "output"));
  EXPECT_THAT(attn::RNN({2, 3, 2}).intermediate_names(), ElementsAre("output_l0", "output_l1"));
  EXPECT_THAT(attn::Conv1d({.in_channels = 1, .out_channels = 1}).intermediate_names(),
              ::testing::IsEmpty());
  const attn::TransformerEncoder encoder({.layer = kLayer, .num_layers = 2, .final_norm = true});
  const std::vector<std::string> names = encoder.intermediate_names();
  EXPECT_THAT(names, ::testing::IsSupersetOf({"layers.0.resid_pre", "layers.1.self_attn.weights",
                                              "layers.1.linear1.output", "layers.0.hidden",
                                              "layers.1.norm2.output", "norm.output"}));
  EXPECT_EQ(names.size(), 2 * (6 + 10 + 3 + 2) + 1);
}

TEST(IntermediatesTest, attention_shows_every_step) {
  Random random;
  attn::MultiHeadAttention attention(
      {.d_model = 8, .num_heads = 4, .num_kv_heads = 2, .bias = true});
  randomize(attention, random);
  const ShapedNumbers x({2, 5, 8}, random);
  ShapedNumbers y({2, 5, 8});
  Intermediates shown = all_of(attention);
  const attn::AttentionOptions options{.softcap = 2, .causal = true};
  attention.forward(x.in(), x.in(), x.in(), y.out(),
                    {.attention = options, .intermediates = &shown});

  const auto project = [&](const char* name, std::int64_t first, std::int64_t width) {
    attn::Linear linear(8, width);
    linear.set_parameter("weight", attention.parameter(name));
    linear.set_parameter("bias",
                         attention.parameter("in_proj_bias").slice(0, first, first + width));
    return through(linear, x.in(), width);
  };
  const ShapedNumbers q = project("q_proj_weight", 0, 8), k = project("k_proj_weight", 8, 4),
                      v = project("v_proj_weight", 12, 4);
  const auto heads = [](const ShapedNumbers& rows, std::int64_t num_heads) {
    const ConstTensor split = rows.in().split_heads(num_heads);
    ShapedNumbers result(Shape(split.shape().begin(), split.shape().end()));
    attn::apply_dropout(split, result.out(), {});
    return result;
  };
  expect_same(shown["q"], heads(q, 4), "q");
  expect_same(shown["k"], heads(k, 2), "k");
  expect_same(shown["v"], heads(v, 2), "v");

  ShapedNumbers scaled({2, 4, 5, 5}), capped = scaled, biased = scaled, weights = scaled;
  ShapedNumbers log_sum_exp({2, 4, 5}), head_output({2, 4, 5, 2});
  attn::AttentionOptions stages = options;
  stages.scaled_scores = scaled.out();
  stages.capped_scores = capped.out();
  stages.biased_scores = biased.out();
  stages.weights = weights.out();
  stages.log_sum_exp = log_sum_exp.out();
  attn::scaled_dot_product_attention(shown["q"], shown["k"], shown["v"], head_output.out(), stages);
  expect_same(shown["scaled_scores"], scaled, "scaled_scores");
  expect_same(shown["capped_scores"], capped, "capped_scores");
  expect_same(shown["biased_scores"], biased, "biased_scores");
  expect_same(shown["weights"], weights, "weights");
  expect_same(shown["log_sum_exp"], log_sum_exp, "log_sum_exp");
  expect_same(shown["head_output"], head_output, "head_output");

  ShapedNumbers joined({2, 5, 8});
  attn::apply_dropout(head_output.in(), joined.out().split_heads(4), {});
  const attn::Linear out_proj = part(attention, "out_proj.", attn::Linear(8, 8));
  expect_same(shown["output"], through(out_proj, joined.in(), 8), "output");
  expect_same(shown["output"], y, "what is given");
}

TEST(IntermediatesTest, stages_go_to_the_options_as_well) {
  Random random;
  attn::MultiHeadAttention attention({.d_model = 4, .num_heads = 2});
  randomize(attention, random);
  const ShapedNumbers x({1, 3, 4}, random);
  ShapedNumbers y({1, 3, 4}), weights({1, 2, 3, 3});
  Intermediates shown({"weights", "biased_scores"});
  attention.forward(x.in(), x.in(), x.in(), y.out(),
                    {.attention = {.weights = weights.out()}, .intermediates = &shown});
  expect_same(shown["weights"], weights, "weights");
  EXPECT_THAT(shown["biased_scores"].shape(), ElementsAre(1, 2, 3, 3));
}

TEST(IntermediatesTest, rotary_positions_show_queries_and_keys_before_and_after_rotation) {
  Random random;
  const attn::RotaryEmbeddingOptions rotation{.rotary_dim = 4};
  attn::MultiHeadAttention attention(
      {.d_model = 8, .num_heads = 2, .positions = {.rotary = rotation}});
  randomize(attention, random);
  const ShapedNumbers x({1, 3, 8}, random);
  ShapedNumbers y({1, 3, 8});
  Intermediates shown({"projected_q", "q", "projected_k", "k"});
  attention.forward(x.in(), x.in(), x.in(), y.out(), {.intermediates = &shown});
  const attn::RotaryEmbedding rotary(rotation);
  for (const std::string name : {"q", "k"}) {
    ShapedNumbers rotated({1, 2, 3, 4});
    rotary.forward(shown["projected_" + name], rotated.out(), {.sequence_length = 3});
    expect_same(shown[name], rotated, name);
  }
  EXPECT_THAT(all_of(attn::MultiHeadAttention({.d_model = 4})).names(),
              ::testing::Not(::testing::Contains("projected_q")));
}

TEST(IntermediatesTest, an_encoder_layer_shows_every_step) {
  for (const bool norm_first : {false, true}) {
    SCOPED_TRACE(norm_first ? "pre-norm" : "post-norm");
    Random random;
    attn::TransformerEncoderLayer layer(layer_options(norm_first));
    randomize(layer, random);
    const ShapedNumbers x({2, 5, 8}, random);
    ShapedNumbers y({2, 5, 8});
    Intermediates shown = all_of(layer);
    layer.forward(x.in(), y.out(), {.intermediates = &shown});
    for (const std::string& name : shown.names()) EXPECT_TRUE(shown.contains(name)) << name;

    const auto norm1 = part(layer, "norm1.", attn::LayerNorm(8));
    const auto norm2 = part(layer, "norm2.", attn::LayerNorm(8));
    const auto linear1 = part(layer, "linear1.", attn::Linear(8, 12));
    const auto linear2 = part(layer, "linear2.", attn::Linear(12, 8));
    const ShapedNumbers mid = sum(x.in(), shown["self_attn.output"]);
    const ShapedNumbers norm_of_x = through(norm1, norm_first ? x.in() : mid.in(), 8);
    const ShapedNumbers& h = norm_first ? mid : norm_of_x;
    const ShapedNumbers norm_of_h = through(norm2, norm_first ? h.in() : shown["resid_post"], 8);
    const ShapedNumbers& fed = norm_first ? norm_of_h : h;
    const ShapedNumbers post = sum(h.in(), shown["linear2.output"]);
    ShapedNumbers hidden = through(linear1, fed.in(), 12);
    expect_same(shown["linear1.output"], hidden, "linear1.output");
    attn::apply_activation(hidden.in(), hidden.out(), attn::Activation::kRelu);
    expect_same(shown["resid_pre"], x, "resid_pre");
    expect_same(shown["resid_mid"], mid, "resid_mid");
    expect_same(shown["norm1.output"], norm_of_x, "norm1.output");
    expect_same(shown["hidden"], hidden, "hidden");
    expect_same(shown["linear2.output"], through(linear2, hidden.in(), 8), "linear2.output");
    expect_same(shown["resid_post"], post, "resid_post");
    expect_same(shown["norm2.output"], norm_of_h, "norm2.output");
    expect_same(shown["output"], norm_first ? post : norm_of_h, "output");
    expect_same(shown["output"], y, "what is given");
  }
}

TEST(IntermediatesTest, requesting_intermediates_changes_no_bit_of_the_output) {
  Random random;
  for (const bool norm_first : {false, true}) {
    attn::TransformerEncoder encoder(
        {.layer = layer_options(norm_first), .num_layers = 2, .final_norm = true});
    randomize(encoder, random);
    const ShapedNumbers x({2, 5, 8}, random);
    ShapedNumbers plain({2, 5, 8});
    encoder.forward(x.in(), plain.out());
    for (const std::string& name : encoder.intermediate_names()) {
      Intermediates shown({name});
      ShapedNumbers y({2, 5, 8});
      encoder.forward(x.in(), y.out(), {.intermediates = &shown});
      EXPECT_EQ(y.values, plain.values) << name;
      EXPECT_TRUE(shown.contains(name));
    }
  }
}

TEST(IntermediatesTest, a_stack_shows_its_layers) {
  Random random;
  attn::TransformerEncoder encoder({.layer = kLayer, .num_layers = 2, .final_norm = true});
  randomize(encoder, random);
  const ShapedNumbers x({2, 5, 8}, random);
  ShapedNumbers y({2, 5, 8}), weights({2, 2, 5, 5});
  Intermediates shown = all_of(encoder);
  const std::vector<Tensor> of_layers{{}, weights.out()};
  encoder.forward(x.in(), y.out(), {.weights = of_layers, .intermediates = &shown});
  expect_same(shown["layers.0.resid_pre"], x, "input");
  expect_same(shown["layers.1.resid_pre"], ShapedNumbers(shown["layers.0.output"]), "between");
  expect_same(shown["layers.1.self_attn.weights"], weights, "weights");
  expect_same(shown["norm.output"], y, "output");
  const auto norm = part(encoder, "norm.", attn::LayerNorm(8));
  expect_same(shown["norm.output"], through(norm, shown["layers.1.output"], 8), "norm");
}

TEST(IntermediatesTest, a_decoder_shows_both_attentions_and_the_contents_of_a_state) {
  for (const bool norm_first : {false, true}) {
    Random random;
    attn::TransformerDecoder decoder(
        {.layer = layer_options(norm_first), .num_layers = 2, .final_norm = true});
    randomize(decoder, random);
    const ShapedNumbers x({2, 4, 8}, random), memory({2, 3, 8}, random);
    ShapedNumbers y({2, 4, 8});
    Intermediates shown = all_of(decoder);
    attn::TransformerDecoderCall call;
    call.self_attention.causal = true;
    call.intermediates = &shown;
    decoder.forward(x.in(), memory.in(), y.out(), call);
    for (const std::string& name : shown.names()) EXPECT_TRUE(shown.contains(name)) << name;
    const auto at = [&](const char* name) { return shown[std::string("layers.1.") + name]; };
    const ShapedNumbers mid = sum(at("resid_pre"), at("self_attn.output"));
    expect_same(at("resid_mid"), mid, "resid_mid");
    const ConstTensor g = norm_first ? at("resid_mid") : at("norm1.output");
    expect_same(at("resid_mid_cross"), sum(g, at("multihead_attn.output")), "resid_mid_cross");
    const ConstTensor h = norm_first ? at("resid_mid_cross") : at("norm2.output");
    expect_same(at("resid_post"), sum(h, at("linear2.output")), "resid_post");
    expect_same(at("output"), ShapedNumbers(norm_first ? at("resid_post") : at("norm3.output")),
                "output");
    EXPECT_THAT(at("multihead_attn.weights").shape(), ElementsAre(2, 2, 4, 3));

    // When decoding token by token, the last call sees the keys of all tokens so far.
    attn::TransformerDecoderState state = decoder.start(memory.in());
    Intermediates step = all_of(decoder);
    call.state = &state;
    call.intermediates = &step;
    for (int t = 0; t < 4; ++t) {
      ShapedNumbers token({2, 1, 8});
      decoder.forward(x.in().slice(1, t, t + 1), {}, token.out(), call);
    }
    expect_same(step["layers.0.self_attn.k"], ShapedNumbers(shown["layers.0.self_attn.k"]), "keys");
    expect_same(step["layers.0.multihead_attn.v"],
                ShapedNumbers(shown["layers.0.multihead_attn.v"]), "values of the memory");
    EXPECT_THAT(step["layers.0.self_attn.weights"].shape(), ElementsAre(2, 2, 1, 4));
  }
}

TEST(IntermediatesTest, a_single_decoder_layer_shows_them_too) {
  Random random;
  attn::TransformerDecoderLayer layer(kLayer);
  randomize(layer, random);
  const ShapedNumbers x({4, 8}, random), memory({3, 8}, random);
  ShapedNumbers y({4, 8});
  Intermediates shown({"output", "multihead_attn.q"});
  layer.forward(x.in(), memory.in(), y.out(), {.intermediates = &shown});
  expect_same(shown["output"], y, "output");
  EXPECT_THAT(shown["multihead_attn.q"].shape(), ElementsAre(2, 4, 4));
}

TEST(IntermediatesTest, inputs_without_a_batch_give_intermediates_without_a_batch) {
  Random random;
  attn::TransformerEncoder encoder({.layer = kLayer});
  randomize(encoder, random);
  const ShapedNumbers x({5, 8}, random);
  ShapedNumbers y({5, 8});
  Intermediates shown({"layers.0.self_attn.weights", "layers.0.resid_mid"});
  encoder.forward(x.in(), y.out(), {.intermediates = &shown});
  EXPECT_THAT(shown["layers.0.self_attn.weights"].shape(), ElementsAre(2, 5, 5));
  EXPECT_THAT(shown["layers.0.resid_mid"].shape(), ElementsAre(5, 8));

  attn::FeedForward feed_forward({.d_model = 8, .dim_feedforward = 3});
  Intermediates hidden({"hidden"});
  feed_forward.forward(x.in(), y.out(), {}, attn::Context::default_context(), &hidden);
  EXPECT_THAT(hidden["hidden"].shape(), ElementsAre(5, 3));
}

TEST(IntermediatesTest, add_norm_shows_the_sum_after_dropout) {
  Random random;
  const attn::AddNorm layer(8);
  const ShapedNumbers x({3, 8}, random), y({3, 8}, random);
  ShapedNumbers z({3, 8}), dropped({3, 8});
  const attn::Dropout dropout{.probability = 0.5F, .training = true, .random = {.seed = 3}};
  Intermediates shown = all_of(layer);
  layer.forward(x.in(), y.in(), z.out(), dropout, attn::Context::default_context(), &shown);
  attn::apply_dropout(y.in(), dropped.out(), dropout);
  expect_same(shown["sum"], sum(x.in(), dropped.in()), "sum");
  expect_same(shown["ln.output"], z, "ln.output");
}

TEST(IntermediatesTest, recurrent_layers_show_the_output_of_each) {
  Random random;
  attn::GRU gru({3, 4, 2});
  randomize(gru, random);
  const ShapedNumbers x({2, 5, 3}, random);
  ShapedNumbers y({2, 5, 4});
  Intermediates shown = all_of(gru);
  gru.forward(x.in(), y.out(), {}, attn::Context::default_context(), &shown);
  expect_same(shown["output_l1"], y, "output_l1");
  attn::GRU second({4, 4, 1});
  for (const std::string& name : second.parameter_names()) {
    second.set_parameter(name, gru.parameter(name.substr(0, name.size() - 1) + "1"));
  }
  expect_same(shown["output_l1"], through(second, shown["output_l0"], 4), "output_l0");
}

TEST(IntermediatesTest, additive_attention_shows_projections_scores_and_weights) {
  Random random;
  attn::AdditiveAttention attention(3, 4, 5);
  randomize(attention, random);
  const ShapedNumbers q({2, 3, 3}, random), k({2, 4, 4}, random), v({2, 4, 2}, random);
  ShapedNumbers y({2, 3, 2}), projected({2, 4, 5}), scores({2, 3, 4});
  Intermediates shown = all_of(attention);
  attention.forward(q.in(), k.in(), v.in(), y.out(), {.scores = scores.out()},
                    attn::Context::default_context(), &shown);
  attention.project_keys(k.in(), projected.out());
  expect_same(shown["projected_keys"], projected, "projected_keys");
  expect_same(shown["scores"], scores, "scores");
  expect_same(shown["output"], y, "output");
  EXPECT_THAT(shown["projected_queries"].shape(), ElementsAre(2, 3, 5));
  ShapedNumbers weights({2, 3, 4}), again({2, 3, 2});
  attention.forward(q.in(), k.in(), v.in(), again.out(), {.weights = weights.out()});
  expect_same(shown["weights"], weights, "weights");
}

TEST(IntermediatesTest, bahdanaus_decoder_shows_all_steps) {
  Random random;
  attn::BahdanauDecoder decoder(
      {.vocab_size = 7, .embed_size = 3, .num_hiddens = 4, .num_layers = 2});
  randomize(decoder, random);
  const ShapedNumbers outputs({2, 5, 4}, random), hidden({2, 2, 4}, random);
  const std::vector<std::int32_t> tokens{1, 2, 6, 0, 3, 5};
  const attn::TensorView<const std::int32_t> ids(tokens.data(), {2, 3});
  ShapedNumbers logits({2, 3, 7}), alignment({2, 3, 5});
  Intermediates shown = all_of(decoder);
  auto state = decoder.init_state(outputs.in(), hidden.in());
  decoder.forward(ids, state, logits.out(), alignment.out(), attn::Context::default_context(),
                  &shown);
  for (const std::string& name : shown.names()) EXPECT_TRUE(shown.contains(name)) << name;
  expect_same(shown["dense.output"], logits, "dense.output");
  expect_same(shown["attention.weights"], alignment, "attention.weights");
  const auto dense = part(decoder, "dense.", attn::Linear(4, 7));
  expect_same(shown["dense.output"], through(dense, shown["rnn.output_l1"], 7), "rnn.output_l1");
  EXPECT_THAT(shown["attention.projected_keys"].shape(), ElementsAre(2, 5, 4));
  const ShapedNumbers embedded{ShapedNumbers(shown["embedding.output"])};
  const ConstTensor table = decoder.parameter("embedding.weight");
  EXPECT_EQ(embedded.in()(1, 2, 0), table(5, 0));

  // Decoding step by step gives the same intermediates.
  auto stepping = decoder.init_state(outputs.in(), hidden.in());
  for (int t = 0; t < 3; ++t) {
    Intermediates step = all_of(decoder);
    ShapedNumbers of_step({2, 1, 7});
    decoder.forward(ids.slice(1, t, t + 1), stepping, of_step.out(), {},
                    attn::Context::default_context(), &step);
    for (const std::string& name : step.names()) {
      if (name == "attention.projected_keys") continue;
      const ConstTensor whole = shown[name];
      for (int b = 0; b < 2; ++b) {
        for (std::int64_t c = 0; c < whole.size(2); ++c) {
          EXPECT_EQ(step[name](b, 0, c), whole(b, t, c)) << name;
        }
      }
    }
  }
}

TEST(IntermediatesErrorTest, an_unknown_name_is_an_error_that_suggests_the_nearest) {
  const attn::TransformerEncoder encoder({.layer = kLayer, .num_layers = 2});
  const ShapedNumbers x({1, 5, 8});
  ShapedNumbers y({1, 5, 8});
  Intermediates shown({"layers.0.resid_mid", "layers.1.self_atn.weigths"});
  EXPECT_EQ(error_of([&] { encoder.forward(x.in(), y.out(), {.intermediates = &shown}); }),
            "not_found: intermediates: got \"layers.1.self_atn.weigths\", needs one of the layer's "
            "intermediate_names(); the nearest is \"layers.1.self_attn.weights\"");
  EXPECT_THAT(y.values, Each(77.0F));
  EXPECT_FALSE(shown.contains("layers.0.resid_mid"));
}

TEST(IntermediatesErrorTest, intermediates_that_were_not_computed_are_missing) {
  attn::MultiHeadAttention attention(
      {.d_model = 8, .num_heads = 2, .positions = {.rotary = attn::RotaryEmbeddingOptions{}}});
  const ShapedNumbers x({1, 3, 8});
  ShapedNumbers y({1, 3, 8});
  attn::KeyValueCache cache = attention.make_cache(1);
  attention.append(x.in(), x.in(), cache);
  Intermediates shown({"projected_k", "projected_q"});
  EXPECT_EQ(error_of([&] { shown["projected_q"]; }),
            "not_found: name: got \"projected_q\", needs an intermediate that the last call "
            "computed");
  attention.attend(x.in(), cache, y.out(), {}, attn::Context::default_context(), &shown);
  EXPECT_TRUE(shown.contains("projected_q"));
  EXPECT_FALSE(shown.contains("projected_k"));
  EXPECT_EQ(error_of([&] { shown["projected_k"]; }),
            "not_found: name: got \"projected_k\", needs an intermediate that the last call "
            "computed");
  EXPECT_EQ(error_of([&] { shown["weights"]; }),
            "not_found: name: got \"weights\", needs an intermediate that the last call requested");
}

TEST(IntermediatesErrorTest, a_call_that_fails_shows_nothing) {
  const attn::TransformerEncoder encoder({.layer = kLayer, .num_layers = 2});
  const ShapedNumbers x({1, 5, 8});
  ShapedNumbers y({1, 5, 8});
  Intermediates shown({"layers.0.resid_mid"});
  encoder.forward(x.in(), y.out(), {.intermediates = &shown});
  EXPECT_TRUE(shown.contains("layers.0.resid_mid"));
  attn::TransformerEncoderCall call{.intermediates = &shown};
  call.attention.softcap = -1;
  EXPECT_NE(error_of([&] { encoder.forward(x.in(), y.out(), call); }), "");
  EXPECT_FALSE(shown.contains("layers.0.resid_mid"));
}

TEST(IntermediatesErrorTest, running_out_of_memory_leaves_outputs_and_caches_as_they_were) {
  attn::Context context({.num_threads = 1});
  const attn::TransformerDecoder decoder({.layer = kLayer, .num_layers = 2, .final_norm = true});
  const ShapedNumbers x({1, 2, 8}), memory({1, 3, 8});
  attn::TransformerDecoderState state = decoder.start(memory.in(), 8, context);
  int failures = 0;
  for (std::int64_t allowed = 0;; ++allowed) {
    ShapedNumbers y({1, 2, 8});
    Intermediates shown = all_of(decoder);
    attn::TransformerDecoderCall call;
    call.state = &state;
    call.intermediates = &shown;
    if (attn_test::succeeds_with_allocations(
            allowed, [&] { decoder.forward(x.in(), {}, y.out(), call, context); })) {
      break;
    }
    ++failures;
    EXPECT_THAT(y.values, Each(77.0F)) << allowed;
    EXPECT_EQ(state.length(), 0) << allowed;
    for (const std::string& name : shown.names()) EXPECT_FALSE(shown.contains(name)) << name;
    ASSERT_LT(allowed, 2000);
  }
  EXPECT_GT(failures, 50);
  EXPECT_EQ(state.length(), 2);
}

TEST(IntermediatesTest, intermediates_that_were_not_requested_take_no_memory) {
  attn::Context context({.num_threads = 1});
  const attn::TransformerEncoderLayer layer(kLayer);
  const ShapedNumbers x({1, 5, 8});
  ShapedNumbers y({1, 5, 8});
  Intermediates none;
  const auto run = [&](Intermediates* intermediates) {
    layer.forward(x.in(), y.out(), {.intermediates = intermediates}, context);
  };
  run(nullptr);
  attn_test::AllocationProbe probe;
  run(nullptr);
  run(&none);
  EXPECT_EQ(probe.count(), 0);
}

}  // namespace
