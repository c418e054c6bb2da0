#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "attn/context.hpp"
#include "attn/export.hpp"
#include "attn/tensor_view.hpp"

namespace attn {

class Module;
class Variable;

namespace training {
struct Node;
struct TapeData;
}  // namespace training

/// Records what layers and functions compute from variables, and goes back through it for the
/// gradients of a loss (reverse-mode differentiation; torch.autograd).
///
///   attn::Tape tape;
///   for (const Batch& batch : batches) {
///     tape.clear();
///     attn::Variable x = tokens.forward(tape, batch.ids);
///     x = x + attention.forward(x, x, x, {.attention = {.causal = true}});
///     attn::Variable loss = attn::cross_entropy(unembed.forward(x), batch.targets);
///     tape.backward(loss);
///     optimizer.step(tape);
///   }
///
/// Whole layers are recorded, not single numbers: a variable is a tensor, and each entry knows the
/// gradient of a layer's step. What a layer computes from variables has the same bits as what it
/// computes from tensors.
///
/// Memory is kept from one clear() to the next, so that a steady loop allocates nothing. Parameters
/// of layers that took part are kept until clear(): a layer may be gone before backward().
///
/// Same bits: gradients depend on what was recorded and on the instruction set, and not on the
/// number of threads.
///
/// A tape is used by one thread at a time, which may be another each time.
class ATTN_API Tape {
 public:
  /// Work is done in `context`, which has to live as long. Throws std::bad_alloc.
  explicit Tape(Context& context = Context::default_context());
  ~Tape();
  Tape(Tape&&) noexcept;
  Tape& operator=(Tape&&) noexcept;
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  Context& context() const noexcept;

  /// Forgets all variables and gradients, and begins anew.
  void clear() noexcept;

  /// Forgets all variables, as clear() does, and keeps the gradients of parameters: the next
  /// backward() adds to them (gradient accumulation). The sum of the losses of several small
  /// batches has the gradients of one large batch:
  ///
  ///   for (const Batch& part : parts) {
  ///     tape.clear_keeping_gradients();
  ///     tape.backward(attn::cross_entropy(model.forward(tape, part.ids), part.targets, sum));
  ///   }
  ///   optimizer.step(tape);
  ///   tape.clear();
  ///
  /// Gradients are added in the order of the calls of backward(). A parameter whose gradient is
  /// kept must not change before the next clear(). Throws kInvalidArgument after a backward() that
  /// failed halfway, which leaves no gradients to keep; std::bad_alloc. Nothing has then changed.
  void clear_keeping_gradients();

  /// An input, whose gradient can be looked at: a copy, row-major. Throws kInvalidArgument for null
  /// data or after backward(), std::bad_alloc.
  Variable variable(const ConstTensor& values);

  /// The same without a gradient: what a model is given and does not learn.
  Variable constant(const ConstTensor& values);

  /// A parameter of a layer, as it is now. Layers record their own by themselves; this is for
  /// weights that are used in other ways, too. The same parameter is one variable, however often it
  /// is asked for, and its gradient is the sum over all its uses. Throws kNotFound, and what
  /// variable() does.
  Variable parameter(const Module& layer, std::string_view name);

  /// Asks layers that compute on this tape from now on to show what lies between their steps, by
  /// the names of Module::intermediate_names(); see intermediate(). A later call takes the place of
  /// an earlier one. The layer has to live as long as the tape. Throws kNotFound.
  void watch(const Module& layer, std::span<const std::string> names);

  /// What was asked for by watch(), as the last call of its layer since clear() computed it: a
  /// variable whose gradient can be looked at, where one passes through it. Throws kNotFound for
  /// what was not asked for, or not computed.
  Variable intermediate(const Module& layer, std::string_view name) const;

  /// Computes the gradients of `loss`, a variable with one element, with respect to all that it was
  /// computed from. Once, until clear() or clear_keeping_gradients().
  ///
  /// Throws kInvalidArgument for a variable of another tape or from before clear(), for more than
  /// one element, for a second call, for a loss that is no finite number (saying in which call of
  /// backward(), and which parameter or which layer's output was the first to hold one), and for a
  /// parameter that was changed since it was recorded (saying which); and std::bad_alloc. After an
  /// error there are no gradients.
  void backward(const Variable& loss);

  /// The same for an output of any shape, given the gradient of a loss with respect to it.
  void backward(const Variable& output, const ConstTensor& output_gradient);

  /// The gradient of a parameter, row-major, valid until clear(); none for one that the loss does
  /// not depend on. Throws kNotFound for an unknown name, kInvalidArgument before backward().
  ConstTensor gradient(const Module& layer, std::string_view name) const;

 private:
  friend struct TapeAccess;
  std::unique_ptr<training::TapeData> data_;
};

/// A tensor on a tape: an input, a parameter, or what was computed. A small handle, to be copied
/// freely; it is valid until the tape is cleared. A default-made one stands for "none".
class ATTN_API Variable {
 public:
  Variable() = default;

  bool is_none() const noexcept { return tape_ == nullptr; }

  /// Row-major, valid until the tape is cleared. Throws kInvalidArgument for none and after the
  /// tape was cleared, as all that follows does.
  const ConstTensor& value() const;
  std::span<const std::int64_t> shape() const { return value().shape(); }
  int rank() const { return value().rank(); }
  /// The size of dimension `i`; a negative `i` counts from the last one.
  std::int64_t size(int i) const { return value().size(i); }

  /// The only element of a variable that has one, such as a loss. Throws kShapeMismatch for more.
  float item() const;

  /// The gradient of the loss that Tape::backward() was given, of the value's shape; none where the
  /// loss does not depend on this variable. Throws kInvalidArgument before backward().
  ConstTensor gradient() const;

 private:
  friend struct TapeAccess;

  training::TapeData* tape_ = nullptr;
  training::Node* node_ = nullptr;
  std::uint64_t era_ = 0;  ///< counts the tape's clear()s
};

/// a + b, of one shape: a residual connection. Throws kShapeMismatch, std::bad_alloc.
ATTN_API Variable operator+(const Variable& a, const Variable& b);

}  // namespace attn
