#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "attn/export.hpp"
#include "attn/io/safetensors.hpp"
#include "attn/io/state_dict.hpp"
#include "attn/layers/module.hpp"
#include "attn/training/tape.hpp"

namespace attn {

namespace training {
struct OptimizerData;
}

/// A part of a model. The names of its parameters are prefixed with `name` and a dot, unless `name`
/// is empty. While the optimiser exists, the error messages of a tape use these names too. If the
/// part was added to a larger module, the messages use the larger module's names instead.
struct NamedModule {
  std::string_view name;
  Module& module;
};

/// Parameters with their own settings, like the param_groups of torch.optim. For example, this
/// group turns off weight decay for biases and norms:
///
///   attn::AdamW optimizer(model, {.weight_decay = 0.1, .groups = {{
///       .params = [](std::string_view, auto shape) { return shape.size() < 2; },
///       .weight_decay = 0}}});
struct ParameterGroup {
  /// Given a parameter's name in the model (e.g. "layers.0.linear1.bias", as in the optimiser's
  /// state) and its shape, returns true if the parameter is in the group. A parameter that several
  /// groups select belongs to the first of them. Called only while the optimiser is constructed.
  std::function<bool(std::string_view name, std::span<const std::int64_t> shape)> params = {};
  /// The default is the optimiser's learning rate, which set_learning_rate() changes.
  std::optional<double> learning_rate = {};
  /// The default is the optimiser's weight decay.
  std::optional<double> weight_decay = {};
};

/// Updates the parameters of a model with their gradients. The equations and defaults follow
/// PyTorch's torch.optim. Updates are computed in float32, with bias corrections in double
/// precision.
///
/// The optimiser updates the parameters that the model has when the optimiser is created. It keeps
/// them alive, and you may move the model. A parameter that appears twice in the model is updated
/// once.
///
/// A step allocates nothing. On a given instruction set, updates are bit-identical for any number
/// of threads and on every machine.
class ATTN_API Optimizer {
 public:
  virtual ~Optimizer();
  Optimizer(Optimizer&&) noexcept;
  Optimizer& operator=(Optimizer&&) noexcept;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  /// Call this after Tape::backward(). Updates every parameter that has a gradient, using the
  /// tape's context. Other parameters and their state do not change. Throws kInvalidArgument, and
  /// changes nothing, if backward() has not been called.
  void step(const Tape& tape);

  double learning_rate() const noexcept;
  /// Sets the learning rate for the next steps, except for groups that have their own learning
  /// rate. Throws kInvalidArgument for NaN, infinity and negative numbers.
  void set_learning_rate(double learning_rate);

  /// Returns the learning rate of a group: its own, or else the optimiser's. `group` is an
  /// index into the option `groups`. Throws kInvalidArgument for a group that does not exist.
  double learning_rate(std::size_t group) const;
  /// Gives a group its own learning rate. Throws the same errors as the functions above.
  void set_learning_rate(double learning_rate, std::size_t group);

 protected:
  explicit Optimizer(std::unique_ptr<training::OptimizerData> data) noexcept;

 private:
  friend struct OptimizerAccess;
  std::unique_ptr<training::OptimizerData> data_;
};

struct SgdOptions {
  double learning_rate = 1e-3;
  double momentum = 0;
  double dampening = 0;
  double weight_decay = 0;
  bool nesterov = false;
  std::vector<ParameterGroup> groups = {};
};

/// Stochastic gradient descent, like torch.optim.SGD. For the gradient g of a parameter p, after g
/// ← g + weight_decay · p:
///
///   buffer ← momentum · buffer + (1 − dampening) · g     (in the first step: g)
///   g ← g + momentum · buffer with nesterov, else buffer (without momentum: g)
///   p ← p − learning_rate · g
///
/// State, with momentum: "momentum_buffer" and "step".
class ATTN_API Sgd final : public Optimizer {
 public:
  /// Throws kInvalidArgument for options that are negative or not finite, for nesterov without
  /// momentum or with dampening, for groups without `params`, and for names given twice. May also
  /// throw std::bad_alloc.
  explicit Sgd(Module& model, const SgdOptions& options = {});
  explicit Sgd(std::span<const NamedModule> models, const SgdOptions& options = {});
  explicit Sgd(std::initializer_list<NamedModule> models, const SgdOptions& options = {})
      : Sgd(std::span<const NamedModule>(models.begin(), models.size()), options) {}
};

struct AdamOptions {
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0;
  std::vector<ParameterGroup> groups = {};
};

/// Adam (Kingma and Ba 2015, arXiv:1412.6980), like torch.optim.Adam. For the gradient g of a
/// parameter p in step t = 1, 2, …, after g ← g + weight_decay · p:
///
///   exp_avg    ← β₁ · exp_avg + (1 − β₁) · g
///   exp_avg_sq ← β₂ · exp_avg_sq + (1 − β₂) · g²
///   p ← p − learning_rate / (1 − β₁ᵗ) · exp_avg / (√exp_avg_sq / √(1 − β₂ᵗ) + eps)
///
/// State: "exp_avg", "exp_avg_sq" and "step", the number of steps of each parameter. As in PyTorch,
/// "step" is a float32, so it counts up to 2^24.
class ATTN_API Adam final : public Optimizer {
 public:
  /// Throws kInvalidArgument for options that are negative or not finite, for betas of 1 or more,
  /// for groups without `params`, and for names given twice. May also throw std::bad_alloc.
  explicit Adam(Module& model, const AdamOptions& options = {});
  explicit Adam(std::span<const NamedModule> models, const AdamOptions& options = {});
  explicit Adam(std::initializer_list<NamedModule> models, const AdamOptions& options = {})
      : Adam(std::span<const NamedModule>(models.begin(), models.size()), options) {}
};

struct AdamWOptions {
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 1e-2;
  std::vector<ParameterGroup> groups = {};
};

/// Adam with decoupled weight decay (Loshchilov and Hutter 2019, arXiv:1711.05101), like
/// torch.optim.AdamW: g does not change, and weight_decay · learning_rate · p is subtracted from p
/// in addition to Adam's step. It has the same state as Adam.
class ATTN_API AdamW final : public Optimizer {
 public:
  /// Throws the same errors as Adam.
  explicit AdamW(Module& model, const AdamWOptions& options = {});
  explicit AdamW(std::span<const NamedModule> models, const AdamWOptions& options = {});
  explicit AdamW(std::initializer_list<NamedModule> models, const AdamWOptions& options = {})
      : AdamW(std::span<const NamedModule>(models.begin(), models.size()), options) {}
};

/// The state of an optimiser, with `prefix` in front of each name: "exp_avg.layers.0.weight",
/// "step.layers.0.weight". The views are valid for as long as the optimiser exists. Options are not
/// part of the state. If the learning rate changes from step to step, set it again after loading
/// the state. Throws std::bad_alloc.
///
/// You can stop a run after a step and continue with a model and an optimiser loaded from files.
/// The results have the same bits as without the interruption.
ATTN_API std::vector<NamedTensor> state_dict(const Optimizer& optimizer,
                                             std::string_view prefix = "");

/// Sets the state from a file, like load_state_dict() for a module. Throws the same errors as that
/// function. Throws kInvalidArgument if a step is not a whole number from 0 to 2^24. Everything is
/// checked before anything is set.
ATTN_API IncompatibleKeys load_state_dict(Optimizer& optimizer, const Safetensors& file,
                                          std::string_view prefix = "", bool strict = true);

/// Call this after backward(). Scales the gradients of all parameters on a tape so that their norm
/// (the root of the sum of all squares) is at most max_norm, like torch.nn.utils.clip_grad_norm_.
/// The factor is max_norm / (norm + 1e-6) if that is less than 1. Returns the norm before scaling.
/// Sums use double precision and a fixed order. The norm is therefore exact except for one rounding
/// to float, and bit-identical for any number of threads.
///
/// Throws kInvalidArgument if backward() has not been called or if max_norm is NaN or negative.
/// Also throws kInvalidArgument, unlike PyTorch, if a gradient is not finite, because scaling by
/// the norm would then destroy all gradients; the message names the first parameter with such a
/// gradient. After an error the gradients are unchanged. A norm beyond float's range is returned as
/// infinity, but gradients are still scaled correctly.
ATTN_API float clip_grad_norm(Tape& tape, double max_norm);

}  // namespace attn
