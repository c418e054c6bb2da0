// Compares whole training runs with the same runs in PyTorch, computed in double precision.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "allocation.hpp"
#include "attn/layers/embedding.hpp"
#include "attn/layers/transformer_encoder.hpp"
#include "attn/owned_tensor.hpp"
#include "attn/positions/learned_positional_encoding.hpp"
#include "attn/training/functions.hpp"
#include "attn/training/losses.hpp"
#include "attn/training/optimizers.hpp"
#include "compare.hpp"
#include "every_instruction_set.hpp"
#include "measure.hpp"
#include "training/recorded.hpp"
#include "training/values.hpp"

namespace {

using attn_test::LargestError;
using attn_test::parameters;
using attn_test::same_bits;
using attn_test::Trajectories;
using attn_test::values;

using TrajectoriesTest = attn_test::EveryInstructionSet;
INSTANTIATE_EVERY_INSTRUCTION_SET(TrajectoriesTest);

using Shape = Trajectories;

attn::TransformerEncoderOptions encoder_options() {
  attn::TransformerEncoderOptions options;
  options.num_layers = Shape::kLayers;
  options.final_norm = true;
  options.layer = {.d_model = Shape::kWidth,
                   .num_heads = Shape::kHeads,
                   .dim_feedforward = Shape::kHidden,
                   .activation = attn::Activation::kGelu,
                   .norm_first = true};
  return options;
}

class Gpt : public attn::Module {
 public:
  explicit Gpt(const attn_test::RecordedArrays& initial) {
    add_child("embedding", embedding);
    add_child("positions", positions);
    add_child("encoder", encoder);
    for (const auto& [name, array] : initial) {
      set_parameter(name,
                    attn::OwnedTensor(array.shape, {array.values.begin(), array.values.end()}));
    }
  }

  attn::Variable forward(attn::Tape& tape, const attn::IdView& tokens) const {
    attn::TransformerEncoderCall call;
    call.attention.causal = true;
    const attn::Variable x = positions.forward(embedding.forward(tape, tokens));
    return attn::linear(encoder.forward(x, call), tape.parameter(embedding, "weight"));
  }

  attn::Embedding embedding{{.num_embeddings = Shape::kVocabulary, .embedding_dim = Shape::kWidth}};
  attn::LearnedPositionalEncoding positions{Shape::kLength, Shape::kWidth};
  attn::TransformerEncoder encoder{encoder_options()};
};

std::unique_ptr<attn::Optimizer> make_optimizer(const std::string& run, Gpt& model) {
  const auto sgd = [&](const attn::SgdOptions& o) { return std::make_unique<attn::Sgd>(model, o); };
  if (run == "sgd") return sgd({.learning_rate = 0.1, .momentum = 0.9});
  if (run == "sgd_weight_decay") {
    return sgd({.learning_rate = 0.1, .momentum = 0.9, .dampening = 0.5, .weight_decay = 0.01});
  }
  if (run == "sgd_nesterov") {
    return sgd({.learning_rate = 0.05, .momentum = 0.9, .weight_decay = 0.01, .nesterov = true});
  }
  if (run == "adam") {
    return std::make_unique<attn::Adam>(model, attn::AdamOptions{.learning_rate = 0.005});
  }
  if (run == "adamw") {
    return std::make_unique<attn::AdamW>(
        model, attn::AdamWOptions{.learning_rate = 0.005, .beta2 = 0.95, .weight_decay = 0.1});
  }
  ADD_FAILURE() << run;
  return nullptr;
}

/// Runs the forward pass, the backward pass and clipping. Returns the loss and the norm.
std::pair<double, double> pass(attn::Tape& tape, const Gpt& model, const Trajectories& recorded,
                               std::int64_t step) {
  const std::vector<std::int64_t> ids = recorded.inputs(step);
  tape.clear();
  const attn::Variable logits = model.forward(tape, {ids.data(), {Shape::kBatch, Shape::kLength}});
  const attn::Variable loss = attn::cross_entropy(logits, recorded.targets(step));
  tape.backward(loss);
  return {loss.item(), attn::clip_grad_norm(tape, Shape::kMaxNorm)};
}

/// Adds the errors of a parameter to `largest`. Each error is divided by the magnitude of its
/// element or by the root mean square of all elements, whichever is larger. Very small elements are
/// differences of larger numbers, so their relative errors are large.
void add_errors(const std::vector<float>& got, const reference::Array& wanted, std::size_t begin,
                std::size_t end, LargestError& largest) {
  double square = 0;
  for (const double x : wanted.values) square += x * x;
  const double typical = std::sqrt(square / static_cast<double>(wanted.values.size()));
  for (std::size_t i = begin; i < end; ++i) {
    const double want = wanted.values[i];
    largest.add((static_cast<double>(got[i]) - want) / std::max(std::abs(want), typical));
  }
}

TEST_P(TrajectoriesTest, thirty_steps_of_a_gpt_match_pytorch) {
  const Trajectories recorded = attn_test::recorded_trajectories();
  LargestError of_losses("losses in 30 steps, relative", 1e-4);
  LargestError of_norms("norms in 30 steps, relative", 1e-4);
  LargestError of_parameters("parameters after 30 steps, relative", 1e-4);
  for (const auto& [run, wanted] : recorded.runs) {
    Gpt model(recorded.initial);
    const auto optimizer = make_optimizer(run, model);
    attn::Tape tape(context());
    for (std::int64_t step = 0; step < Shape::kSteps; ++step) {
      const auto [loss, norm] = pass(tape, model, recorded, step);
      of_losses.add(loss / wanted.losses.at({step}) - 1);
      of_norms.add(norm / wanted.norms.at({step}) - 1);
      optimizer->step(tape);
    }
    for (const auto& [name, parameter] : wanted.parameters) {
      const std::vector<float> got = values(model.parameter(name));
      ASSERT_EQ(got.size(), parameter.values.size());
      if (run.starts_with("adam") && name.ends_with("in_proj_bias")) {
        // The gradient of the keys' biases consists only of rounding errors, which Adam turns into
        // full steps.
        add_errors(got, parameter, 0, Shape::kWidth, of_parameters);
        add_errors(got, parameter, 2 * Shape::kWidth, got.size(), of_parameters);
      } else {
        add_errors(got, parameter, 0, got.size(), of_parameters);
      }
    }
  }
}

TEST_P(TrajectoriesTest, a_run_has_the_same_bits_for_any_number_of_threads) {
  const Trajectories recorded = attn_test::recorded_trajectories();
  std::vector<float> first;
  for (const int threads : {1, 2, 3, 7}) {
    Gpt model(recorded.initial);
    attn::AdamW optimizer(model);
    attn::Tape tape(context(threads));
    for (std::int64_t step = 0; step < 5; ++step) {
      pass(tape, model, recorded, step);
      optimizer.step(tape);
    }
    const std::vector<float> trained = parameters(model);
    if (first.empty()) first = trained;
    EXPECT_TRUE(same_bits(trained, first)) << threads << " threads";
  }
}

TEST_P(TrajectoriesTest, a_steady_loop_allocates_nothing) {
  const Trajectories recorded = attn_test::recorded_trajectories();
  const std::vector<std::int64_t> ids = recorded.inputs(0), targets = recorded.targets(0);
  Gpt model(recorded.initial);
  attn::AdamW optimizer(model);
  attn::Tape tape(context());
  attn_test::expect_no_allocations([&] {
    tape.clear();
    const attn::Variable logits =
        model.forward(tape, {ids.data(), {Shape::kBatch, Shape::kLength}});
    tape.backward(attn::cross_entropy(logits, targets));
    attn::clip_grad_norm(tape, 1);
    optimizer.step(tape);
  });
}

TEST_P(TrajectoriesTest, a_step_that_runs_out_of_memory_changes_nothing) {
  const Trajectories recorded = attn_test::recorded_trajectories();
  const std::vector<std::int64_t> ids = recorded.inputs(0), targets = recorded.targets(0);
  Gpt model(recorded.initial);
  attn::AdamW optimizer(model);
  const std::vector<float> before = parameters(model);
  bool done = false;
  for (std::int64_t allowed = 0; !done; ++allowed) {
    attn::Context fresh({.num_threads = 1, .instruction_set = GetParam()});
    attn::Tape tape(fresh);
    done = attn_test::succeeds_with_allocations(allowed, [&] {
      const attn::Variable logits =
          model.forward(tape, {ids.data(), {Shape::kBatch, Shape::kLength}});
      tape.backward(attn::cross_entropy(logits, targets));
      attn::clip_grad_norm(tape, 1);
      optimizer.step(tape);
    });
    ASSERT_EQ(bool(same_bits(parameters(model), before)), !done) << allowed;
  }
}

}  // namespace
