// Tests optimisers: compares whole training runs of small models with the same equations in double
// precision. Also tests saving and loading state, clipping, and errors.

#include "attn/training/optimizers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "allocation.hpp"
#include "attn/layers/linear.hpp"
#include "attn/layers/transformer_encoder.hpp"
#include "attn/owned_tensor.hpp"
#include "attn/training/losses.hpp"
#include "compare.hpp"
#include "every_instruction_set.hpp"
#include "random.hpp"
#include "reference/optimizer.hpp"
#include "training/values.hpp"

namespace {

using attn::Linear;
using attn::OwnedTensor;
using attn::Variable;
using attn_test::error_of;
using attn_test::is_within;
using attn_test::parameters;
using attn_test::Random;
using attn_test::same_bits;
using attn_test::values;
using testing::AllOf;
using testing::AnyOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

using OptimizersTest = attn_test::EveryInstructionSet;
INSTANTIATE_EVERY_INSTRUCTION_SET(OptimizersTest);

/// Two linear layers: 7 → 13 → 3.
class OptimizedModel : public attn::Module {
 public:
  OptimizedModel() {
    add_child("first", first);
    add_child("second", second);
    initialize_xavier(7);
  }
  Variable forward(const Variable& x) const { return second.forward(first.forward(x)); }

  Linear first{7, 13};
  Linear second{13, 3};
};

constexpr std::int64_t kRows = 5;

struct Data {
  Data() : x({kRows, 7}, Random().normals(kRows * 7)), y({kRows, 3}, Random().normals(kRows * 3)) {}
  OwnedTensor x, y;
};

float train(attn::Tape& tape, const OptimizedModel& model, const Data& data) {
  tape.clear();
  const Variable loss = attn::mse_loss(model.forward(tape.constant(data.x)), data.y);
  tape.backward(loss);
  return loss.item();
}

/// The gradient of the model's loss with respect to all parameters, in double precision. Also sets
/// `loss`.
std::vector<double> exact_gradient(const std::vector<double>& p, const Data& data, double& loss) {
  constexpr int kIn = 7, kHidden = 13, kOut = 3;
  const double* w1 = p.data();
  const double* b1 = w1 + kHidden * kIn;
  const double* w2 = b1 + kHidden;
  const double* b2 = w2 + kOut * kHidden;
  std::vector<double> gradient(p.size());
  double* dw1 = gradient.data();
  double* db1 = dw1 + kHidden * kIn;
  double* dw2 = db1 + kHidden;
  double* db2 = dw2 + kOut * kHidden;
  loss = 0;
  for (int i = 0; i < kRows; ++i) {
    double h[kHidden], dh[kHidden] = {};
    for (int j = 0; j < kHidden; ++j) {
      h[j] = b1[j];
      for (int k = 0; k < kIn; ++k) h[j] += w1[j * kIn + k] * data.x(i, k);
    }
    for (int o = 0; o < kOut; ++o) {
      double y = b2[o];
      for (int j = 0; j < kHidden; ++j) y += w2[o * kHidden + j] * h[j];
      const double difference = y - data.y(i, o);
      loss += difference * difference / (kRows * kOut);
      const double dy = 2 * difference / (kRows * kOut);
      db2[o] += dy;
      for (int j = 0; j < kHidden; ++j) {
        dw2[o * kHidden + j] += dy * h[j];
        dh[j] += dy * w2[o * kHidden + j];
      }
    }
    for (int j = 0; j < kHidden; ++j) {
      db1[j] += dh[j];
      for (int k = 0; k < kIn; ++k) dw1[j * kIn + k] += dh[j] * data.x(i, k);
    }
  }
  return gradient;
}

using Update = std::function<void(reference::Parameters&, const reference::Parameters&)>;

template <class Reference>
Update updates_of(Reference optimizer) {
  return [optimizer](reference::Parameters& parameters,
                     const reference::Parameters& gradients) mutable {
    optimizer.step(parameters, gradients);
  };
}

Update exact(const attn::SgdOptions& o) {
  return updates_of(
      reference::Sgd{o.learning_rate, o.momentum, o.dampening, o.weight_decay, o.nesterov});
}
Update exact(const attn::AdamOptions& o) {
  return updates_of(reference::Adam{o.learning_rate, o.beta1, o.beta2, o.eps, o.weight_decay});
}
Update exact(const attn::AdamWOptions& o) {
  return updates_of(
      reference::Adam{o.learning_rate, o.beta1, o.beta2, o.eps, o.weight_decay, true});
}

struct OptimizerCase {
  const char* name;
  std::function<std::unique_ptr<attn::Optimizer>(attn::Module&)> make;
  Update update;
};

template <class O, class Options>
OptimizerCase make_case(const char* name, const Options& options) {
  return {name, [options](attn::Module& model) { return std::make_unique<O>(model, options); },
          exact(options)};
}

std::vector<OptimizerCase> cases() {
  using attn::SgdOptions, attn::AdamOptions, attn::AdamWOptions;
  return {
      make_case<attn::Sgd>("SGD", SgdOptions{.learning_rate = 0.05}),
      make_case<attn::Sgd>("SGD with momentum", SgdOptions{.learning_rate = 0.02, .momentum = 0.9}),
      make_case<attn::Sgd>(
          "SGD with dampening",
          SgdOptions{
              .learning_rate = 0.05, .momentum = 0.8, .dampening = 0.3, .weight_decay = 0.01}),
      make_case<attn::Sgd>(
          "SGD with Nesterov's momentum",
          SgdOptions{
              .learning_rate = 0.02, .momentum = 0.9, .weight_decay = 0.1, .nesterov = true}),
      make_case<attn::Adam>("Adam", AdamOptions{}),
      make_case<attn::Adam>("Adam with weight decay", AdamOptions{.learning_rate = 0.01,
                                                                  .beta1 = 0.8,
                                                                  .beta2 = 0.99,
                                                                  .eps = 1e-4,
                                                                  .weight_decay = 0.1}),
      make_case<attn::AdamW>("AdamW", AdamWOptions{.learning_rate = 0.01, .weight_decay = 0.1})};
}

TEST(OptimizerOptionsTest, DefaultsArePyTorchs) {
  EXPECT_EQ(attn::SgdOptions{}.learning_rate, 1e-3);
  EXPECT_EQ(attn::AdamOptions{}.weight_decay, 0);
  EXPECT_EQ(attn::AdamWOptions{}.weight_decay, 1e-2);
  EXPECT_EQ(attn::AdamWOptions{}.beta2, 0.999);
  EXPECT_EQ(attn::AdamWOptions{}.eps, 1e-8);
}

TEST_P(OptimizersTest, thirty_steps_match_double_precision) {
  const Data data;
  for (const OptimizerCase& c : cases()) {
    OptimizedModel model;
    const auto optimizer = c.make(model);
    const std::vector<float> start = parameters(model);
    const std::vector<std::int64_t> shape{static_cast<std::int64_t>(start.size())};
    reference::Parameters all{{"", reference::Array(shape, start)}};
    attn::Tape tape(context());
    for (int step = 0; step < 30; ++step) {
      const double loss = train(tape, model, data);
      double want = 0;
      const std::vector<double> gradient = exact_gradient(all[""].values, data, want);
      ASSERT_NEAR(loss, want, 2e-6 * want + 2e-8) << c.name << ", step " << step;
      optimizer->step(tape);
      c.update(all, {{"", reference::Array(shape, gradient)}});
    }
    EXPECT_TRUE(is_within(parameters(model), all[""], 5e-6)) << c.name;
  }
}

/// Two groups: biases without weight decay, and the other parameters of the second layer with their
/// own learning rate.
std::vector<attn::ParameterGroup> two_groups() {
  return {
      {.params = [](std::string_view, auto shape) { return shape.size() < 2; }, .weight_decay = 0},
      {.params = [](std::string_view name, auto) { return name.starts_with("second."); },
       .learning_rate = 0.02}};
}

/// The parameters of OptimizedModel by name, taken from one array that contains all their values in
/// order.
reference::Parameters by_name(const std::vector<double>& all) {
  reference::Parameters result;
  auto from = all.begin();
  const std::pair<const char*, std::vector<std::int64_t>> shapes[] = {{"first.weight", {13, 7}},
                                                                      {"first.bias", {13}},
                                                                      {"second.weight", {3, 13}},
                                                                      {"second.bias", {3}}};
  for (const auto& [name, shape] : shapes) {
    const std::int64_t count = shape[0] * (shape.size() > 1 ? shape[1] : 1);
    result[name] = reference::Array(shape, std::vector<double>(from, from + count));
    from += count;
  }
  return result;
}

/// Returns an update that uses the optimiser `other` with the settings of two_groups().
template <class Reference>
Update in_groups(const Reference& other) {
  Reference biases = other, second = other;
  biases.weight_decay = 0;
  second.lr = 0.02;
  return [optimizers = std::map<std::string, Reference>{{"first.weight", other},
                                                        {"first.bias", biases},
                                                        {"second.weight", second},
                                                        {"second.bias", biases}}](
             reference::Parameters& parameters, const reference::Parameters& gradients) mutable {
    for (auto& [name, values] : parameters) {
      reference::Parameters one{{name, values}};
      optimizers.at(name).step(one, {{name, gradients.at(name)}});
      values = one.at(name);
    }
  };
}

TEST_P(OptimizersTest, groups_have_their_own_learning_rate_and_weight_decay) {
  const attn::SgdOptions sgd{
      .learning_rate = 0.05, .momentum = 0.5, .weight_decay = 0.1, .groups = two_groups()};
  const attn::AdamOptions adam{.learning_rate = 0.01, .weight_decay = 0.1, .groups = two_groups()};
  const attn::AdamWOptions adam_w{
      .learning_rate = 0.01, .weight_decay = 0.1, .groups = two_groups()};
  const Data data;
  for (OptimizerCase c : {make_case<attn::Sgd>("SGD", sgd), make_case<attn::Adam>("Adam", adam),
                          make_case<attn::AdamW>("AdamW", adam_w)}) {
    if (c.name == std::string("SGD")) c.update = in_groups(reference::Sgd{0.05, 0.5, 0, 0.1});
    if (c.name == std::string("Adam")) {
      c.update = in_groups(reference::Adam{0.01, 0.9, 0.999, 1e-8, 0.1});
    }
    if (c.name == std::string("AdamW")) {
      c.update = in_groups(reference::Adam{0.01, 0.9, 0.999, 1e-8, 0.1, true});
    }
    OptimizedModel model;
    const auto optimizer = c.make(model);
    const std::vector<float> start = parameters(model);
    reference::Parameters all = by_name({start.begin(), start.end()});
    const auto flat = [&] {
      std::vector<double> result;
      for (const char* name : {"first.weight", "first.bias", "second.weight", "second.bias"}) {
        const std::vector<double>& more = all.at(name).values;
        result.insert(result.end(), more.begin(), more.end());
      }
      return result;
    };
    attn::Tape tape(context());
    for (int step = 0; step < 20; ++step) {
      train(tape, model, data);
      double loss = 0;
      c.update(all, by_name(exact_gradient(flat(), data, loss)));
      optimizer->step(tape);
    }
    const std::vector<double> want = flat();
    const reference::Array array({static_cast<std::int64_t>(want.size())}, want);
    EXPECT_TRUE(is_within(parameters(model), array, 5e-6)) << c.name;
  }
}

TEST_P(OptimizersTest, without_gradients_weight_decay_shrinks_matrices_and_leaves_norms) {
  attn::TransformerEncoderLayer layer({.d_model = 8, .num_heads = 2, .dim_feedforward = 12});
  layer.initialize_xavier(3);
  attn::AdamW optimizer(
      layer, {.learning_rate = 0.01,
              .weight_decay = 0.1,
              .groups = {{.params = [](std::string_view, auto shape) { return shape.size() < 2; },
                          .weight_decay = 0}}});
  std::map<std::string, std::vector<float>> before;
  for (const std::string& name : layer.parameter_names()) {
    before[name] = values(layer.parameter(name));
  }
  Random random;
  attn::Tape tape(context());
  tape.backward(layer.forward(tape.constant(OwnedTensor({1, 3, 8}, random.normals(24)))),
                OwnedTensor({1, 3, 8}));
  optimizer.step(tape);
  for (const std::string& name : layer.parameter_names()) {
    const std::vector<float> after = values(layer.parameter(name));
    if (layer.parameter(name).rank() < 2) {
      EXPECT_TRUE(same_bits(after, before[name])) << name;
      continue;
    }
    for (std::size_t i = 0; i < after.size(); ++i) {
      ASSERT_NEAR(after[i], before[name][i] * (1 - 0.01 * 0.1), 1e-7) << name;
    }
  }
}

TEST(OptimizerOptionsTest, a_group_follows_the_learning_rate_unless_it_has_its_own) {
  OptimizedModel model;
  attn::AdamW optimizer(model, {.learning_rate = 0.1, .groups = two_groups()});
  EXPECT_EQ(optimizer.learning_rate(0), 0.1);
  EXPECT_EQ(optimizer.learning_rate(1), 0.02);
  optimizer.set_learning_rate(0.05);
  EXPECT_EQ(optimizer.learning_rate(0), 0.05);
  EXPECT_EQ(optimizer.learning_rate(1), 0.02);
  optimizer.set_learning_rate(0.5, 0);
  EXPECT_EQ(optimizer.learning_rate(), 0.05);
  EXPECT_EQ(optimizer.learning_rate(0), 0.5);
  const std::string unknown =
      "invalid_argument: group: got 2, needs an index below 2, the number of groups";
  EXPECT_EQ(error_of([&] { optimizer.learning_rate(2); }), unknown);
  EXPECT_EQ(error_of([&] { optimizer.set_learning_rate(1, 2); }), unknown);
  EXPECT_THAT(error_of([&] { optimizer.set_learning_rate(-1, 0); }),
              HasSubstr("learning_rate: got -1"));
}

TEST(OptimizerOptionsTest, groups_are_checked) {
  OptimizedModel model;
  const auto error = [&](attn::ParameterGroup second) {
    return error_of([&] {
      attn::ParameterGroup first{
          .params = [](std::string_view name, auto) { return name == "first.weight"; }};
      attn::AdamW(model, {.groups = {first, std::move(second)}});
    });
  };
  const auto all = [](std::string_view, auto) { return true; };
  EXPECT_EQ(error({.params = all}), "nothing");
  EXPECT_EQ(error({.params = [](std::string_view name, auto) { return name == "first.weight"; }}),
            "invalid_argument: groups: got group 1 without parameters, needs at least one "
            "parameter that no earlier group selects");
  EXPECT_THAT(error({}), HasSubstr("groups: got group 1 without params"));
  EXPECT_THAT(error({.params = all, .learning_rate = -1}), HasSubstr("learning_rate: got -1"));
  EXPECT_THAT(error({.params = all, .weight_decay = -1}), HasSubstr("weight_decay: got -1"));
}

TEST_P(OptimizersTest, a_parameter_of_many_blocks_is_updated_as_a_whole) {
  Random random;
  Linear layer(97, 173);  // two blocks of 8192 parameters and 397 more
  layer.initialize_xavier(1);
  const std::vector<float> before = parameters(layer);
  attn::Sgd optimizer(layer, {.learning_rate = 0.25});
  attn::Tape tape(context());
  tape.backward(layer.forward(tape.variable(OwnedTensor({2, 97}, random.normals(2 * 97)))),
                OwnedTensor({2, 173}, random.normals(2 * 173)));
  std::vector<float> want = values(tape.gradient(layer, "weight"));
  const std::vector<float> bias = values(tape.gradient(layer, "bias"));
  want.insert(want.end(), bias.begin(), bias.end());
  for (std::size_t i = 0; i < want.size(); ++i) want[i] = before[i] - 0.25F * want[i];
  optimizer.step(tape);
  EXPECT_TRUE(same_bits(parameters(layer), want));
  // The layer computes with its new parameters.
  Linear fresh(97, 173);
  fresh.set_parameter("weight", layer.parameter("weight"), context());
  fresh.set_parameter("bias", layer.parameter("bias"), context());
  const OwnedTensor x({1, 97}, random.normals(97));
  OwnedTensor got({1, 173}), expected({1, 173});
  layer.forward(x, got, context());
  fresh.forward(x, expected, context());
  EXPECT_EQ(got, expected);
}

TEST_P(OptimizersTest, shared_parameters_are_updated_once_and_parameters_without_a_gradient_stay) {
  Linear used(2, 1, false), unused(2, 1, false);
  used.set_parameter("weight", OwnedTensor({1, 2}, {1, 2}), context());
  unused.set_parameter("weight", OwnedTensor({1, 2}, {3, 4}), context());
  attn::AdamW optimizer({{"a", used}, {"unused", unused}, {"b", used}}, {.learning_rate = 0.5});
  attn::Tape tape(context());
  const Variable x = tape.variable(OwnedTensor({1, 2}, {1, -1}));
  tape.backward(used.forward(x) + used.forward(x));
  optimizer.step(tape);
  const std::vector<float> weight = parameters(used);
  EXPECT_NEAR(weight[0], 1 - 0.5 * 0.01 * 1 - 0.5, 1e-6);
  EXPECT_NEAR(weight[1], 2 - 0.5 * 0.01 * 2 + 0.5, 1e-6);
  EXPECT_THAT(parameters(unused), ElementsAre(3, 4));
  std::map<std::string, std::vector<float>> state;
  for (const attn::NamedTensor& t : state_dict(optimizer)) {
    state[t.name] = values(t.values.as<float>());
  }
  EXPECT_EQ(state.size(), 6);
  EXPECT_THAT(state["exp_avg.a.weight"],
              ElementsAre(testing::FloatEq(0.2F), testing::FloatEq(-0.2F)));
  EXPECT_THAT(state["exp_avg_sq.a.weight"],
              ElementsAre(testing::FloatEq(4e-3F), testing::FloatEq(4e-3F)));
  EXPECT_THAT(state["step.a.weight"], ElementsAre(1));
  EXPECT_THAT(state["exp_avg.unused.weight"], ElementsAre(0, 0));
  EXPECT_THAT(state["exp_avg_sq.unused.weight"], ElementsAre(0, 0));
  EXPECT_THAT(state["step.unused.weight"], ElementsAre(0));
}

TEST_P(OptimizersTest, a_run_that_was_stopped_continues_with_the_same_bits) {
  const Data data;
  for (const OptimizerCase& c : cases()) {
    attn::Tape tape(context());
    const auto steps = [&](OptimizedModel& model, attn::Optimizer& optimizer, int count) {
      for (int i = 0; i < count; ++i) {
        train(tape, model, data);
        optimizer.step(tape);
      }
    };
    OptimizedModel model;
    const auto optimizer = c.make(model);
    steps(model, *optimizer, 5);
    std::vector<attn::NamedTensor> tensors = state_dict(model, "model.");
    for (auto& t : state_dict(*optimizer, "optimizer.")) tensors.push_back(t);
    const auto file = attn::Safetensors::own(attn::to_safetensors(tensors));
    steps(model, *optimizer, 5);

    OptimizedModel again;
    again.initialize_xavier(99);
    const auto its_optimizer = c.make(again);
    load_state_dict(again, file, "model.");
    const attn::IncompatibleKeys keys = load_state_dict(*its_optimizer, file, "optimizer.");
    EXPECT_TRUE(keys.missing_keys.empty() && keys.unexpected_keys.empty());
    steps(again, *its_optimizer, 5);
    EXPECT_TRUE(same_bits(parameters(again), parameters(model))) << c.name;
  }
}

TEST_P(OptimizersTest, bits_do_not_depend_on_the_number_of_threads) {
  Random random;
  const OwnedTensor x({32, 150}, random.normals(32 * 150));
  const OwnedTensor y({32, 140}, random.normals(32 * 140));
  std::vector<float> first;
  for (const int threads : {1, 2, 3, 7}) {
    Linear layer(150, 140);
    layer.initialize_xavier(3);
    attn::AdamW optimizer(layer);
    attn::Tape tape(context(threads));
    std::vector<float> all;
    for (int i = 0; i < 5; ++i) {
      tape.clear();
      tape.backward(attn::mse_loss(layer.forward(tape.constant(x)), y));
      all.push_back(clip_grad_norm(tape, 0.01));
      optimizer.step(tape);
    }
    const std::vector<float> trained = parameters(layer);
    all.insert(all.end(), trained.begin(), trained.end());
    if (first.empty()) first = all;
    EXPECT_TRUE(same_bits(all, first)) << threads;
  }
}

TEST_P(OptimizersTest, gradients_are_clipped_by_their_global_norm) {
  const Data data;
  OptimizedModel model;
  attn::Tape tape(context());
  train(tape, model, data);
  const auto gradients = [&] {
    std::vector<float> all;
    for (const std::string& name : model.parameter_names()) {
      const std::vector<float> more = values(tape.gradient(model, name));
      all.insert(all.end(), more.begin(), more.end());
    }
    return all;
  };
  const std::vector<float> before = gradients();
  double square = 0;
  for (const float g : before) square += static_cast<double>(g) * g;
  const double norm = std::sqrt(square);
  EXPECT_NEAR(clip_grad_norm(tape, 2 * norm), norm, 1e-7 * norm);
  EXPECT_TRUE(same_bits(gradients(), before));
  EXPECT_NEAR(clip_grad_norm(tape, 0.25), norm, 1e-7 * norm);
  reference::Array want({static_cast<std::int64_t>(before.size())});
  for (std::size_t i = 0; i < before.size(); ++i) {
    want.values[i] = before[i] * (0.25 / (norm + 1e-6));
  }
  EXPECT_TRUE(is_within(gradients(), want, 1e-7));
  EXPECT_NEAR(clip_grad_norm(tape, std::numeric_limits<double>::infinity()), 0.25, 1e-5);
}

TEST_P(OptimizersTest, a_norm_that_is_not_finite_is_an_error_and_gradients_stay) {
  OptimizedModel model;
  attn::Tape tape(context());
  const float infinity = std::numeric_limits<float>::infinity();
  const Variable y = model.forward(tape.constant(OwnedTensor({1, 7})));
  tape.backward(y, OwnedTensor({1, 3}, {1, infinity, 1}));
  const std::vector<float> before = values(tape.gradient(model, "second.bias"));
  EXPECT_THAT(error_of([&] { clip_grad_norm(tape, 1); }),
              AllOf(StartsWith("invalid_argument: gradient: got a number that is not finite for "),
                    AnyOf(HasSubstr("\"first.weight\""), HasSubstr("\"first.bias\"")),
                    EndsWith(", needs finite numbers")));
  EXPECT_TRUE(same_bits(values(tape.gradient(model, "second.bias")), before));
}

TEST_P(OptimizersTest, a_steady_loop_allocates_nothing) {
  const Data data;
  for (const OptimizerCase& c : cases()) {
    OptimizedModel model;
    const auto optimizer = c.make(model);
    attn::Tape tape(context());
    const auto step = [&] {
      train(tape, model, data);
      clip_grad_norm(tape, 1);
      optimizer->set_learning_rate(1e-3);
      optimizer->step(tape);
    };
    for (int i = 0; i < 3; ++i) step();
    attn_test::AllocationProbe probe;
    step();
    EXPECT_EQ(probe.count(), 0) << c.name;
  }
}

TEST_P(OptimizersTest, a_failed_allocation_throws_bad_alloc_and_changes_nothing) {
  const Data data;
  OptimizedModel model;
  const std::vector<float> before = parameters(model);
  const int failures = attn_test::out_of_memory_failures([&] {
    attn::Context fresh({.num_threads = 1, .instruction_set = GetParam()});
    attn::Tape tape(fresh);
    attn::AdamW optimizer(model, {.learning_rate = 0});
    train(tape, model, data);
    clip_grad_norm(tape, 1);
    optimizer.step(tape);
    auto file = attn::Safetensors::own(attn::to_safetensors(state_dict(optimizer)));
    load_state_dict(optimizer, file);
  });
  EXPECT_GT(failures, 10);
  EXPECT_TRUE(same_bits(parameters(model), before));
}

TEST_P(OptimizersTest, a_step_before_backward_is_an_error_that_changes_nothing) {
  const Data data;
  OptimizedModel model;
  attn::AdamW optimizer(model);
  const std::vector<float> before = parameters(model);
  attn::Tape tape(context());
  const std::string error =
      "invalid_argument: gradient: got a call before backward(), needs backward() first";
  EXPECT_EQ(error_of([&] { optimizer.step(tape); }), error);
  EXPECT_EQ(error_of([&] { clip_grad_norm(tape, 1); }), error);
  train(tape, model, data);
  tape.clear();
  EXPECT_EQ(error_of([&] { optimizer.step(tape); }), error);
  EXPECT_TRUE(same_bits(parameters(model), before));
  EXPECT_EQ(*state_dict(optimizer).back().values.as<float>().data(), 0);
}

TEST(OptimizerOptionsTest, OptionsAreChecked) {
  OptimizedModel model;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  attn::Sgd optimizer(model);
  for (const double rate : {nan, -1e-3, infinity}) {
    EXPECT_THAT(error_of([&] { optimizer.set_learning_rate(rate); }),
                HasSubstr("invalid_argument: learning_rate: got "));
    EXPECT_THAT(error_of([&] { attn::AdamW(model, {.learning_rate = rate}); }),
                HasSubstr("learning_rate: got "));
  }
  EXPECT_EQ(optimizer.learning_rate(), 1e-3);
  EXPECT_THAT(error_of([&] { attn::Sgd(model, {.momentum = -1}); }), HasSubstr("momentum: got -1"));
  EXPECT_THAT(error_of([&] { attn::Sgd(model, {.dampening = nan}); }), HasSubstr("dampening"));
  EXPECT_THAT(error_of([&] { attn::Sgd(model, {.weight_decay = -1}); }), HasSubstr("weight_decay"));
  EXPECT_THAT(error_of([&] { attn::Sgd(model, {.nesterov = true}); }), HasSubstr("nesterov: got"));
  EXPECT_THAT(error_of([&] { attn::Adam(model, {.beta1 = 1}); }), HasSubstr("beta1: got 1"));
  EXPECT_THAT(error_of([&] { attn::Adam(model, {.beta2 = nan}); }), HasSubstr("beta2: got nan"));
  EXPECT_THAT(error_of([&] { attn::Adam(model, {.eps = -1}); }), HasSubstr("eps: got -1"));
  attn::Tape tape;
  EXPECT_THAT(error_of([&] { clip_grad_norm(tape, nan); }), HasSubstr("max_norm: got nan"));
  OptimizedModel other;
  EXPECT_THAT(error_of([&] { attn::Adam({{"x", model}, {"x", other}}); }),
              HasSubstr("models: got two parameters named \"x.first.weight\""));
}

TEST(OptimizerOptionsTest, AStateThatDoesNotFitIsRejectedAsAWhole) {
  const Data data;
  OptimizedModel model;
  attn::Adam optimizer(model);
  attn::Tape tape;
  train(tape, model, data);
  optimizer.step(tape);
  std::vector<float> kept;
  const auto all = [&] {
    std::vector<float> state;
    for (const auto& t : state_dict(optimizer)) {
      const std::vector<float> more = values(t.values.as<float>());
      state.insert(state.end(), more.begin(), more.end());
    }
    return state;
  };
  const std::vector<float> before = all();
  const OwnedTensor zeros({13, 7});
  const auto error_with = [&](const char* name, const attn::ConstTensor& tensor) {
    std::vector<attn::NamedTensor> tensors = state_dict(optimizer);
    for (auto& t : tensors) {
      if (t.name == "exp_avg.first.weight") t.values = zeros;
    }
    std::erase_if(tensors, [&](const auto& t) { return t.name == name; });
    if (!tensor.is_none()) tensors.push_back({name, tensor});
    const auto file = attn::Safetensors::own(attn::to_safetensors(tensors));
    return error_of([&] { load_state_dict(optimizer, file); });
  };
  EXPECT_THAT(error_with("exp_avg_sq.second.bias", {}),
              HasSubstr("not_found: state_dict: got no exp_avg_sq.second.bias, needs exactly "
                        "this optimizer's state"));
  EXPECT_THAT(error_with("other", zeros), HasSubstr("the unexpected other"));
  EXPECT_THAT(error_with("exp_avg.second.bias", zeros), HasSubstr("shape_mismatch"));
  for (const float step : {-1.0F, 0.5F, std::numeric_limits<float>::quiet_NaN(), 2e7F}) {
    EXPECT_THAT(
        error_with("step.second.bias", attn::ConstTensor(&step, std::span<const std::int64_t>{})),
        HasSubstr("invalid_argument: step.second.bias: got "));
  }
  EXPECT_TRUE(same_bits(all(), before));
}

}  // namespace
