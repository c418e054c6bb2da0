// Tests the contributions to a logit, and unembed(), in every recorded family.

#include "attn/layers/contributions.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "attn/io/safetensors.hpp"
#include "attn/layers/intermediates.hpp"
#include "attn/layers/interventions.hpp"
#include "attn/models/language_model.hpp"
#include "attn/owned_tensor.hpp"
#include "compare.hpp"
#include "models/is_recorded.hpp"
#include "models/recorded_models.hpp"
#include "random.hpp"

namespace {

using attn::ConstTensor;
using attn::Contributions;
using attn::Intermediates;
using attn::LanguageModel;
using attn::OwnedTensor;
using attn_test::error_of;
using attn_test::RecordedModel;
using Values = std::vector<double>;

/// A recorded model with an output layer and its recorded tokens.
struct RecordedPredictor {
  LanguageModel model;
  std::vector<std::int64_t> ids;

  explicit RecordedPredictor(const RecordedModel& recorded)
      : model(
            attn_test::load_from_memory(attn_test::recorded_files(recorded.name), recorded.hints)),
        ids(attn_test::whole_numbers(attn_test::recorded_results(recorded.name), "ids")) {}
};

bool has_logits(const RecordedModel& recorded) {
  return attn_test::recorded_results(recorded.name).contains("logits");
}

bool has_sum(const LanguageModel& model) {
  const auto& layer = model.encoder().layers().front().options();
  return (layer.norm_first || layer.norm_outputs) && !model.options().transform;
}

RecordedPredictor model_named(const std::string& name) {
  for (const RecordedModel& recorded : attn_test::recorded_models()) {
    if (recorded.name == name) return RecordedPredictor(recorded);
  }
  throw std::runtime_error(name + " is not recorded");
}

Values row(const ConstTensor& values, std::int64_t i) {
  Values result;
  for (std::int64_t c = 0; c < values.size(1); ++c) result.push_back(double{values(i, c)});
  return result;
}

OwnedTensor read(const attn::Module& module, const std::string& name) {
  OwnedTensor values(module.parameter_shape(name));
  module.read_parameter(name, values);
  return values;
}

std::vector<float> values_of(const OwnedTensor& tensor) {
  return {tensor.values().begin(), tensor.values().end()};
}

Values times(const OwnedTensor& matrix, const Values& x, std::int64_t first_column = 0) {
  Values result;
  for (std::int64_t i = 0; i < matrix.size(0); ++i) {
    double sum = 0;
    for (std::size_t c = 0; c < x.size(); ++c) {
      sum += double{matrix(i, first_column + static_cast<std::int64_t>(c))} * x[c];
    }
    result.push_back(sum);
  }
  return result;
}

/// A norm with the scale that it has for one row, split into a linear function and a bias.
class FixedNorm {
 public:
  FixedNorm(const LanguageModel& model, const std::string& name, const Values& row)
      : options_(model.encoder().layers().front().options()),
        weight_(read(model, name + ".weight")) {
    if (!options_.rms_norm && options_.bias) bias_ = read(model, name + ".bias");
    double squares = 0;
    for (const double value : centred(row)) squares += value * value;
    const double eps = double{options_.rms_norm ? options_.rms_norm->eps : options_.layer_norm_eps};
    deviation_ = std::sqrt(squares / static_cast<double>(row.size()) + eps);
  }

  Values linear(const Values& part) const {
    Values result = centred(part);
    const double shift = options_.rms_norm && options_.rms_norm->zero_centred_weight ? 1 : 0;
    for (std::size_t i = 0; i < result.size(); ++i) {
      result[i] *= (double{weight_.values()[i]} + shift) / deviation_;
    }
    return result;
  }
  Values bias(std::size_t width) const {
    Values result(width);
    for (std::size_t i = 0; i < bias_.values().size(); ++i) result[i] = double{bias_.values()[i]};
    return result;
  }

 private:
  Values centred(Values values) const {
    if (options_.rms_norm) return values;
    double mean = 0;
    for (const double value : values) mean += value / static_cast<double>(values.size());
    for (double& value : values) value -= mean;
    return values;
  }

  attn::TransformerLayerOptions options_;
  OwnedTensor weight_, bias_;
  double deviation_ = 1;
};

/// Computes contributions in double precision by moving each part forward to the logit.
/// contributions() moves the logit's direction backward instead.
Contributions expected(const LanguageModel& model, const std::vector<std::int64_t>& ids,
                       std::int64_t target, std::int64_t position) {
  Intermediates shown(attn::Interventions::names_of(model));
  OwnedTensor logits({std::ssize(ids), model.options().vocab_size});
  model.forward(ids, logits, {.intermediates = &shown});
  const std::string stack = "encoder.";
  const auto layers = model.encoder().layers();
  const std::string last = stack + "layers." + std::to_string(layers.size() - 1) + ".output";
  const auto width = static_cast<std::size_t>(model.d_model());

  const bool is_normed = model.encoder().options().final_norm;
  const Values output = row(shown[last], position);
  const OwnedTensor table =
      read(model, model.options().tied ? "embedding.weight" : "output.weight");
  const auto product = [&](Values vector) {
    if (model.options().embedding_dim > 0)
      vector = times(read(model, "project_out.weight"), vector);
    double sum = 0;
    for (std::size_t i = 0; i < vector.size(); ++i) {
      sum += vector[i] * double{table(target, static_cast<std::int64_t>(i))};
    }
    return sum;
  };
  const auto normed = [&](const Values& part) {
    return product(is_normed ? FixedNorm(model, stack + "norm", output).linear(part) : part);
  };

  Contributions want;
  want.embedding = normed(row(shown["embedded"], position));
  if (is_normed) want.bias += product(FixedNorm(model, stack + "norm", output).bias(width));
  for (std::size_t l = 0; l < layers.size(); ++l) {
    const std::string name = stack + "layers." + std::to_string(l) + ".";
    const attn::TransformerLayerOptions& options = layers[l].options();
    const OwnedTensor projection = read(model, name + "self_attn.out_proj.weight");
    const ConstTensor heads = shown[name + "self_attn.head_output"];
    const Values attended = row(shown[name + "self_attn.output"], position);
    Values rest = attended;
    Contributions::Layer& parts = want.layers.emplace_back();
    const auto added = [&](const Values& part) {
      return normed(options.norm_outputs
                        ? FixedNorm(model, name + "output_norm1", attended).linear(part)
                        : part);
    };
    for (std::int64_t h = 0; h < heads.size(0); ++h) {
      const Values part = times(projection, row(heads.select(0, h), position), h * heads.size(2));
      parts.heads.push_back(added(part));
      for (std::size_t i = 0; i < rest.size(); ++i) rest[i] -= part[i];
    }
    want.bias += added(rest);  // the rest is the bias of the projection
    if (options.norm_outputs) {
      want.bias += normed(FixedNorm(model, name + "output_norm1", attended).bias(width));
    }
    parts.feed_forward = normed(row(shown[name + "mlp_out"], position));
  }
  if (model.options().output_bias) {
    want.bias += double{read(model, "output.bias")(target)};
  }
  want.total = double{shown["output.output"](position, target)};
  return want;
}

/// All parts in one list, without the total.
Values parts_of(const Contributions& all) {
  Values parts = {all.embedding, all.bias};
  for (const Contributions::Layer& layer : all.layers) {
    parts.insert(parts.end(), layer.heads.begin(), layer.heads.end());
    parts.push_back(layer.feed_forward);
  }
  return parts;
}

TEST(ContributionsTest, they_equal_the_reference_and_add_up_to_the_logit_in_every_family) {
  int families = 0;
  for (const RecordedModel& recorded : attn_test::recorded_models()) {
    if (!has_logits(recorded)) continue;
    const RecordedPredictor from(recorded);
    if (!has_sum(from.model)) continue;
    SCOPED_TRACE(recorded.name);
    ++families;
    const std::int64_t last = std::ssize(from.ids) - 1;
    for (const auto& [target, position] :
         {std::pair<std::int64_t, std::int64_t>{3, last}, {0, 0}, {from.ids[1], last / 2}}) {
      const Contributions got = from.model.contributions(from.ids, target, position);
      const Contributions want = expected(from.model, from.ids, target, position);
      const Values parts = parts_of(got), exact = parts_of(want);
      ASSERT_EQ(parts.size(), exact.size());
      double sum = 0, size = 0;
      for (std::size_t i = 0; i < parts.size(); ++i) {
        sum += parts[i];
        size += std::abs(parts[i]);
      }
      for (std::size_t i = 0; i < parts.size(); ++i) {
        EXPECT_NEAR(parts[i], exact[i], 1e-6 * size) << "part " << i;
      }
      EXPECT_NEAR(sum, got.total, 1e-5 * size);
      EXPECT_NEAR(got.total, want.total, 1e-5 * size);
    }
  }
  EXPECT_GE(families, 12);
}

TEST(ContributionsTest, a_stack_without_a_final_norm_and_with_float16_weights_adds_up) {
  const attn::TransformerLayerOptions layer{.d_model = 8,
                                            .num_heads = 2,
                                            .dim_feedforward = 12,
                                            .norm_first = true,
                                            .weights = {attn::ElementType::kFloat16}};
  attn::TransformerEncoder stack({.layer = layer, .num_layers = 2});
  stack.initialize_xavier(3);
  attn_test::Random random;
  OwnedTensor x({4, 8}), direction({8}), output({4, 8});
  for (OwnedTensor* values : {&x, &direction}) {
    for (float& value : values->values()) value = random.normal();
  }
  stack.forward(x, output, {.attention = {.causal = true}});
  const Contributions got = stack.contributions(x, direction, 2, {.attention = {.causal = true}});
  double sum = 0, want = 0;
  for (const double part : parts_of(got)) sum += part;
  for (std::int64_t i = 0; i < 8; ++i) want += double{output(2, i)} * double{direction(i)};
  EXPECT_NEAR(sum, want, 1e-5);
  EXPECT_NEAR(got.total, want, 1e-5);
}

TEST(ContributionsErrorTest, every_error_names_its_argument) {
  const RecordedPredictor gpt = model_named("gpt2"), bert = model_named("bert");
  const std::int64_t n = std::ssize(gpt.ids), vocabulary = gpt.model.options().vocab_size;
  const auto error = [&](std::int64_t target, std::int64_t position,
                         const attn::LanguageModelCall& call = {}) {
    return error_of([&] { (void)gpt.model.contributions(gpt.ids, target, position, call); });
  };
  EXPECT_EQ(error(vocabulary, 0), "invalid_argument: target: got " + std::to_string(vocabulary) +
                                      ", needs a token id from 0 to " +
                                      std::to_string(vocabulary - 1));
  EXPECT_EQ(error(0, n), "invalid_argument: position: got " + std::to_string(n) + ", needs 0 to " +
                             std::to_string(n - 1));
  EXPECT_EQ(error(0, -1),
            "invalid_argument: position: got -1, needs 0 to " + std::to_string(n - 1));
  EXPECT_EQ(error_of([&] { (void)gpt.model.contributions(std::vector<std::int64_t>(), 0, 0); }),
            "invalid_argument: tokens: got 0, needs at least one");
  const attn::Interventions none;
  EXPECT_EQ(error(0, 0, {.interventions = &none}),
            "invalid_argument: contributions: got a cache, results or interventions, needs none; "
            "the call only takes attention, positions and token types");
  EXPECT_EQ(error_of([&] { (void)bert.model.contributions(bert.ids, 0, 0); }),
            "unsupported: norm_first: got layers that normalise the residual stream after each "
            "sum, needs layers that do not, because otherwise their outputs do not add up");
}

TEST(UnembedTest, the_last_layer_gives_the_logits_with_the_same_bits_in_every_family) {
  for (const RecordedModel& recorded : attn_test::recorded_models()) {
    if (!has_logits(recorded)) continue;
    const RecordedPredictor from(recorded);
    SCOPED_TRACE(recorded.name);
    const std::string last =
        "encoder.layers." + std::to_string(from.model.encoder().layers().size() - 1) + ".output";
    Intermediates shown({last});
    OwnedTensor want({std::ssize(from.ids), from.model.options().vocab_size}), got = want;
    from.model.forward(from.ids, want, {.intermediates = &shown});
    from.model.unembed(shown[last], got);
    EXPECT_TRUE(attn_test::same_bits(values_of(got), values_of(want)));
  }
}

TEST(UnembedTest, an_earlier_layer_gives_the_logits_of_a_patched_model) {
  const RecordedPredictor gpt = model_named("gpt2");
  const std::string first = "encoder.layers.0.output";
  const std::string last =
      "encoder.layers." + std::to_string(gpt.model.encoder().layers().size() - 1) + ".output";
  Intermediates shown({first});
  OwnedTensor want({std::ssize(gpt.ids), gpt.model.options().vocab_size}), got = want;
  gpt.model.forward(gpt.ids, want, {.intermediates = &shown});
  attn::Interventions patch;
  patch.patch(last, shown[first]);
  gpt.model.forward(gpt.ids, want, {.interventions = &patch});
  gpt.model.unembed(shown[first], got);
  EXPECT_TRUE(attn_test::same_bits(values_of(got), values_of(want)));
}

TEST(UnembedErrorTest, wrong_shapes_and_missing_layers_are_errors) {
  const RecordedPredictor gpt = model_named("gpt2");
  OwnedTensor x({2, gpt.model.d_model()}), logits({3, gpt.model.options().vocab_size});
  logits.fill(7);
  EXPECT_THAT(error_of([&] { gpt.model.unembed(x, logits); }),
              ::testing::StartsWith("shape_mismatch: logits"));
  EXPECT_THAT(logits.values(), ::testing::Each(7.0F));
  const LanguageModel vectors({.stack = {.layer = {.d_model = 4}}});
  EXPECT_THAT(error_of([&] { vectors.unembed(OwnedTensor({1, 4}), logits); }),
              ::testing::StartsWith("unsupported: logits: got a model without an output layer"));
}

}  // namespace
