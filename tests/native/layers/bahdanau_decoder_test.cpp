#include "attn/layers/bahdanau_decoder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "allocation.hpp"
#include "attn/io/state_dict.hpp"
#include "compare.hpp"
#include "every_instruction_set.hpp"
#include "host_tensor.hpp"
#include "measure.hpp"
#include "random.hpp"
#include "reference/bahdanau_decoder.hpp"

namespace {

using attn::BahdanauDecoder;
using attn::BahdanauDecoderOptions;
using attn_test::error_of;
using attn_test::FloatTensor;
using attn_test::Layout;
using attn_test::Random;
using attn_test::same_bits;
using reference::Array;
using ::testing::Each;
using ::testing::ElementsAre;

struct Result {
  std::vector<float> logits, alignment, hidden;
};

/// A decoder with drawn weights, a batch of encoder outputs and target tokens.
struct Case {
  BahdanauDecoderOptions options;
  BahdanauDecoder decoder;
  std::map<std::string, std::vector<float>> parameters;
  std::int64_t batch, keys, steps, encoder_dim;
  std::vector<float> encoder_outputs, hidden;
  std::vector<std::int32_t> lens;
  std::vector<std::int64_t> tokens;

  Case(const BahdanauDecoderOptions& o, std::int64_t batch_, std::int64_t keys_,
       std::int64_t steps_, Random& random)
      : options(o),
        decoder(o),
        batch(batch_),
        keys(keys_),
        steps(steps_),
        encoder_dim(o.encoder_dim.value_or(o.num_hiddens)) {
    for (const std::string& name : decoder.parameter_names()) {
      const attn::ConstTensor parameter = decoder.parameter(name);
      std::int64_t count = 1;
      for (const std::int64_t size : parameter.shape()) count *= size;
      parameters[name] =
          random.normals(count, 1 / std::sqrt(static_cast<float>(parameter.size(-1))));
      decoder.set_parameter(name, {parameters[name].data(), parameter.shape()});
    }
    encoder_outputs = random.normals(batch * keys * encoder_dim);
    hidden = random.normals(o.num_layers * batch * o.num_hiddens, 0.5F);
    for (std::int64_t b = 0; b < batch; ++b) {
      lens.push_back(static_cast<std::int32_t>(random.integer(1, keys)));
    }
    for (std::int64_t i = 0; i < batch * steps; ++i) {
      tokens.push_back(random.integer(0, o.vocab_size - 1));
    }
  }

  BahdanauDecoder::State state(attn::Context& context) const {
    return decoder.init_state({encoder_outputs.data(), {batch, keys, encoder_dim}},
                              {hidden.data(), {options.num_layers, batch, options.num_hiddens}},
                              {lens.data(), {batch}}, context);
  }

  Result run(attn::Context& context, Layout layout = Layout::kContiguous) const {
    BahdanauDecoder::State s = state(context);
    FloatTensor logits = FloatTensor::filled({batch, steps, options.vocab_size}, 77, layout);
    FloatTensor alignment = FloatTensor::filled({batch, steps, keys}, 77, layout);
    decoder.forward({tokens.data(), {batch, steps}}, s, logits.view(), alignment.view(), context);
    EXPECT_TRUE(logits.gaps_are_untouched());
    EXPECT_TRUE(alignment.gaps_are_untouched());
    return {logits.values(), alignment.values(), values_of(s)};
  }

  static std::vector<float> values_of(const BahdanauDecoder::State& s) {
    const attn::ConstTensor h = s.hidden();
    return {h.data(), h.data() + h.size(0) * h.size(1) * h.size(2)};
  }

  Array parameter(const std::string& name) const {
    const attn::ConstTensor parameter = decoder.parameter(name);
    const auto shape = parameter.shape();
    return Array({shape.begin(), shape.end()}, parameters.at(name));
  }
};

/// The expected result for entry b of the batch.
reference::BahdanauResult expected(const Case& c, std::int64_t b) {
  const BahdanauDecoderOptions& o = c.options;
  reference::BahdanauDecoder p;
  for (const auto& [name, values] : c.parameters) p.weights[name] = c.parameter(name);
  p.num_layers = o.num_layers;
  const auto outputs = c.encoder_outputs.begin() + b * c.keys * c.encoder_dim;
  p.encoder_outputs =
      Array({c.keys, c.encoder_dim}, std::vector<float>(outputs, outputs + c.keys * c.encoder_dim));
  p.encoder_len = c.lens[static_cast<std::size_t>(b)];
  p.hidden = Array({o.num_layers, o.num_hiddens});
  for (std::int64_t l = 0; l < o.num_layers; ++l) {
    for (std::int64_t i = 0; i < o.num_hiddens; ++i) {
      p.hidden.at({l, i}) =
          c.hidden[static_cast<std::size_t>((l * c.batch + b) * o.num_hiddens + i)];
    }
  }
  p.tokens.assign(c.tokens.begin() + b * c.steps, c.tokens.begin() + (b + 1) * c.steps);
  return reference::bahdanau_decoder(p);
}

using BahdanauDecoderTest = attn_test::EveryInstructionSet;
INSTANTIATE_EVERY_INSTRUCTION_SET(BahdanauDecoderTest);

TEST_P(BahdanauDecoderTest, matches_the_reference) {
  Random random;
  attn_test::LargestError logits_error("Bahdanau decoder's logits", 1e-6);
  attn_test::LargestError weights_error("Bahdanau decoder's alignment", 3e-7);
  for (const BahdanauDecoderOptions& o :
       {BahdanauDecoderOptions{1, 1, 1}, BahdanauDecoderOptions{5, 3, 4},
        BahdanauDecoderOptions{17, 8, 16, 2}, BahdanauDecoderOptions{33, 5, 19, 3, 7}}) {
    for (const std::int64_t batch : {1, 3}) {
      for (const std::int64_t keys : {1, 9, 20}) {
        const Case c(o, batch, keys, 5, random);
        const Result got = c.run(context());
        for (std::int64_t b = 0; b < batch; ++b) {
          const reference::BahdanauResult want = expected(c, b);
          for (std::size_t i = 0; i < want.logits.values.size(); ++i) {
            logits_error.add(
                got.logits[static_cast<std::size_t>(b) * want.logits.values.size() + i] -
                want.logits.values[i]);
          }
          for (std::size_t i = 0; i < want.alignment.values.size(); ++i) {
            weights_error.add(
                got.alignment[static_cast<std::size_t>(b) * want.alignment.values.size() + i] -
                want.alignment.values[i]);
          }
        }
      }
    }
  }
}

TEST_P(BahdanauDecoderTest, step_by_step_gives_the_bits_of_the_whole) {
  Random random;
  const Case c({23, 6, 18, 2}, 3, 7, 6, random);
  const Result whole = c.run(context());
  BahdanauDecoder::State state = c.state(context());
  std::vector<float> logits(3 * 6 * 23), alignment(3 * 6 * 7);
  const attn::Tensor all_logits(logits.data(), {3, 6, 23}),
      all_weights(alignment.data(), {3, 6, 7});
  const attn::TensorView<const std::int64_t> tokens(c.tokens.data(), {3, 6});
  for (const auto& [begin, end] : {std::pair(0, 1), {1, 2}, {2, 5}, {5, 5}, {5, 6}}) {
    c.decoder.forward(tokens.slice(1, begin, end), state, all_logits.slice(1, begin, end),
                      all_weights.slice(1, begin, end), context());
  }
  EXPECT_TRUE(same_bits(logits, whole.logits));
  EXPECT_TRUE(same_bits(alignment, whole.alignment));
  EXPECT_TRUE(same_bits(Case::values_of(state), whole.hidden));
}

TEST_P(BahdanauDecoderTest, a_copied_state_branches_off) {
  Random random;
  const Case c({5, 3, 4}, 1, 6, 3, random);
  BahdanauDecoder::State state = c.state(context());
  const BahdanauDecoder::State before = state;
  std::vector<float> first(3 * 5), second(3 * 5);
  const attn::TensorView<const std::int64_t> tokens(c.tokens.data(), {1, 3});
  c.decoder.forward(tokens, state, {first.data(), {1, 3, 5}}, {}, context());
  BahdanauDecoder::State again = before;
  c.decoder.forward(tokens, again, {second.data(), {1, 3, 5}}, {}, context());
  EXPECT_TRUE(same_bits(first, second));
}

TEST_P(BahdanauDecoderTest, any_number_of_threads_any_batch_and_layout_give_the_same_bits) {
  Random random;
  Case c({23, 6, 18, 2, 11}, 3, 7, 4, random);
  const Result one = c.run(context(1));
  const Result two = c.run(context(2));
  EXPECT_TRUE(same_bits(two.logits, one.logits));
  EXPECT_TRUE(same_bits(two.alignment, one.alignment));
  for (const Layout layout : {Layout::kSpread, Layout::kTransposed, Layout::kReversed}) {
    const Result got = c.run(context(), layout);
    EXPECT_TRUE(same_bits(got.logits, one.logits));
    EXPECT_TRUE(same_bits(got.alignment, one.alignment));
  }
  // Decodes the second sequence alone.
  const auto part = [](auto& all, std::int64_t size) {
    all = {all.begin() + size, all.begin() + 2 * size};
  };
  std::vector<float> hidden;
  for (std::int64_t l = 0; l < 2; ++l) {
    hidden.insert(hidden.end(), c.hidden.begin() + (l * 3 + 1) * 18,
                  c.hidden.begin() + (l * 3 + 2) * 18);
  }
  c.hidden = hidden;
  part(c.encoder_outputs, 7 * 11);
  part(c.lens, 1);
  part(c.tokens, 4);
  c.batch = 1;
  const Result alone = c.run(context());
  EXPECT_TRUE(same_bits(alone.logits, {one.logits.begin() + 4 * 23, one.logits.begin() + 8 * 23}));
  EXPECT_TRUE(
      same_bits(alone.alignment, {one.alignment.begin() + 4 * 7, one.alignment.begin() + 8 * 7}));
}

TEST_P(BahdanauDecoderTest, padding_of_the_encoder_is_not_read) {
  Random random;
  Case c({5, 3, 4}, 2, 6, 3, random);
  c.lens = {4, 0};
  const Result clean = c.run(context());
  for (std::size_t i = 0; i < c.encoder_outputs.size(); ++i) {
    if (i / 4 >= 4) c.encoder_outputs[i] = std::numeric_limits<float>::quiet_NaN();
  }
  const Result got = c.run(context());
  EXPECT_TRUE(same_bits(got.logits, clean.logits));
  EXPECT_TRUE(same_bits(got.alignment, clean.alignment));
  for (std::size_t i = 0; i < got.alignment.size(); ++i) {
    if (i / 18 == 1 || i % 6 >= 4) {
      EXPECT_EQ(got.alignment[i], 0.0F) << i;
    }
  }
}

TEST_P(BahdanauDecoderTest, tokens_of_32_bits_give_the_same) {
  Random random;
  const Case c({5, 3, 4}, 2, 6, 3, random);
  const Result expected = c.run(context());
  BahdanauDecoder::State state = c.state(context());
  const std::vector<std::int32_t> tokens(c.tokens.begin(), c.tokens.end());
  std::vector<float> logits(2 * 3 * 5);
  c.decoder.forward({tokens.data(), {2, 3}}, state, {logits.data(), {2, 3, 5}}, {}, context());
  EXPECT_TRUE(same_bits(logits, expected.logits));
}

TEST_P(BahdanauDecoderTest, a_steady_loop_of_calls_allocates_nothing) {
  Random random;
  const Case c({23, 6, 18, 2}, 3, 7, 4, random);
  BahdanauDecoder::State state = c.state(context());
  std::vector<float> logits(3 * 4 * 23), alignment(3 * 4 * 7);
  attn_test::expect_no_allocations([&] {
    c.decoder.forward({c.tokens.data(), {3, 4}}, state, {logits.data(), {3, 4, 23}},
                      {alignment.data(), {3, 4, 7}}, context());
  });
}

// ---- Parameters and errors

TEST(BahdanauDecoderParametersTest, have_the_names_of_d2l_s_state_dict) {
  const BahdanauDecoder decoder({10, 8, 16, 2});
  EXPECT_THAT(
      decoder.parameter_names(),
      ElementsAre("attention.W_k.weight", "attention.W_q.weight", "attention.w_v.weight",
                  "embedding.weight", "rnn.weight_ih_l0", "rnn.weight_hh_l0", "rnn.bias_ih_l0",
                  "rnn.bias_hh_l0", "rnn.weight_ih_l1", "rnn.weight_hh_l1", "rnn.bias_ih_l1",
                  "rnn.bias_hh_l1", "dense.weight", "dense.bias"));
  EXPECT_THAT(decoder.parameter("attention.W_k.weight").shape(), ElementsAre(16, 16));
  EXPECT_THAT(decoder.parameter("embedding.weight").shape(), ElementsAre(10, 8));
  EXPECT_THAT(decoder.parameter("rnn.weight_ih_l0").shape(), ElementsAre(48, 24));
  EXPECT_THAT(decoder.parameter("dense.weight").shape(), ElementsAre(10, 16));
}

TEST(BahdanauDecoderParametersTest, are_saved_and_loaded) {
  Random random;
  const Case c({5, 3, 4, 2}, 1, 2, 1, random);
  BahdanauDecoder other({5, 3, 4, 2});
  attn::load_state_dict(
      other, attn::Safetensors::own(attn::to_safetensors(attn::state_dict(c.decoder, "decoder."))),
      "decoder.");
  for (const std::string& name : other.parameter_names()) {
    const attn::ConstTensor values = other.parameter(name);
    EXPECT_EQ(std::vector<float>(values.data(), values.data() + c.parameters.at(name).size()),
              c.parameters.at(name));
  }
}

TEST(BahdanauDecoderErrorTest, options) {
  const auto error = [](const BahdanauDecoderOptions& o) {
    return error_of([&] { BahdanauDecoder{o}; });
  };
  EXPECT_EQ(error({0, 1, 1}), "invalid_argument: vocab_size: got 0, needs 1 or more");
  EXPECT_EQ(error({1, 0, 1}), "invalid_argument: embed_size: got 0, needs 1 or more");
  EXPECT_EQ(error({1, 1, 0}), "invalid_argument: num_hiddens: got 0, needs 1 or more");
  EXPECT_EQ(error({1, 1, 1, 0}), "invalid_argument: num_layers: got 0, needs 1 or more");
  EXPECT_EQ(error({1, 1, 1, 1, 0}), "invalid_argument: encoder_dim: got 0, needs 1 or more");
}

TEST(BahdanauDecoderErrorTest, sizes_beyond_the_address_space) {
  constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
  for (const BahdanauDecoderOptions& o :
       {BahdanauDecoderOptions{kLargest, 1, 1}, BahdanauDecoderOptions{1, kLargest, 1},
        BahdanauDecoderOptions{1, 1, kLargest}, BahdanauDecoderOptions{1, 1, 1, 1, kLargest},
        BahdanauDecoderOptions{1, kLargest, 1, 1, kLargest}}) {
    EXPECT_THAT(error_of([&] { BahdanauDecoder{o}; }), ::testing::StartsWith("size_overflow: "));
  }
  // The size of the keys overflows. All 2^62 keys are at one address.
  const BahdanauDecoder decoder({1, 1, 1});
  const float x = 0;
  const std::int64_t still[] = {0, 0, 0}, outputs[] = {1, std::int64_t{1} << 62, 1};
  EXPECT_THAT(error_of([&] { decoder.init_state({&x, outputs, still}, {&x, {1, 1, 1}}); }),
              ::testing::StartsWith("size_overflow: encoder_outputs: "));
}

TEST(BahdanauDecoderErrorTest, states) {
  const BahdanauDecoder decoder({5, 3, 4, 2});
  const std::vector<float> x(200);
  const std::vector<std::int32_t> lens{3, 7};
  using Shape = std::initializer_list<std::int64_t>;
  const auto error = [&](Shape outputs, Shape hidden, const attn::ConstLengths& lengths = {}) {
    return error_of([&] { decoder.init_state({x.data(), outputs}, {x.data(), hidden}, lengths); });
  };
  EXPECT_EQ(error({6, 4}, {2, 1, 4}),
            "shape_mismatch: encoder_outputs: got shape (6, 4), needs shape (any, any, 4)");
  EXPECT_EQ(error({2, 6, 5}, {2, 2, 4}),
            "shape_mismatch: encoder_outputs: got shape (2, 6, 5), needs shape (any, any, 4)");
  EXPECT_EQ(error({2, 6, 4}, {1, 2, 4}),
            "shape_mismatch: hidden: got shape (1, 2, 4), needs shape (2, 2, 4)");
  EXPECT_EQ(error({2, 6, 4}, {2, 2, 4}, {lens.data(), {1}}),
            "shape_mismatch: encoder_lens: got shape (1), needs shape (2)");
  EXPECT_EQ(error({2, 6, 4}, {2, 2, 4}, {lens.data(), {2}}),
            "invalid_argument: encoder_lens: got 7, needs a length from 0 to 6, the number of "
            "encoder outputs");
  EXPECT_EQ(error_of([&] { decoder.init_state({nullptr, {2, 6, 4}}, {x.data(), {2, 2, 4}}); }),
            "invalid_argument: encoder_outputs: got a null pointer, needs data");
  EXPECT_EQ(error_of([&] { decoder.init_state({x.data(), {2, 6, 4}}, {nullptr, {2, 2, 4}}); }),
            "invalid_argument: hidden: got a null pointer, needs data");
}

TEST(BahdanauDecoderErrorTest, steps_leave_everything_as_it_was) {
  Random random;
  const Case c({5, 3, 4, 2}, 2, 6, 3, random);
  BahdanauDecoder::State state = c.state(attn::Context::default_context());
  std::vector<float> y(200, 5.0F);
  std::vector<std::int32_t> tokens(20, 1);
  using Shape = std::initializer_list<std::int64_t>;
  const auto error = [&](Shape ids, Shape logits, const attn::Tensor& alignment = {}) {
    return error_of(
        [&] { c.decoder.forward({tokens.data(), ids}, state, {y.data(), logits}, alignment); });
  };
  EXPECT_EQ(error({3}, {2, 3, 5}), "shape_mismatch: tokens: got shape (3), needs shape (2, any)");
  EXPECT_EQ(error({1, 3}, {1, 3, 5}),
            "shape_mismatch: tokens: got shape (1, 3), needs shape (2, any)");
  EXPECT_EQ(error({2, 3}, {2, 3, 4}),
            "shape_mismatch: logits: got shape (2, 3, 4), needs shape (2, 3, 5)");
  EXPECT_EQ(error({2, 3}, {2, 3, 5}, {y.data(), {2, 3, 5}}),
            "shape_mismatch: alignment: got shape (2, 3, 5), needs shape (2, 3, 6)");
  tokens[4] = 5;
  EXPECT_EQ(error({2, 3}, {2, 3, 5}),
            "invalid_argument: tokens: got 5, needs a token between 0 and 4");
  tokens[4] = -1;
  EXPECT_EQ(error({2, 3}, {2, 3, 5}),
            "invalid_argument: tokens: got -1, needs a token between 0 and 4");
  for (const BahdanauDecoderOptions& o :
       {BahdanauDecoderOptions{5, 3, 4, 1}, BahdanauDecoderOptions{5, 3, 5, 2},
        BahdanauDecoderOptions{5, 3, 4, 2, 5}}) {
    const BahdanauDecoder other(o);
    EXPECT_EQ(
        error_of([&] { other.forward({tokens.data(), {2, 3}}, state, {y.data(), {2, 3, 5}}); }),
        "invalid_argument: state: got a state from another decoder, needs one from this "
        "decoder's init_state()");
  }
  EXPECT_THAT(y, Each(5.0F));
  EXPECT_TRUE(same_bits(Case::values_of(state), c.hidden));
}

TEST(BahdanauDecoderErrorTest, memory_that_runs_out_leaves_everything_as_it_was) {
  Random random;
  const Case c({23, 6, 40, 2}, 3, 300, 4, random);
  attn::Context context({.num_threads = 1});
  BahdanauDecoder::State state = c.state(context);
  context.release_memory();
  std::vector<float> logits(3 * 4 * 23, 5.0F), alignment(3 * 4 * 300, 5.0F);
  attn_test::expect_unchanged_until_memory_suffices(
      [&] {
        c.decoder.forward({c.tokens.data(), {3, 4}}, state, {logits.data(), {3, 4, 23}},
                          {alignment.data(), {3, 4, 300}}, context);
      },
      [&](std::int64_t allowed) {
        EXPECT_THAT(logits, Each(5.0F)) << allowed;
        EXPECT_THAT(alignment, Each(5.0F)) << allowed;
        EXPECT_TRUE(same_bits(Case::values_of(state), c.hidden)) << allowed;
        context.release_memory();
      });
}

TEST(BahdanauDecoderErrorTest, running_out_of_memory) {
  const BahdanauDecoder decoder(
      {.vocab_size = 5, .embed_size = 4, .num_hiddens = 6, .num_layers = 1});
  const std::vector<float> numbers(2 * 3 * 6, 0.5F);
  attn::Context context({.num_threads = 1});
  const int failures = attn_test::out_of_memory_failures([&] {
    decoder.init_state({numbers.data(), {2, 3, 6}}, {numbers.data(), {1, 2, 6}}, {}, context);
  });
  // The state allocates at least copies of the hidden state, of the encoder's outputs and of their
  // lengths.
  EXPECT_GE(failures, 3);
}

}  // namespace
