#include "attn/layers/transformer_encoder.hpp"

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
using attn::TransformerEncoder;
using attn::TransformerEncoderCall;
using attn::TransformerEncoderLayer;
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

using TransformerEncoderTest = attn_test::EveryInstructionSet;
INSTANTIATE_EVERY_INSTRUCTION_SET(TransformerEncoderTest);

TEST_P(TransformerEncoderTest, a_layer_matches_the_reference) {
  Random random;
  const TransformerLayerOptions cases[] = {
      {.d_model = 1, .dim_feedforward = 1, .norm_first = true},
      {.d_model = 12, .num_heads = 3, .dim_feedforward = 29},
      {.d_model = 20,
       .num_heads = 4,
       .dim_feedforward = 33,
       .activation = Activation::kGelu,
       .norm_first = true},
      {.d_model = 16,
       .num_heads = 2,
       .dim_feedforward = 64,
       .activation = Activation::kGeluTanh,
       .layer_norm_eps = 0.01F,
       .bias = false},
      {.d_model = 24,
       .num_heads = 4,
       .dim_feedforward = 17,
       .norm_first = true,
       .attention_bias = false,
       .num_kv_heads = 2},
  };
  for (const TransformerLayerOptions& options : cases) {
    SCOPED_TRACE("d_model " + std::to_string(options.d_model));
    TransformerEncoderLayer layer(options);
    randomize(layer, random);
    const std::int64_t e = options.d_model;
    const std::vector<float> x = random.normals(2 * 7 * e);
    const std::vector<std::int32_t> key_lens{7, 4};
    AttentionOptions attention;
    attention.causal = true;
    attention.key_lens = {key_lens.data(), {2}};
    FloatTensor weights = FloatTensor::filled({2, options.num_heads, 7, 7}, 77.0F, Layout::kSpread);
    attention.weights = weights.view();
    std::vector<float> y(x.size(), 77.0F);
    layer.forward({x.data(), {2, 7, e}}, {y.data(), {2, 7, e}}, {.attention = attention},
                  context());

    reference::Attention r;
    r.causal_offset = Array({1});
    r.key_lens = Array({2}, key_lens);
    Array exact_weights;
    const Array exact = reference::encoder_layer(attn_test::reference_of(layer, "", options),
                                                 Array({2, 7, e}, x), r, &exact_weights);
    EXPECT_TRUE(is_within(y, exact, kTransformerError));
    EXPECT_TRUE(is_within(weights.values(), exact_weights, kTransformerError));
    EXPECT_TRUE(weights.gaps_are_untouched());
  }
}

TEST_P(TransformerEncoderTest, layers_of_todays_models_match_the_reference) {
  Random random;
  for (const TransformerLayerOptions& options : attn_test::todays_layers()) {
    SCOPED_TRACE("d_model " + std::to_string(options.d_model));
    TransformerEncoderLayer layer(options);
    randomize(layer, random);
    const std::int64_t e = options.d_model;
    const std::vector<float> x = random.normals(2 * 7 * e);
    std::vector<float> y(x.size(), 77.0F);
    AttentionOptions attention;
    attention.causal = true;
    FloatTensor weights = FloatTensor::filled({2, options.num_heads, 7, 7}, 77.0F);
    attention.weights = weights.view();
    layer.forward({x.data(), {2, 7, e}}, {y.data(), {2, 7, e}}, {.attention = attention},
                  context());
    const reference::TransformerLayer exact_layer = attn_test::reference_of(layer, "", options);
    reference::Attention r = attn_test::rules_of(options);
    r.causal_offset = Array({1});
    if (options.sinks) r.sinks = exact_layer.weights.at("self_attn.sinks");
    Array exact_weights;
    const Array exact =
        reference::encoder_layer(exact_layer, Array({2, 7, e}, x), r, &exact_weights);
    EXPECT_TRUE(is_within(y, exact, kTransformerError));
    EXPECT_TRUE(is_within(weights.values(), exact_weights, kTransformerError));

    // Computes the same result token by token, with a cache.
    attn::KeyValueCache cache = layer.self_attention().make_cache(2);
    std::vector<float> one_by_one(x.size());
    for (std::int64_t i = 0; i < 7; ++i) {
      const ConstTensor all(x.data(), {2, 7, e});
      const Tensor to(one_by_one.data(), {2, 7, e});
      layer.forward(all.slice(1, i, i + 1), to.slice(1, i, i + 1),
                    {.attention = {.causal = true}, .cache = &cache}, context());
    }
    EXPECT_TRUE(is_within(one_by_one, exact, kTransformerError));
  }
}

TEST_P(TransformerEncoderTest, a_stack_may_have_layers_that_differ) {
  Random random;
  // As in Gemma 3, one layer has a window and a small rotary base, and another layer has neither.
  // The third layer has no positions.
  TransformerLayerOptions local{.d_model = 12,
                                .num_heads = 3,
                                .dim_feedforward = 20,
                                .rms_norm = attn::RmsNormOptions{.eps = 1e-6F},
                                .norm_first = true,
                                .positions = {.rotary = attn::RotaryEmbeddingOptions{}},
                                .window = attn::Window{.left = 1}};
  TransformerLayerOptions global = local;
  global.window = {};
  global.positions.rotary->base = 1e6;
  global.dim_feedforward = 7;
  TransformerLayerOptions no_positions = global;
  no_positions.positions = {};
  no_positions.num_kv_heads = 1;
  TransformerEncoder encoder({.final_norm = true, .layers = {local, global, no_positions}});
  randomize(encoder, random);
  EXPECT_EQ(encoder.layers().size(), 3);
  const std::vector<float> x = random.normals(2 * 9 * 12);
  std::vector<float> y(x.size(), 77.0F);
  encoder.forward({x.data(), {2, 9, 12}}, {y.data(), {2, 9, 12}}, {.attention = {.causal = true}},
                  context());
  Array h({2, 9, 12}, x);
  for (std::size_t l = 0; l < 3; ++l) {
    const TransformerLayerOptions& options = encoder.options().layers[l];
    reference::Attention r = attn_test::rules_of(options);
    r.causal_offset = Array({1});
    h = reference::encoder_layer(
        attn_test::reference_of(encoder, "layers." + std::to_string(l) + ".", options), h, r);
  }
  reference::TransformerLayer last = attn_test::reference_of(encoder, "", local);
  EXPECT_TRUE(is_within(y, reference::norm(last, "norm", h), 3 * kTransformerError));

  std::vector<attn::KeyValueCache> caches = encoder.make_caches(2);
  EXPECT_EQ(caches[1].keys().size(1), 3);
  EXPECT_EQ(caches[2].keys().size(1), 1);
}

TEST(TransformerEncoderParametersTest, of_todays_layers) {
  const std::vector<TransformerLayerOptions> layers = attn_test::todays_layers();
  EXPECT_THAT(TransformerEncoderLayer(layers[4]).parameter_names(),
              ::testing::ElementsAre(
                  "self_attn.q_proj_weight", "self_attn.k_proj_weight", "self_attn.v_proj_weight",
                  "self_attn.out_proj.weight", "self_attn.q_norm.weight", "self_attn.k_norm.weight",
                  "gate_proj.weight", "up_proj.weight", "down_proj.weight", "norm1.weight",
                  "norm2.weight", "output_norm1.weight", "output_norm2.weight"));
  EXPECT_THAT(TransformerEncoderLayer(layers[6]).parameter_names(),
              ::testing::ElementsAre("self_attn.in_proj_weight", "self_attn.out_proj.weight",
                                     "self_attn.q_norm.weight", "self_attn.k_norm.weight",
                                     "gate_proj.weight", "up_proj.weight", "down_proj.weight",
                                     "output_norm1.weight", "output_norm2.weight"));
  // Newly initialised norms scale by 1.
  TransformerEncoderLayer gemma(layers[4]), llama(layers[1]);
  gemma.initialize_xavier(1);
  llama.initialize_xavier(1);
  EXPECT_EQ(gemma.parameter("output_norm2.weight")(0), 0.0F);
  EXPECT_EQ(llama.parameter("norm2.weight")(0), 1.0F);
}

TEST(TransformerEncoderErrorTest, options_that_contradict_each_other) {
  EXPECT_EQ(
      error_of([] {
        TransformerEncoderLayer layer(
            {.d_model = 8, .layer_norm_eps = 0.5F, .rms_norm = attn::RmsNormOptions{}});
      }),
      "invalid_argument: layer_norm_eps: got 0.5, needs the default, because rms_norm has its "
      "own eps");
  EXPECT_EQ(
      error_of([] { TransformerEncoder encoder({.num_layers = 3, .layers = {{.d_model = 8}}}); }),
      "invalid_argument: num_layers: got 3, needs 1, the number of layers");
  EXPECT_EQ(
      error_of([] { TransformerEncoder encoder({.layers = {{.d_model = 8}, {.d_model = 9}}}); }),
      "invalid_argument: layers: got d_model 9, needs 8, as in the first layer");
  EXPECT_EQ(
      error_of([] { TransformerEncoderLayer layer({.d_model = 8, .parallel_residual = true}); }),
      "invalid_argument: parallel_residual: got true, needs false without norm_first");
}

TEST_P(TransformerEncoderTest, a_stack_matches_the_reference) {
  Random random;
  for (const bool pre_norm : {false, true}) {
    TransformerEncoder encoder(
        {.layer = {.d_model = 12, .num_heads = 2, .dim_feedforward = 20, .norm_first = pre_norm},
         .num_layers = 3,
         .final_norm = pre_norm});
    randomize(encoder, random);
    const std::vector<float> x = random.normals(2 * 5 * 12);
    std::vector<float> y(x.size(), 77.0F);
    std::vector<FloatTensor> weights(3, FloatTensor::filled({2, 2, 5, 5}, 77.0F));
    const std::vector<Tensor> views{weights[0].view(), Tensor(), weights[2].view()};
    encoder.forward({x.data(), {2, 5, 12}}, {y.data(), {2, 5, 12}}, {.weights = views}, context());
    Array h({2, 5, 12}, x);
    for (std::size_t l = 0; l < 3; ++l) {
      Array exact_weights;
      h = reference::encoder_layer(
          attn_test::reference_of(encoder, "layers." + std::to_string(l) + ".",
                                  encoder.options().layer),
          h, {}, &exact_weights);
      if (l != 1) {
        EXPECT_TRUE(is_within(weights[l].values(), exact_weights, 2 * kTransformerError));
      }
    }
    if (pre_norm) {
      const auto norm = attn_test::reference_of(encoder, "norm.", encoder.options().layer);
      h = reference::layer_norm(h, norm.weights.at("weight"), norm.weights.at("bias"), 1e-5);
    }
    EXPECT_TRUE(is_within(y, h, 3 * kTransformerError));
    EXPECT_EQ(weights[1].values()[0], 77.0F);
  }
}

// The encoder block of D2L 11.7.4 uses post-norm with AddNorm, ReLU, and attention without bias.
TEST_P(TransformerEncoderTest, d2l_encoder_block_is_a_special_case) {
  Random random;
  constexpr std::int64_t kWidth = 24;
  TransformerEncoderLayer block({.d_model = kWidth,
                                 .num_heads = 8,
                                 .dim_feedforward = 48,
                                 .attention_bias = false,
                                 .feed_forward_dropout = false});
  randomize(block, random);
  const std::vector<float> x(2 * 100 * kWidth, 1.0F);
  const std::vector<std::int32_t> valid_lens{3, 2};
  AttentionOptions options;
  options.valid_lens = {valid_lens.data(), {2}};
  for (const bool training : {false, true}) {
    const Dropout dropout{.probability = 0.5F, .training = training, .random = {1, 10}};
    const auto at = [&](std::uint64_t place) {
      Dropout result = dropout;
      result.random.stream += place;
      return result;
    };
    std::vector<float> y(x.size()), attended(x.size()), h(x.size()), fed(x.size()), want(x.size());
    const auto in = [&](const std::vector<float>& v) {
      return ConstTensor(v.data(), {2, 100, kWidth});
    };
    const auto out = [&](std::vector<float>& v) { return Tensor(v.data(), {2, 100, kWidth}); };
    block.forward(in(x), out(y), {.attention = options, .dropout = dropout}, context());

    attn::MultiHeadAttention attention({.d_model = kWidth, .num_heads = 8});
    attn::FeedForward ffn({.d_model = kWidth, .dim_feedforward = 48});
    attn::AddNorm addnorm1(kWidth), addnorm2(kWidth);
    for (const char* name : {"in_proj_weight", "out_proj.weight"}) {
      attention.set_parameter(name, block.parameter(std::string("self_attn.") + name));
    }
    for (const std::string& name : ffn.parameter_names()) {
      ffn.set_parameter(name, block.parameter(name));
    }
    for (const std::string name : {"weight", "bias"}) {
      addnorm1.set_parameter("ln." + name, block.parameter("norm1." + name));
      addnorm2.set_parameter("ln." + name, block.parameter("norm2." + name));
    }
    AttentionOptions attention_options = options;
    if (training) {
      attention_options.dropout = 0.5F;
      attention_options.dropout_random = at(0).random;
    }
    attention.forward(in(x), in(x), in(x), out(attended), {.attention = attention_options},
                      context());
    addnorm1.forward(in(x), in(attended), out(h), at(1), context());
    ffn.forward(in(h), out(fed), {}, context());
    addnorm2.forward(in(h), in(fed), out(want), at(3), context());
    EXPECT_TRUE(same_bits(y, want));
  }
}

TEST_P(TransformerEncoderTest, dropout_of_1_leaves_only_the_residual_connections) {
  TransformerEncoderLayer layer({.d_model = 8, .num_heads = 2, .norm_first = true});
  layer.initialize_xavier(attn::RandomStream{1});
  const std::vector<float> x = Random().normals(6 * 8);
  std::vector<float> y(x.size());
  layer.forward({x.data(), {6, 8}}, {y.data(), {6, 8}},
                {.dropout = {.probability = 1, .training = true}}, context());
  EXPECT_TRUE(same_bits(y, x));
}

TEST_P(TransformerEncoderTest, dropout_in_training_uses_a_separate_stream_in_each_place) {
  Random random;
  TransformerEncoder encoder(
      {.layer = {.d_model = 8, .num_heads = 2, .dim_feedforward = 8}, .num_layers = 2});
  randomize(encoder, random);
  const std::vector<float> x = random.normals(6 * 8);
  const auto run = [&](const Dropout& dropout, int threads) {
    std::vector<float> y(x.size());
    encoder.forward({x.data(), {6, 8}}, {y.data(), {6, 8}}, {.dropout = dropout}, context(threads));
    return y;
  };
  const Dropout dropout{.probability = 0.3F, .training = true, .random = {1, 2}};
  const std::vector<float> want = run(dropout, 1);
  EXPECT_TRUE(same_bits(run(dropout, 2), want));
  EXPECT_FALSE(same_bits(run({.probability = 0.3F, .training = true, .random = {1, 3}}, 2), want));
  EXPECT_FALSE(same_bits(run({.probability = 0.3F, .training = false}, 2), want));
  EXPECT_TRUE(same_bits(run({.probability = 0.3F, .training = false}, 2), run({}, 2)));

  // Computes the same result with one call per layer. In the second layer, dropout starts at random
  // stream 2 + 4.
  std::vector<float> h(x.size());
  encoder.layers()[0].forward({x.data(), {6, 8}}, {h.data(), {6, 8}}, {.dropout = dropout},
                              context());
  encoder.layers()[1].forward(
      {h.data(), {6, 8}}, {h.data(), {6, 8}},
      {.dropout = {.probability = 0.3F, .training = true, .random = {1, 6}}}, context());
  EXPECT_TRUE(same_bits(h, want));
}

TEST_P(TransformerEncoderTest, a_causal_stack_decodes_token_by_token) {
  Random random;
  for (const bool pre_norm : {false, true}) {
    TransformerEncoder model({.layer = {.d_model = 16,
                                        .num_heads = 4,
                                        .dim_feedforward = 24,
                                        .norm_first = pre_norm,
                                        .num_kv_heads = 2,
                                        .positions = {.rotary = {{}}, .alibi = true}},
                              .num_layers = 2,
                              .final_norm = pre_norm});
    randomize(model, random);
    const std::vector<float> x = random.normals(2 * 9 * 16);
    const ConstTensor in(x.data(), {2, 9, 16});
    TransformerEncoderCall call;
    call.attention.causal = true;
    std::vector<float> whole(x.size()), pieces(x.size()), steps(x.size());
    model.forward(in, {whole.data(), {2, 9, 16}}, call, context());

    const auto decode = [&](std::vector<float>& y, const std::vector<std::int64_t>& sizes) {
      std::vector<attn::KeyValueCache> caches = model.make_caches(2, 4);
      TransformerEncoderCall step = call;
      step.caches = caches;
      std::int64_t begin = 0;
      for (const std::int64_t size : sizes) {
        model.forward(in.slice(1, begin, begin + size),
                      Tensor(y.data(), {2, 9, 16}).slice(1, begin, begin + size), step, context());
        begin += size;
      }
    };
    decode(pieces, {4, 3, 2});
    EXPECT_TRUE(same_bits(pieces, whole));
    decode(steps, std::vector<std::int64_t>(9, 1));
    for (std::size_t i = 0; i < whole.size(); ++i)
      EXPECT_NEAR(steps[i], whole[i], kTransformerError);
  }
}

TEST_P(TransformerEncoderTest, layouts_threads_and_batches_give_the_same_bits) {
  Random random;
  TransformerEncoderLayer layer(
      {.d_model = 20, .num_heads = 2, .dim_feedforward = 30, .activation = Activation::kGelu});
  randomize(layer, random);
  const std::vector<float> x = random.normals(3 * 40 * 20);
  std::vector<float> want(x.size()), y(x.size()), alone(40 * 20);
  layer.forward({x.data(), {3, 40, 20}}, {want.data(), {3, 40, 20}}, {}, context(1));
  layer.forward({x.data(), {3, 40, 20}}, {y.data(), {3, 40, 20}}, {}, context(2));
  EXPECT_TRUE(same_bits(y, want));
  layer.forward({x.data() + 800, {40, 20}}, {alone.data(), {40, 20}}, {}, context());
  EXPECT_TRUE(same_bits(alone, {want.begin() + 800, want.begin() + 1600}));
  for (const Layout layout : {Layout::kSpread, Layout::kTransposed, Layout::kReversed}) {
    for (const bool in_place : {false, true}) {
      FloatTensor in({3, 40, 20}, x, layout);
      FloatTensor out = FloatTensor::filled({3, 40, 20}, 77.0F, layout);
      FloatTensor& result = in_place ? in : out;
      layer.forward(in.view(), result.view(), {}, context());
      EXPECT_TRUE(same_bits(result.values(), want));
      EXPECT_TRUE(result.gaps_are_untouched());
    }
  }
}

TEST_P(TransformerEncoderTest, masked_tokens_have_no_influence) {
  Random random;
  TransformerEncoder encoder(
      {.layer = {.d_model = 8, .num_heads = 2, .dim_feedforward = 8}, .num_layers = 2});
  randomize(encoder, random);
  std::vector<float> x = random.normals(5 * 8);
  const std::vector<std::uint8_t> mask{1, 1, 1, 0, 1};
  TransformerEncoderCall call;
  call.attention.mask = {mask.data(), {5}};
  std::vector<float> clean(x.size()), y(x.size());
  encoder.forward({x.data(), {5, 8}}, {clean.data(), {5, 8}}, call, context());
  for (std::size_t c = 24; c < 32; ++c) x[c] = std::numeric_limits<float>::quiet_NaN();
  encoder.forward({x.data(), {5, 8}}, {y.data(), {5, 8}}, call, context());
  for (std::size_t i = 0; i < y.size(); ++i) {
    if (i / 8 == 3) {
      EXPECT_TRUE(std::isnan(y[i]));
    } else {
      EXPECT_EQ(y[i], clean[i]);
    }
  }
}

TEST_P(TransformerEncoderTest, a_seed_gives_the_same_weights_everywhere) {
  const attn::TransformerEncoderOptions options{
      .layer = {.d_model = 8, .num_heads = 2, .dim_feedforward = 8},
      .num_layers = 2,
      .final_norm = true};
  TransformerEncoder a(options), b(options);
  a.initialize_xavier(7, context(1));
  b.initialize_xavier(7, context(2));
  std::vector<float> firsts;
  for (const std::string& name : a.parameter_names()) {
    const ConstTensor left = a.parameter(name), right = b.parameter(name);
    std::int64_t count = 1;
    for (const std::int64_t size : left.shape()) count *= size;
    for (std::int64_t i = 0; i < count; ++i) ASSERT_EQ(left.data()[i], right.data()[i]) << name;
    if (left.rank() == 2) {
      firsts.push_back(left.data()[0]);
    } else {
      const bool one = name.find("norm") != std::string::npos && name.ends_with("weight");
      EXPECT_EQ(left.data()[0], one ? 1.0F : 0.0F) << name;
    }
  }
  // No two matrices are drawn from the same stream.
  std::sort(firsts.begin(), firsts.end());
  EXPECT_EQ(std::adjacent_find(firsts.begin(), firsts.end()), firsts.end());
}

TEST_P(TransformerEncoderTest, a_steady_loop_does_not_allocate) {
  Random random;
  TransformerEncoder encoder({.layer = {.d_model = 8, .num_heads = 2, .dim_feedforward = 8},
                              .num_layers = 2,
                              .final_norm = true});
  randomize(encoder, random);
  std::vector<float> x = random.normals(4 * 8), w(2 * 4 * 4);
  const std::vector<Tensor> weights(2, Tensor(w.data(), {1, 2, 4, 4}));
  attn_test::expect_no_allocations([&] {
    encoder.forward({x.data(), {4, 8}}, {x.data(), {4, 8}}, {.weights = weights}, context());
  });
}

TEST_P(TransformerEncoderTest, a_call_that_runs_out_of_memory_has_written_nothing) {
  Random random;
  TransformerEncoder encoder({.layer = {.d_model = 8, .num_heads = 2, .dim_feedforward = 8},
                              .num_layers = 2,
                              .final_norm = true});
  randomize(encoder, random);
  const std::vector<float> x = random.normals(4 * 8);
  std::vector<float> y(x.size(), 5.0F), w(2 * 4 * 4, 5.0F);
  const std::vector<Tensor> weights(2, Tensor(w.data(), {1, 2, 4, 4}));
  std::vector<attn::KeyValueCache> caches = encoder.make_caches(1, 0);
  attn::Context fresh({.num_threads = 1, .instruction_set = GetParam()});
  attn_test::expect_unchanged_until_memory_suffices(
      [&] {
        encoder.forward({x.data(), {4, 8}}, {y.data(), {4, 8}},
                        {.weights = weights, .caches = caches}, fresh);
      },
      [&](std::int64_t allowed) {
        ASSERT_EQ(std::count(y.begin(), y.end(), 5.0F), std::ssize(y)) << allowed;
        ASSERT_EQ(std::count(w.begin(), w.end(), 5.0F), std::ssize(w)) << allowed;
        for (const attn::KeyValueCache& cache : caches) ASSERT_EQ(cache.length(), 0) << allowed;
        fresh.release_memory();
      });
}

TEST(TransformerEncoderParametersTest, have_pytorchs_names_in_its_order) {
  const TransformerEncoder encoder(
      {.layer = {.d_model = 4, .num_heads = 2, .dim_feedforward = 6}, .final_norm = true});
  EXPECT_THAT(encoder.parameter_names(),
              ::testing::ElementsAre(
                  "layers.0.self_attn.in_proj_weight", "layers.0.self_attn.in_proj_bias",
                  "layers.0.self_attn.out_proj.weight", "layers.0.self_attn.out_proj.bias",
                  "layers.0.linear1.weight", "layers.0.linear1.bias", "layers.0.linear2.weight",
                  "layers.0.linear2.bias", "layers.0.norm1.weight", "layers.0.norm1.bias",
                  "layers.0.norm2.weight", "layers.0.norm2.bias", "norm.weight", "norm.bias"));
  EXPECT_THAT(encoder.parameter("layers.0.linear1.weight").shape(), ::testing::ElementsAre(6, 4));
  const TransformerEncoderLayer plain(
      {.d_model = 4, .num_heads = 2, .dim_feedforward = 6, .bias = false});
  EXPECT_THAT(
      plain.parameter_names(),
      ::testing::ElementsAre("self_attn.in_proj_weight", "self_attn.out_proj.weight",
                             "linear1.weight", "linear2.weight", "norm1.weight", "norm2.weight"));
}

TEST(TransformerEncoderErrorTest, options) {
  const auto error = [](const TransformerLayerOptions& options) {
    return error_of([&] { TransformerEncoderLayer layer(options); });
  };
  EXPECT_EQ(error({}), "invalid_argument: d_model: got 0, needs 1 or more");
  EXPECT_EQ(error({.d_model = 4, .num_heads = 3}),
            "invalid_argument: num_heads: got 3, needs a divisor of d_model 4");
  EXPECT_EQ(error({.d_model = 4, .dim_feedforward = 0}),
            "invalid_argument: dim_feedforward: got 0, needs 1 or more");
  EXPECT_EQ(error({.d_model = 4, .layer_norm_eps = -1}),
            "invalid_argument: eps: got -1, needs a finite number of at least 0");
  EXPECT_EQ(
      error_of([] { TransformerEncoder encoder({.layer = {.d_model = 4}, .num_layers = 0}); }),
      "invalid_argument: num_layers: got 0, needs 1 or more");
}

TEST(TransformerEncoderErrorTest, calls) {
  const attn::TransformerEncoderOptions options{
      .layer = {.d_model = 4, .num_heads = 2, .dim_feedforward = 6}, .num_layers = 2};
  const TransformerEncoder encoder(options);
  const TransformerEncoderLayer layer(options.layer);
  const std::vector<float> x(100, 1.0F);
  std::vector<float> y(100, 5.0F), w(100, 5.0F);
  const ConstTensor in(x.data(), {2, 3, 4});
  const Tensor out(y.data(), {2, 3, 4});
  for (const bool stack : {false, true}) {
    const auto error = [&](const ConstTensor& from, const Tensor& to) {
      return error_of([&] {
        if (stack) {
          encoder.forward(from, to);
        } else {
          layer.forward(from, to);
        }
      });
    };
    EXPECT_EQ(error({x.data(), {4}}, out),
              "shape_mismatch: x: got shape (4), needs rank 2 (N, d_model) or 3 (B, N, d_model)");
    EXPECT_EQ(error({x.data(), {2, 3, 5}}, out),
              "shape_mismatch: x: got shape (2, 3, 5), needs shape (any, any, 4)");
    EXPECT_EQ(error(in, {y.data(), {3, 4}}),
              "shape_mismatch: output: got shape (3, 4), needs shape (2, 3, 4)");
    EXPECT_EQ(error({nullptr, {2, 3, 4}}, out),
              "invalid_argument: x: got a null pointer, needs data");
  }
  const auto error = [&](const TransformerEncoderCall& call) {
    return error_of([&] { encoder.forward(in, out, call); });
  };
  TransformerEncoderCall call;
  call.attention.weights = {w.data(), {2, 2, 3, 3}};
  EXPECT_EQ(
      error(call),
      "invalid_argument: attention: got an output tensor, needs none, because every layer would "
      "write to it; the call itself takes one tensor of weights for each layer");
  const std::vector<Tensor> one(1);
  EXPECT_EQ(error({.weights = one}),
            "invalid_argument: weights: got 1, needs none or one for each of the 2 layers");
  const std::vector<Tensor> wrong(2, Tensor(w.data(), {2, 2, 3, 4}));
  EXPECT_EQ(error({.weights = wrong}),
            "shape_mismatch: weights: got shape (2, 2, 3, 4), needs shape (2, 2, 3, 3)");
  EXPECT_EQ(error({.dropout = {.probability = 2}}),
            "invalid_argument: dropout: got 2, needs a probability between 0 and 1");
  std::vector<attn::KeyValueCache> caches = encoder.make_caches(2);
  EXPECT_EQ(error({.caches = std::span(caches).first(1)}),
            "invalid_argument: caches: got 1, needs none or one for each of the 2 layers");
  encoder.layers()[1].self_attention().append(in, in, caches[1]);
  EXPECT_EQ(error({.caches = caches}),
            "shape_mismatch: caches: got length 3, needs 0, the length of the first cache");
  EXPECT_EQ(error_of([&] {
              layer.forward(in, out, {.attention = {.softcap = -1}, .cache = &caches[0]});
            }),
            "invalid_argument: softcap: got -1, needs 0 (none) or a finite number above 0");
  const std::string refusal =
      "invalid_argument: attention.dropout: got 0.5, needs 0; the dropout of the call already "
      "covers the attention weights";
  EXPECT_EQ(error_of([&] { layer.forward(in, out, {.attention = {.dropout = 0.5F}}); }), refusal);
  EXPECT_EQ(error({.attention = {.dropout = 0.5F}}), refusal);
  EXPECT_EQ(caches[0].length(), 0);
  EXPECT_THAT(y, ::testing::Each(5.0F));
  EXPECT_THAT(w, ::testing::Each(5.0F));
}

}  // namespace
