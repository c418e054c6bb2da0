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

/// Records what layers and functions compute from variables, then computes the gradients of a loss
/// in reverse order (reverse-mode differentiation; torch.autograd).
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
/// A tape records whole layer operations rather than scalar ones: a variable is a tensor, and each
/// entry of the tape computes the gradients of one operation. A layer's outputs are bit-identical
/// for variables and for tensors.
///
/// Memory is reused after clear(), so a loop that repeats the same steps allocates nothing. The
/// tape keeps the parameters of its layers alive until clear(), so a layer may be destroyed before
/// backward().
///
/// Reproducibility: the bits of gradients depend on the recorded operations and on the instruction
/// set, not on the number of threads.
///
/// Only one thread may use a tape at a time, but it need not always be the same thread.
class ATTN_API Tape {
 public:
  /// Uses `context` for all work; the context must outlive the tape. Throws std::bad_alloc.
  explicit Tape(Context& context = Context::default_context());
  ~Tape();
  Tape(Tape&&) noexcept;
  Tape& operator=(Tape&&) noexcept;
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  Context& context() const noexcept;

  /// Removes all variables and gradients, so that you can record new operations.
  void clear() noexcept;

  /// Removes all variables, as clear() does, but keeps the gradients of parameters. The next
  /// backward() adds to them (gradient accumulation), so that several small batches give the
  /// gradients of one large batch:
  ///
  ///   for (const Batch& part : parts) {
  ///     tape.clear_keeping_gradients();
  ///     tape.backward(attn::cross_entropy(model.forward(tape, part.ids), part.targets, sum));
  ///   }
  ///   optimizer.step(tape);
  ///   tape.clear();
  ///
  /// Gradients are added in the order in which backward() is called. A parameter whose gradient is
  /// kept must not change before the next clear(). Throws std::bad_alloc. Throws kInvalidArgument
  /// if backward() failed halfway, because there are then no gradients to keep. A call that throws
  /// changes nothing.
  void clear_keeping_gradients();

  /// Copies `values` (row-major) onto the tape as an input. Read its gradient after backward().
  /// Throws kInvalidArgument for a null data pointer or if called after backward(). May also throw
  /// std::bad_alloc.
  Variable variable(const ConstTensor& values);

  /// Like variable(), but without a gradient, for inputs that are not learned.
  Variable constant(const ConstTensor& values);

  /// Records a parameter of a layer with its current value. Layers record their own parameters.
  /// Call this function only if you also use a parameter outside its layer, e.g. in a tied output
  /// layer. Repeated calls return the same variable, and its gradient is the sum over all uses.
  /// Throws kNotFound for an unknown name. May also throw the same errors as variable().
  Variable parameter(const Module& layer, std::string_view name);

  /// Makes `layer` record the intermediates with these names on this tape from now on.
  /// Module::intermediate_names() returns the possible names. Read the values with intermediate().
  /// Each call replaces all names passed in earlier calls. The layer must outlive the tape. Throws
  /// kNotFound.
  void watch(const Module& layer, std::span<const std::string> names);

  /// Returns an intermediate requested with watch(), as computed by the last call to its layer
  /// since clear(). The intermediate has a gradient if the loss depends on it. Throws kNotFound if
  /// it was not requested or not computed.
  Variable intermediate(const Module& layer, std::string_view name) const;

  /// Computes the gradients of `loss`, a variable with one element, with respect to all variables
  /// from which it was computed. Before you call it again, call clear() or
  /// clear_keeping_gradients().
  ///
  /// Throws kInvalidArgument if `loss` is on another tape, was recorded before clear(), or has more
  /// than one element, or if backward() has already been called since clear(). Throws
  /// kInvalidArgument if the loss is not finite; the message gives the number of the call to
  /// backward() and names the first parameter or layer output that is not finite. Throws
  /// kInvalidArgument if a parameter has changed since it was recorded; the message names it. May
  /// also throw std::bad_alloc. After an error there are no gradients.
  void backward(const Variable& loss);

  /// Like backward(loss), but starts from the gradient of a loss with respect to `output`, which
  /// may have any shape.
  void backward(const Variable& output, const ConstTensor& output_gradient);

  /// The gradient of a parameter, row-major, valid until clear(). None if the loss does not depend
  /// on the parameter. Throws kNotFound for an unknown name, and kInvalidArgument before
  /// backward().
  ConstTensor gradient(const Module& layer, std::string_view name) const;

 private:
  friend struct TapeAccess;
  std::unique_ptr<training::TapeData> data_;
};

/// A tensor on a tape: an input, a parameter or a result. It is a small handle that you can copy
/// freely. It is valid until the tape is cleared. A default-constructed variable means "none".
class ATTN_API Variable {
 public:
  Variable() = default;

  bool is_none() const noexcept { return tape_ == nullptr; }

  /// The values, row-major, valid until the tape is cleared. This and the following functions throw
  /// kInvalidArgument if the variable is none or the tape was cleared.
  const ConstTensor& value() const;
  std::span<const std::int64_t> shape() const { return value().shape(); }
  int rank() const { return value().rank(); }
  /// The size of dimension `i`; a negative `i` counts from the last dimension.
  std::int64_t size(int i) const { return value().size(i); }

  /// The value of a variable with exactly one element, such as a loss. Throws kShapeMismatch for
  /// any other number of elements.
  float item() const;

  /// The gradient of the loss passed to Tape::backward(), in the shape of the value. None if the
  /// loss does not depend on this variable. Throws kInvalidArgument if called before backward().
  ConstTensor gradient() const;

 private:
  friend struct TapeAccess;

  training::TapeData* tape_ = nullptr;
  training::Node* node_ = nullptr;
  std::uint64_t era_ =
      0;  ///< number of clear() calls on the tape before this variable was recorded
};

/// a + b, element by element, e.g. for a residual connection. Both must have the same shape. Throws
/// kShapeMismatch or std::bad_alloc.
ATTN_API Variable operator+(const Variable& a, const Variable& b);

}  // namespace attn
