#include "attn/layers/transformer_decoder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "allocation.hpp"
#include "attn/layers/add_norm.hpp"
#include "compare.hpp"
#include "every_instruction_set.hpp"
#include "host_tensor.hpp"
#include "layers/transformer_layer.hpp"
#include "random.hpp"
#include "reference/layer_norm.hpp"

namespace {

using attn::Activation;
using attn::AttentionOptions;
using attn::ConstTensor;
using attn::Dropout;
using attn::Tensor;
using attn::TransformerDecoder;
using attn::TransformerDecoderCall;
using attn::TransformerDecoderLayer;
using attn::TransformerDecoderLayerCall;
using attn::TransformerLayerOptions;
using attn_test::error_of;
using attn_test::FloatTensor;
using attn_test::is_within;
using attn_test::kTransformerError;
using attn_test::Layout;
using attn_test::Random;
using attn_test::randomize;
using attn_test::same_bits;
using reference::Array;

/// A call with causal self-attention.
template <class Call = TransformerDecoderCall>
Call causal() {
  Call call;
  call.self_attention.causal = true;
  return call;
}

using TransformerDecoderTest = attn_test::EveryInstructionSet;
INSTANTIATE_EVERY_INSTRUCTION_SET(TransformerDecoderTest);

TEST_P(TransformerDecoderTest, a_layer_matches_the_reference) {
  Random random;
  const TransformerLayerOptions cases[] = {
      {.d_model = 12, .num_heads = 3, .dim_feedforward = 29},
      {.d_model = 20,
       .num_heads = 4,
       .dim_feedforward = 33,
       .activation = Activation::kGelu,
       .norm_first = true,
       .num_kv_heads = 2},
      {.d_model = 16, .num_heads = 2, .dim_feedforward = 31, .bias = false},
  };
  for (const TransformerLayerOptions& options : cases) {
    SCOPED_TRACE("d_model " + std::to_string(options.d_model));
    TransformerDecoderLayer layer(options);
    randomize(layer, random);
    const std::int64_t e = options.d_model;
    const std::vector<float> x = random.normals(2 * 5 * e), memory = random.normals(2 * 7 * e);
    const std::vector<std::int32_t> key_lens{3, 7};
    auto call = causal<TransformerDecoderLayerCall>();
    call.cross_attention.key_lens = {key_lens.data(), {2}};
    FloatTensor weights = FloatTensor::filled({2, options.num_heads, 5, 7}, 77.0F);
    call.cross_attention.weights = weights.view();
    std::vector<float> y(x.size(), 77.0F);
    layer.forward({x.data(), {2, 5, e}}, {memory.data(), {2, 7, e}}, {y.data(), {2, 5, e}}, call,
                  context());

    reference::Attention self_options, cross_options;
    self_options.causal_offset = Array({1});
    cross_options.key_lens = Array({2}, key_lens);
    Array exact_weights;
    const Array exact = reference::decoder_layer(attn_test::reference_of(layer, "", options),
                                                 Array({2, 5, e}, x), Array({2, 7, e}, memory),
                                                 self_options, cross_options, &exact_weights);
    EXPECT_TRUE(is_within(y, exact, kTransformerError));
    EXPECT_TRUE(is_within(weights.values(), exact_weights, kTransformerError));
  }
}

TEST_P(TransformerDecoderTest, a_stack_matches_the_reference) {
  Random random;
  for (const bool pre_norm : {false, true}) {
    TransformerDecoder decoder(
        {.layer = {.d_model = 12, .num_heads = 2, .dim_feedforward = 20, .norm_first = pre_norm},
         .num_layers = 2,
         .final_norm = pre_norm});
    randomize(decoder, random);
    const std::vector<float> x = random.normals(5 * 12), memory = random.normals(4 * 12);
    std::vector<float> y(x.size(), 77.0F);
    std::vector<FloatTensor> weights(2, FloatTensor::filled({1, 2, 5, 4}, 77.0F));
    const std::vector<Tensor> views{weights[0].view(), weights[1].view()};
    TransformerDecoderCall call = causal();
    call.cross_attention_weights = views;
    decoder.forward({x.data(), {5, 12}}, {memory.data(), {4, 12}}, {y.data(), {5, 12}}, call,
                    context());
    Array h({1, 5, 12}, x);
    reference::Attention self_options;
    self_options.causal_offset = Array({1});
    for (std::size_t l = 0; l < 2; ++l) {
      Array exact_weights;
      h = reference::decoder_layer(
          attn_test::reference_of(decoder, "layers." + std::to_string(l) + ".",
                                  decoder.options().layer),
          h, Array({1, 4, 12}, memory), self_options, {}, &exact_weights);
      EXPECT_TRUE(is_within(weights[l].values(), exact_weights, 2 * kTransformerError));
    }
    if (pre_norm) {
      const auto norm = attn_test::reference_of(decoder, "norm.", decoder.options().layer);
      h = reference::layer_norm(h, norm.weights.at("weight"), norm.weights.at("bias"), 1e-5);
    }
    EXPECT_TRUE(is_within(y, h, 3 * kTransformerError));
  }
}

TEST_P(TransformerDecoderTest, decoding_token_by_token_gives_the_whole_causal_pass) {
  Random random;
  for (const bool pre_norm : {false, true}) {
    TransformerDecoder decoder({.layer = {.d_model = 16,
                                          .num_heads = 2,
                                          .dim_feedforward = 24,
                                          .norm_first = pre_norm,
                                          .positions = {.rotary = {{}}}},
                                .num_layers = 3,
                                .final_norm = pre_norm});
    randomize(decoder, random);
    const std::vector<float> x = random.normals(2 * 9 * 16), memory = random.normals(2 * 6 * 16);
    const ConstTensor in(x.data(), {2, 9, 16}), encoded(memory.data(), {2, 6, 16});
    const std::vector<std::int32_t> memory_lens{6, 4};
    TransformerDecoderCall call = causal();
    call.cross_attention.valid_lens = {memory_lens.data(), {2}};
    std::vector<float> whole(x.size()), y(x.size());
    decoder.forward(in, encoded, {whole.data(), {2, 9, 16}}, call, context());

    const auto decode = [&](TransformerDecoder::State& state,
                            const std::vector<std::int64_t>& sizes) {
      for (const std::int64_t size : sizes) {
        const std::int64_t begin = state.length();
        call.state = &state;
        decoder.forward(in.slice(1, begin, begin + size), {},
                        Tensor(y.data(), {2, 9, 16}).slice(1, begin, begin + size), call,
                        context());
      }
      EXPECT_EQ(state.length(), 9);
    };
    // Pieces of two or more tokens take the same path through the kernels as the whole sequence.
    TransformerDecoder::State state = decoder.start(encoded, 2, context());
    decode(state, {2, 4, 3});
    EXPECT_TRUE(same_bits(y, whole));
    // Continues decoding from a truncated state.
    state.truncate(5);
    std::fill(y.begin(), y.end(), 77.0F);
    decode(state, {2, 2});
    for (std::size_t i = 0; i < y.size(); ++i) {
      if (i / 16 % 9 >= 5) {
        EXPECT_EQ(y[i], whole[i]);
      }
    }
    TransformerDecoder::State fresh = decoder.start(encoded, 9, context());
    decode(fresh, std::vector<std::int64_t>(9, 1));
    for (std::size_t i = 0; i < whole.size(); ++i) EXPECT_NEAR(y[i], whole[i], kTransformerError);
  }
}

TEST_P(TransformerDecoderTest, a_layer_decodes_token_by_token_too) {
  Random random;
  for (const bool pre_norm : {false, true}) {
    TransformerDecoderLayer layer(
        {.d_model = 16, .num_heads = 2, .dim_feedforward = 24, .norm_first = pre_norm});
    randomize(layer, random);
    const std::vector<float> x = random.normals(2 * 9 * 16), memory = random.normals(2 * 6 * 16);
    const ConstTensor in(x.data(), {2, 9, 16}), encoded(memory.data(), {2, 6, 16});
    std::vector<float> whole(x.size()), y(x.size(), 77.0F);
    const Tensor out(y.data(), {2, 9, 16});
    auto call = causal<TransformerDecoderLayerCall>();
    layer.forward(in, encoded, {whole.data(), {2, 9, 16}}, call, context());

    TransformerDecoderLayer::State state = layer.start(encoded, 3, context());
    call.state = &state;
    std::int64_t begin = 0;
    for (const std::int64_t size : {2, 4, 3}) {
      layer.forward(in.slice(1, begin, begin + size), {}, out.slice(1, begin, begin + size), call,
                    context());
      begin += size;
      EXPECT_EQ(state.self_attention.length(), begin);
    }
    EXPECT_TRUE(same_bits(y, whole));
    EXPECT_EQ(state.memory.length(), 6);
  }
}

TEST_P(TransformerDecoderTest, a_layer_that_fails_leaves_its_state_and_outputs) {
  Random random;
  TransformerDecoderLayer layer({.d_model = 8, .num_heads = 2, .dim_feedforward = 8});
  randomize(layer, random);
  const std::vector<float> x = random.normals(4 * 8), memory = random.normals(3 * 8);
  std::vector<float> y(x.size(), 5.0F), w(2 * 4 * 4, 5.0F);
  TransformerDecoderLayer::State state = layer.start({memory.data(), {3, 8}}, 0, context());
  auto call = causal<TransformerDecoderLayerCall>();
  call.state = &state;
  call.self_attention.weights = {w.data(), {1, 2, 4, 4}};
  // The layer detects the invalid softcap only after self-attention has appended the tokens to the
  // state.
  call.cross_attention.softcap = -1;
  EXPECT_EQ(
      error_of([&] { layer.forward({x.data(), {4, 8}}, {}, {y.data(), {4, 8}}, call, context()); }),
      "invalid_argument: softcap: got -1, needs 0 (none) or a finite number above 0");
  call.cross_attention.softcap = 0;
  attn::Context fresh({.num_threads = 1, .instruction_set = GetParam()});
  const auto check = [&](std::int64_t allowed) {
    ASSERT_EQ(std::count(y.begin(), y.end(), 5.0F), std::ssize(y)) << allowed;
    ASSERT_EQ(std::count(w.begin(), w.end(), 5.0F), std::ssize(w)) << allowed;
    ASSERT_EQ(state.self_attention.length(), 0) << allowed;
    fresh.release_memory();
  };
  check(0);
  attn_test::expect_unchanged_until_memory_suffices(
      [&] { layer.forward({x.data(), {4, 8}}, {}, {y.data(), {4, 8}}, call, fresh); }, check);
  EXPECT_EQ(state.self_attention.length(), 4);
}

// The decoder block of D2L 11.7.5 uses post-norm with AddNorm, ReLU, and attention without bias. In
// training, the valid lengths are 1, 2, 3 …
TEST_P(TransformerDecoderTest, d2l_decoder_block_is_a_special_case) {
  Random random;
  constexpr std::int64_t kWidth = 24;
  TransformerDecoderLayer block({.d_model = kWidth,
                                 .num_heads = 8,
                                 .dim_feedforward = 48,
                                 .attention_bias = false,
                                 .feed_forward_dropout = false});
  randomize(block, random);
  const std::vector<float> x = random.normals(2 * 10 * kWidth);
  const std::vector<float> memory = random.normals(2 * 6 * kWidth);
  const std::vector<std::int32_t> memory_lens{3, 2};
  auto call = causal<TransformerDecoderLayerCall>();
  call.cross_attention.valid_lens = {memory_lens.data(), {2}};
  const auto in = [&](const std::vector<float>& v) {
    return ConstTensor(v.data(), {2, std::ssize(v) / 2 / kWidth, kWidth});
  };
  const auto out = [&](std::vector<float>& v) { return Tensor(v.data(), {2, 10, kWidth}); };
  std::vector<float> y(x.size()), a(x.size()), b(x.size()), want(x.size());
  block.forward(in(x), in(memory), out(y), call, context());

  attn::MultiHeadAttention attention1({.d_model = kWidth, .num_heads = 8});
  attn::MultiHeadAttention attention2({.d_model = kWidth, .num_heads = 8});
  attn::FeedForward ffn({.d_model = kWidth, .dim_feedforward = 48});
  attn::AddNorm addnorm1(kWidth), addnorm2(kWidth), addnorm3(kWidth);
  for (const char* name : {"in_proj_weight", "out_proj.weight"}) {
    attention1.set_parameter(name, block.parameter(std::string("self_attn.") + name));
    attention2.set_parameter(name, block.parameter(std::string("multihead_attn.") + name));
  }
  for (const std::string& name : ffn.parameter_names()) {
    ffn.set_parameter(name, block.parameter(name));
  }
  for (const std::string name : {"weight", "bias"}) {
    addnorm1.set_parameter("ln." + name, block.parameter("norm1." + name));
    addnorm2.set_parameter("ln." + name, block.parameter("norm2." + name));
    addnorm3.set_parameter("ln." + name, block.parameter("norm3." + name));
  }
  std::vector<std::int32_t> dec_valid_lens;
  for (int i = 0; i < 20; ++i) dec_valid_lens.push_back(i % 10 + 1);
  AttentionOptions decoded;
  decoded.valid_lens = {dec_valid_lens.data(), {2, 10}};
  attention1.forward(in(x), in(x), in(x), out(a), {.attention = decoded}, context());
  addnorm1.forward(in(x), in(a), out(a), {}, context());
  attention2.forward(in(a), in(memory), in(memory), out(b), {.attention = call.cross_attention},
                     context());
  addnorm2.forward(in(a), in(b), out(a), {}, context());
  ffn.forward(in(a), out(b), {}, context());
  addnorm3.forward(in(a), in(b), out(want), {}, context());
  EXPECT_TRUE(same_bits(y, want));
}

TEST_P(TransformerDecoderTest, dropout_in_training_uses_a_separate_stream_in_each_place) {
  Random random;
  TransformerDecoder decoder(
      {.layer = {.d_model = 8, .num_heads = 2, .dim_feedforward = 8}, .num_layers = 2});
  randomize(decoder, random);
  const std::vector<float> x = random.normals(6 * 8), memory = random.normals(3 * 8);
  const ConstTensor encoded(memory.data(), {3, 8});
  const auto run = [&](const Dropout& dropout, int threads) {
    std::vector<float> y(x.size());
    TransformerDecoderCall call;
    call.dropout = dropout;
    decoder.forward({x.data(), {6, 8}}, encoded, {y.data(), {6, 8}}, call, context(threads));
    return y;
  };
  const std::vector<float> want = run({.probability = 0.3F, .training = true, .random = {1, 2}}, 1);
  EXPECT_TRUE(same_bits(run({.probability = 0.3F, .training = true, .random = {1, 2}}, 2), want));
  EXPECT_FALSE(same_bits(run({.probability = 0.3F, .training = true, .random = {2, 2}}, 2), want));
  EXPECT_TRUE(same_bits(run({.probability = 0.3F}, 2), run({}, 2)));
  std::vector<float> h = x;
  for (const std::uint64_t l : {0, 1}) {
    TransformerDecoderLayerCall call;
    call.dropout = {.probability = 0.3F, .training = true, .random = {1, 2 + 6 * l}};
    decoder.layers()[l].forward({h.data(), {6, 8}}, encoded, {h.data(), {6, 8}}, call, context());
  }
  EXPECT_TRUE(same_bits(h, want));
}

TEST_P(TransformerDecoderTest, layouts_threads_and_batches_give_the_same_bits) {
  Random random;
  TransformerDecoderLayer layer(
      {.d_model = 20, .num_heads = 2, .dim_feedforward = 30, .norm_first = true});
  randomize(layer, random);
  const std::vector<float> x = random.normals(3 * 10 * 20), memory = random.normals(3 * 7 * 20);
  std::vector<float> want(x.size()), y(x.size()), alone(10 * 20);
  const ConstTensor encoded(memory.data(), {3, 7, 20});
  layer.forward({x.data(), {3, 10, 20}}, encoded, {want.data(), {3, 10, 20}}, {}, context(1));
  layer.forward({x.data(), {3, 10, 20}}, encoded, {y.data(), {3, 10, 20}}, {}, context(2));
  EXPECT_TRUE(same_bits(y, want));
  layer.forward({x.data() + 200, {10, 20}}, {memory.data() + 140, {7, 20}},
                {alone.data(), {10, 20}}, {}, context());
  EXPECT_TRUE(same_bits(alone, {want.begin() + 200, want.begin() + 400}));
  for (const Layout layout : {Layout::kSpread, Layout::kTransposed, Layout::kReversed}) {
    FloatTensor in({3, 10, 20}, x, layout);
    const FloatTensor other({3, 7, 20}, memory, layout);
    layer.forward(in.view(), other.view(), in.view(), {}, context());
    EXPECT_TRUE(same_bits(in.values(), want));
    EXPECT_TRUE(in.gaps_are_untouched());
  }
}

TEST_P(TransformerDecoderTest, a_steady_loop_of_decoding_does_not_allocate) {
  Random random;
  TransformerDecoder decoder(
      {.layer = {.d_model = 8, .num_heads = 2, .dim_feedforward = 8}, .num_layers = 2});
  randomize(decoder, random);
  std::vector<float> x = random.normals(8), memory = random.normals(3 * 8);
  TransformerDecoder::State state = decoder.start({memory.data(), {3, 8}}, 40, context());
  TransformerDecoderCall call = causal();
  call.state = &state;
  const auto step = [&] {
    decoder.forward({x.data(), {1, 8}}, {}, {x.data(), {1, 8}}, call, context());
  };
  for (int i = 0; i < 20; ++i) step();
  state.truncate(0);
  const attn_test::AllocationProbe probe;
  for (int i = 0; i < 15; ++i) step();
  EXPECT_EQ(probe.count(), 0);
}

TEST_P(TransformerDecoderTest, a_call_that_runs_out_of_memory_changes_nothing) {
  Random random;
  TransformerDecoder decoder(
      {.layer = {.d_model = 8, .num_heads = 2, .dim_feedforward = 8}, .num_layers = 2});
  randomize(decoder, random);
  const std::vector<float> x = random.normals(4 * 8), memory = random.normals(3 * 8);
  std::vector<float> y(x.size(), 5.0F), w(2 * 4 * 3, 5.0F);
  const std::vector<Tensor> weights(2, Tensor(w.data(), {1, 2, 4, 3}));
  TransformerDecoderCall call = causal();
  call.cross_attention_weights = weights;
  TransformerDecoder::State state = decoder.start({memory.data(), {3, 8}}, 0, context());
  call.state = &state;
  attn::Context fresh({.num_threads = 1, .instruction_set = GetParam()});
  attn_test::expect_unchanged_until_memory_suffices(
      [&] { decoder.forward({x.data(), {4, 8}}, {}, {y.data(), {4, 8}}, call, fresh); },
      [&](std::int64_t allowed) {
        ASSERT_EQ(std::count(y.begin(), y.end(), 5.0F), std::ssize(y)) << allowed;
        ASSERT_EQ(std::count(w.begin(), w.end(), 5.0F), std::ssize(w)) << allowed;
        for (const auto& layer : state.layers()) {
          ASSERT_EQ(layer.self_attention.length(), 0) << allowed;
          ASSERT_EQ(layer.memory.length(), 3) << allowed;
        }
        fresh.release_memory();
      });
  EXPECT_EQ(state.length(), 4);
}

TEST(TransformerDecoderParametersTest, have_pytorchs_names_in_its_order) {
  TransformerDecoder decoder(
      {.layer = {.d_model = 4, .num_heads = 2, .dim_feedforward = 6}, .final_norm = true});
  EXPECT_THAT(
      decoder.parameter_names(),
      ::testing::ElementsAre(
          "layers.0.self_attn.in_proj_weight", "layers.0.self_attn.in_proj_bias",
          "layers.0.self_attn.out_proj.weight", "layers.0.self_attn.out_proj.bias",
          "layers.0.multihead_attn.in_proj_weight", "layers.0.multihead_attn.in_proj_bias",
          "layers.0.multihead_attn.out_proj.weight", "layers.0.multihead_attn.out_proj.bias",
          "layers.0.linear1.weight", "layers.0.linear1.bias", "layers.0.linear2.weight",
          "layers.0.linear2.bias", "layers.0.norm1.weight", "layers.0.norm1.bias",
          "layers.0.norm2.weight", "layers.0.norm2.bias", "layers.0.norm3.weight",
          "layers.0.norm3.bias", "norm.weight", "norm.bias"));
  decoder.initialize_xavier(3);
  std::vector<float> firsts;
  for (const std::string& name : decoder.parameter_names()) {
    if (decoder.parameter(name).rank() == 2) firsts.push_back(decoder.parameter(name).data()[0]);
  }
  std::sort(firsts.begin(), firsts.end());
  EXPECT_EQ(std::adjacent_find(firsts.begin(), firsts.end()), firsts.end());
}

TEST(TransformerDecoderErrorTest, calls) {
  EXPECT_EQ(
      error_of([] { TransformerDecoder decoder({.layer = {.d_model = 4}, .num_layers = 0}); }),
      "invalid_argument: num_layers: got 0, needs 1 or more");
  EXPECT_EQ(error_of([] { TransformerDecoder decoder({}); }),
            "invalid_argument: d_model: got 0, needs 1 or more");
  const attn::TransformerDecoderOptions options{
      .layer = {.d_model = 4, .num_heads = 2, .dim_feedforward = 6}, .num_layers = 2};
  const TransformerDecoder decoder(options);
  const TransformerDecoderLayer layer(options.layer);
  const std::vector<float> x(100, 1.0F);
  std::vector<float> y(100, 5.0F), w(100, 5.0F);
  const ConstTensor in(x.data(), {2, 3, 4}), memory(x.data(), {2, 5, 4});
  const Tensor out(y.data(), {2, 3, 4});
  for (const bool stack : {false, true}) {
    const auto error = [&](const ConstTensor& from, const ConstTensor& other, const Tensor& to) {
      return error_of([&] {
        if (stack) {
          decoder.forward(from, other, to);
        } else {
          layer.forward(from, other, to);
        }
      });
    };
    EXPECT_EQ(error({x.data(), {2, 3, 5}}, memory, out),
              "shape_mismatch: x: got shape (2, 3, 5), needs shape (any, any, 4)");
    EXPECT_EQ(error(in, {x.data(), {1, 5, 4}}, out),
              "shape_mismatch: memory: got shape (1, 5, 4), needs shape (2, any, 4)");
    EXPECT_EQ(error({x.data(), {3, 4}}, memory, {y.data(), {3, 4}}),
              "shape_mismatch: memory: got shape (2, 5, 4), needs shape (any, 4)");
    EXPECT_EQ(error(in, {nullptr, {2, 5, 4}}, out),
              "invalid_argument: memory: got a null pointer, needs data");
    EXPECT_EQ(error(in, memory, {y.data(), {3, 4}}),
              "shape_mismatch: output: got shape (3, 4), needs shape (2, 3, 4)");
  }
  TransformerDecoderCall call;
  call.cross_attention.weights = {w.data(), {2, 2, 3, 5}};
  EXPECT_EQ(
      error_of([&] { decoder.forward(in, memory, out, call); }),
      "invalid_argument: cross_attention: got an output tensor, needs none, because every layer "
      "would write to it; the call itself takes one tensor of weights for each layer");
  const std::vector<Tensor> one(1);
  call = {};
  call.self_attention_weights = one;
  EXPECT_EQ(error_of([&] { decoder.forward(in, memory, out, call); }),
            "invalid_argument: weights: got 1, needs none or one for each of the 2 layers");
  EXPECT_EQ(
      error_of([&] { layer.forward(in, memory, out, {.cross_attention = {.dropout = 0.5F}}); }),
      "invalid_argument: cross_attention.dropout: got 0.5, needs 0; the dropout of the call "
      "already covers the attention weights");
  EXPECT_EQ(
      error_of([&] { decoder.forward(in, memory, out, {.self_attention = {.dropout = 0.5F}}); }),
      "invalid_argument: self_attention.dropout: got 0.5, needs 0; the dropout of the call already "
      "covers the attention weights");
  EXPECT_EQ(error_of([&] { layer.forward(in, memory, out, {.dropout = {.probability = -1}}); }),
            "invalid_argument: dropout: got -1, needs a probability between 0 and 1");

  EXPECT_EQ(error_of([&] { decoder.start({x.data(), {2, 5, 3}}); }),
            "shape_mismatch: memory: got shape (2, 5, 3), needs shape (2, any, 4)");
  TransformerDecoder::State empty;
  EXPECT_EQ(empty.length(), 0);
  EXPECT_EQ(error_of([&] { decoder.forward(in, {}, out, {.state = &empty}); }),
            "invalid_argument: state: got 0 layers, needs 2, the number of layers of this decoder");
  TransformerDecoder::State state = decoder.start(memory);
  EXPECT_EQ(error_of([&] { decoder.forward(in, memory, out, {.state = &state}); }),
            "shape_mismatch: memory: got shape (2, 5, 4), needs none; state already contains "
            "its projections");
  EXPECT_EQ(error_of([&] {
              decoder.forward({x.data(), {1, 3, 4}}, {}, {y.data(), {1, 3, 4}}, {.state = &state});
            }),
            "shape_mismatch: cache: got shape (2, 2, 0, 2), needs shape (1, 2, any, 2)");
  EXPECT_EQ(error_of([&] {
              decoder.forward(in, {}, out, {.cross_attention = {.softcap = -1}, .state = &state});
            }),
            "invalid_argument: softcap: got -1, needs 0 (none) or a finite number above 0");
  EXPECT_EQ(state.length(), 0);
  EXPECT_EQ(error_of([&] { state.truncate(1); }),
            "invalid_argument: length: got 1, needs 0 to 0, the number of stored tokens");
  EXPECT_THAT(y, ::testing::Each(5.0F));
  EXPECT_THAT(w, ::testing::Each(5.0F));
}

}  // namespace
