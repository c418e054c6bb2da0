#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "reference/array.hpp"

namespace attn_test {

/// Arrays by name, recorded as float32 numbers. Recording rounds all arrays that are not marked as
/// exact.
using RecordedArrays = std::map<std::string, reference::Array>;

/// One run of torch.optim from Trajectories::initial, in double precision.
struct Trajectory {
  reference::Array losses;    ///< loss of each step
  reference::Array norms;     ///< norm of all gradients in each step, before clipping
  RecordedArrays parameters;  ///< parameters after the last step
};

/// 30 training steps of a small GPT in PyTorch, as defined in recorded/record.py: logits =
/// norm(encoder(embedding(tokens) + positions)) · embeddingᵀ. The encoder is causal and has two
/// layers of width 16 with two heads, 32 hidden units, GELU and norm_first. The loss is the cross
/// entropy over all tokens of a step, and gradients are clipped to a global norm of 1.5. Names are
/// taken from the model's state_dict: "embedding.weight", "positions.weight", "encoder.layers.0.…",
/// "encoder.norm.weight" and so on.
///
/// | run | optimiser |
/// | --- | --- |
/// | "sgd" | SGD, rate 0.1, momentum 0.9 |
/// | "sgd_weight_decay" | SGD, rate 0.1, momentum 0.9, dampening 0.5, weight decay 0.01 |
/// | "sgd_nesterov" | SGD, rate 0.05, Nesterov momentum 0.9, weight decay 0.01 |
/// | "adam" | Adam, rate 0.005, β 0.9 and 0.999, ε 1e-8 |
/// | "adamw" | AdamW, rate 0.005, β 0.9 and 0.95, ε 1e-8, weight decay 0.1 |
///
/// The biases of keys do not affect the output: their gradient is 0 except for rounding errors,
/// which Adam turns into full steps. Don't compare the middle third of each
/// "self_attn.in_proj_bias" after Adam; losses and other parameters do not depend on it.
struct Trajectories {
  static constexpr std::int64_t kSteps = 30, kBatch = 4, kLength = 8, kVocabulary = 17, kWidth = 16,
                                kHeads = 2, kHidden = 32, kLayers = 2;
  static constexpr double kMaxNorm = 1.5;

  RecordedArrays initial;   ///< exact
  reference::Array tokens;  ///< (30, 4, 9)
  std::map<std::string, Trajectory> runs;

  /// The tokens of a step, row-major (4, 8), and their targets: for each token, the next token.
  std::vector<std::int64_t> inputs(std::int64_t step) const { return tokens_from(step, 0); }
  std::vector<std::int64_t> targets(std::int64_t step) const { return tokens_from(step, 1); }

 private:
  std::vector<std::int64_t> tokens_from(std::int64_t step, std::int64_t first) const {
    std::vector<std::int64_t> result;
    for (std::int64_t b = 0; b < kBatch; ++b) {
      for (std::int64_t i = 0; i < kLength; ++i) {
        result.push_back(static_cast<std::int64_t>(tokens.at({step, b, first + i})));
      }
    }
    return result;
  }
};

Trajectories recorded_trajectories();

/// PyTorch's gradients of Σ output · output_gradient, in double precision.
struct RecordedGradient {
  RecordedArrays inputs;            ///< inputs and parameters, recorded exactly
  RecordedArrays outputs;           ///< "0", "1"
  RecordedArrays output_gradients;  ///< recorded exactly, with the names of `outputs`
  RecordedArrays gradients;         ///< gradients of `inputs`, with the same names
};

/// The record of one operation: "layer_norm", "gru" and so on, as recorded/record.py names them.
RecordedGradient recorded_gradient(const std::string& operation);

}  // namespace attn_test
