// Tests Bahdanau's decoder and an encoder on a tape. Outputs must be bit-identical to the outputs
// without a tape, and gradients must match the analytic reference in double precision.

#include "attn/layers/bahdanau_decoder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "attn/layers/embedding.hpp"
#include "attn/layers/gru.hpp"
#include "attn/owned_tensor.hpp"
#include "attn/training/functions.hpp"
#include "attn/training/losses.hpp"
#include "attn/training/optimizers.hpp"
#include "attn/training/tape.hpp"
#include "compare.hpp"
#include "every_instruction_set.hpp"
#include "reference/bahdanau_decoder.hpp"
#include "training/close.hpp"
#include "training/gradients.hpp"
#include "training/values.hpp"

namespace {

using attn::BahdanauDecoder;
using attn::BahdanauDecoderOptions;
using attn::ConstTensor;
using attn::OwnedTensor;
using attn::Variable;
using attn_test::array_of;
using attn_test::error_of;
using attn_test::expect_close;
using attn_test::Random;
using attn_test::same_bits;
using attn_test::uniform_tensor;
using attn_test::values;
using reference::Array;
using ::testing::Each;
using ::testing::ElementsAre;

using TapedBahdanauDecoderTest = attn_test::EveryInstructionSet;
INSTANTIATE_EVERY_INSTRUCTION_SET(TapedBahdanauDecoderTest);

void draw_parameters(attn::Module& module, Random& random) {
  for (const std::string& name : module.parameter_names()) {
    OwnedTensor drawn(module.parameter(name).shape());
    const float bound = std::sqrt(3 / static_cast<float>(drawn.shape().back()));
    for (float& x : drawn.values()) x = random.uniform(-bound, bound);
    module.set_parameter(name, drawn);
  }
}

/// A decoder with drawn weights, a batch of encoder outputs and target tokens.
struct DecoderCase {
  BahdanauDecoder decoder;
  std::int64_t batch, keys, steps;
  OwnedTensor encoder_outputs, hidden, output_gradient;
  std::vector<std::int32_t> lens;
  std::vector<std::int64_t> tokens;

  DecoderCase(const BahdanauDecoderOptions& o, std::int64_t batch_, std::int64_t keys_,
              std::int64_t steps_, Random& random)
      : decoder(o),
        batch(batch_),
        keys(keys_),
        steps(steps_),
        encoder_outputs(
            uniform_tensor({batch, keys, o.encoder_dim.value_or(o.num_hiddens)}, random)),
        hidden(uniform_tensor({o.num_layers, batch, o.num_hiddens}, random)),
        output_gradient(uniform_tensor({batch, steps, o.vocab_size}, random)) {
    draw_parameters(decoder, random);
    for (std::int64_t b = 0; b < batch; ++b) {
      lens.push_back(static_cast<std::int32_t>(random.integer(1, keys)));
    }
    for (std::int64_t i = 0; i < batch * steps; ++i) {
      tokens.push_back(random.integer(0, o.vocab_size - 1));
    }
  }

  attn::IdView token_view() const { return {tokens.data(), {batch, steps}}; }
  attn::ConstLengths lens_view() const { return {lens.data(), {batch}}; }

  std::vector<float> logits(attn::Context& context) const {
    BahdanauDecoder::State state =
        decoder.init_state(encoder_outputs, hidden, lens_view(), context);
    OwnedTensor result(output_gradient.shape());
    decoder.forward(token_view(), state, result, {}, context);
    return values(result);
  }

  struct Variables {
    Variable encoder_outputs, hidden, logits;
  };
  Variables record(attn::Tape& tape) const {
    Variables v{tape.variable(encoder_outputs), tape.variable(hidden), {}};
    v.logits = decoder.forward(tape, token_view(), v.encoder_outputs, v.hidden, lens_view());
    return v;
  }
};

constexpr BahdanauDecoderOptions kSmall{.vocab_size = 7, .embed_size = 3, .num_hiddens = 5};
constexpr BahdanauDecoderOptions kDeep{
    .vocab_size = 17, .embed_size = 8, .num_hiddens = 16, .num_layers = 2, .encoder_dim = 11};

TEST_P(TapedBahdanauDecoderTest, gradients_match_the_reference) {
  Random random;
  constexpr BahdanauDecoderOptions kOne{.vocab_size = 1, .embed_size = 1, .num_hiddens = 1};
  for (const auto& [options, batch, keys, steps] :
       {std::tuple(kOne, 1, 1, 1), std::tuple(kSmall, 2, 6, 5), std::tuple(kDeep, 3, 9, 4)}) {
    DecoderCase c(options, batch, keys, steps, random);
    SCOPED_TRACE(options.num_hiddens);
    // Padding in the encoder outputs must not affect the decoder.
    for (std::int64_t b = 0; b < batch; ++b) {
      const ConstTensor padding =
          ConstTensor(c.encoder_outputs).select(0, b).slice(0, c.lens[std::size_t(b)], keys);
      const auto begin =
          c.encoder_outputs.values().begin() + (padding.data() - c.encoder_outputs.values().data());
      std::fill_n(begin, padding.size(0) * padding.size(1),
                  std::numeric_limits<float>::quiet_NaN());
    }
    attn::Tape tape(context());
    const DecoderCase::Variables v = c.record(tape);
    EXPECT_TRUE(same_bits(values(v.logits.value()), c.logits(context())));
    tape.backward(v.logits, c.output_gradient);

    std::map<std::string, std::vector<double>> sums;
    for (std::int64_t b = 0; b < batch; ++b) {
      reference::BahdanauDecoder p;
      for (const std::string& name : c.decoder.parameter_names()) {
        p.weights[name] = array_of(c.decoder.parameter(name));
      }
      p.num_layers = options.num_layers;
      p.encoder_outputs = array_of(ConstTensor(c.encoder_outputs).select(0, b));
      p.encoder_len = c.lens[std::size_t(b)];
      const ConstTensor hidden = ConstTensor(c.hidden).slice(1, b, b + 1);
      p.hidden = Array({options.num_layers, options.num_hiddens});
      for (std::int64_t l = 0; l < options.num_layers; ++l) {
        for (std::int64_t i = 0; i < options.num_hiddens; ++i) {
          p.hidden.at({l, i}) = static_cast<double>(hidden(l, 0, i));
        }
      }
      p.tokens.assign(c.tokens.begin() + b * steps, c.tokens.begin() + (b + 1) * steps);
      reference::Tape exact;
      const auto in = variables(exact, p);
      exact.backward(reference::inner(reference::bahdanau_decoder(in).logits,
                                      array_of(ConstTensor(c.output_gradient).select(0, b))));
      const auto gradient = [&](const auto& of) { return exact.gradient(of).exact.values; };
      expect_close(v.encoder_outputs.gradient().select(0, b), gradient(in.encoder_outputs),
                   "encoder_outputs");
      OwnedTensor of_hidden({options.num_layers, options.num_hiddens});
      for (std::int64_t l = 0; l < options.num_layers; ++l) {
        for (std::int64_t i = 0; i < options.num_hiddens; ++i) {
          of_hidden.values()[std::size_t(l * options.num_hiddens + i)] =
              v.hidden.gradient()(l, b, i);
        }
      }
      expect_close(of_hidden, gradient(in.hidden), "hidden");
      for (const auto& [name, of] : in.weights) {
        const std::vector<double> more = gradient(of);
        std::vector<double>& sum = sums[name];
        sum.resize(more.size());
        for (std::size_t i = 0; i < more.size(); ++i) sum[i] += more[i];
      }
      EXPECT_THAT(values(v.encoder_outputs.gradient().select(0, b).slice(0, p.encoder_len, keys)),
                  Each(0.0F));
    }
    for (const auto& [name, sum] : sums) expect_close(tape.gradient(c.decoder, name), sum, name);
  }
}

TEST_P(TapedBahdanauDecoderTest, tokens_in_two_calls_have_the_gradients_of_one) {
  Random random;
  const DecoderCase c(kSmall, 1, 4, 5, random);
  attn::Tape whole(context()), parts(context());
  const DecoderCase::Variables v = c.record(whole);
  whole.backward(v.logits, c.output_gradient);
  const Variable outputs = parts.variable(c.encoder_outputs), h_0 = parts.variable(c.hidden);
  Variable hidden = h_0;
  const attn::IdView first(c.tokens.data(), {1, 2}), then(c.tokens.data() + 2, {1, 3});
  const Variable a = c.decoder.forward(parts, first, outputs, hidden, c.lens_view(), &hidden);
  const Variable b = c.decoder.forward(parts, then, outputs, hidden, c.lens_view());
  const Variable all = attn::concatenate({a, b}, 1);
  EXPECT_TRUE(same_bits(values(all.value()), values(v.logits.value())));
  parts.backward(all, c.output_gradient);
  const std::vector<float> wanted = values(v.hidden.gradient());
  expect_close(h_0.gradient(), std::vector<double>(wanted.begin(), wanted.end()), "hidden");
}

TEST_P(TapedBahdanauDecoderTest, without_tokens_the_state_is_unchanged) {
  Random random;
  const DecoderCase c(kSmall, 2, 4, 0, random);
  attn::Tape tape(context());
  const Variable hidden = tape.variable(c.hidden);
  Variable last;
  const Variable logits = c.decoder.forward(tape, c.token_view(), tape.variable(c.encoder_outputs),
                                            hidden, c.lens_view(), &last);
  EXPECT_THAT(logits.shape(), ElementsAre(2, 0, 7));
  tape.backward(last, c.hidden);
  EXPECT_TRUE(same_bits(values(hidden.gradient()), values(c.hidden)));
}

TEST_P(TapedBahdanauDecoderTest, bits_and_memory_are_steady) {
  Random random;
  const DecoderCase c(kDeep, 5, 13, 6, random);
  attn_test::expect_steady([&](int threads) -> attn::Context& { return context(threads); },
                           [&](attn::Tape& tape) {
                             tape.clear();
                             const DecoderCase::Variables v = c.record(tape);
                             tape.backward(v.logits, c.output_gradient);
                             attn_test::Results results{values(v.logits.value()),
                                                        values(v.encoder_outputs.gradient()),
                                                        values(v.hidden.gradient())};
                             for (const std::string& name : c.decoder.parameter_names()) {
                               results.push_back(values(tape.gradient(c.decoder, name)));
                             }
                             return results;
                           });
  attn_test::expect_no_allocation(context(), [&](attn::Tape& tape) {
    tape.clear();
    tape.backward(c.record(tape).logits, c.output_gradient);
  });
}

// A small version of D2L's task: an encoder and a decoder learn to reverse sequences.
TEST_P(TapedBahdanauDecoderTest, an_encoder_and_a_decoder_learn_together) {
  Random random;
  constexpr std::int64_t kBatch = 8, kLength = 4, kVocab = 6, kBegin = 5, kWidth = 24;
  attn::Embedding embedding({.num_embeddings = kVocab, .embedding_dim = 8});
  attn::GRU encoder({.input_size = 8, .hidden_size = kWidth});
  BahdanauDecoder decoder({.vocab_size = kVocab, .embed_size = 8, .num_hiddens = kWidth});
  for (attn::Module* module :
       std::initializer_list<attn::Module*>{&embedding, &encoder, &decoder}) {
    draw_parameters(*module, random);
  }
  attn::Adam optimizer({{"embedding", embedding}, {"encoder", encoder}, {"decoder", decoder}},
                       {.learning_rate = 1e-2});
  std::vector<std::int64_t> source, given, wanted;
  for (std::int64_t i = 0; i < kBatch * kLength; ++i) source.push_back(random.integer(0, 4));
  for (std::int64_t b = 0; b < kBatch; ++b) {
    given.push_back(kBegin);
    for (std::int64_t t = kLength - 1; t >= 0; --t) {
      wanted.push_back(source[std::size_t(b * kLength + t)]);
      if (t > 0) given.push_back(wanted.back());
    }
  }
  attn::Tape tape(context());
  float first = 0, last = 0;
  for (int step = 0; step < 60; ++step) {
    tape.clear();
    Variable hidden;
    const Variable outputs =
        encoder.forward(embedding.forward(tape, {source.data(), {kBatch, kLength}}), {}, &hidden);
    const Variable logits =
        decoder.forward(tape, {given.data(), {kBatch, kLength}}, outputs, hidden);
    const Variable loss = attn::cross_entropy(attn::reshape(logits, {-1, kVocab}), wanted);
    tape.backward(loss);
    optimizer.step(tape);
    (step == 0 ? first : last) = loss.item();
  }
  EXPECT_LT(last, 0.2F * first);
}

TEST(TapedBahdanauDecoderErrorTest, errors_explain_the_problem) {
  Random random;
  const DecoderCase c(kSmall, 2, 4, 3, random);
  attn::Tape tape;
  const Variable outputs = tape.variable(c.encoder_outputs), hidden = tape.variable(c.hidden);
  EXPECT_EQ(error_of([&] { c.decoder.forward(tape, c.token_view(), outputs, outputs); }),
            "shape_mismatch: hidden: got shape (2, 4, 5), needs shape (1, 2, 5)");
  const std::vector<std::int64_t> beyond{0, 1, 2, 3, 7, 5};
  EXPECT_EQ(error_of([&] { c.decoder.forward(tape, {beyond.data(), {2, 3}}, outputs, hidden); }),
            "invalid_argument: tokens: got 7, needs a token between 0 and 6");
  attn::Tape other;
  EXPECT_EQ(
      error_of([&] { c.decoder.forward(other, c.token_view(), outputs, hidden); }),
      "invalid_argument: BahdanauDecoder: got variables from two tapes, needs variables from one "
      "tape");
}

}  // namespace
