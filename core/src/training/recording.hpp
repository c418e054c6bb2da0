#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <initializer_list>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "attn/layers/module.hpp"
#include "attn/training/tape.hpp"
#include "elementwise.hpp"
#include "runtime/arena.hpp"
#include "runtime/execution.hpp"
#include "runtime/training_dispatch.hpp"
#include "validation.hpp"

/// How layers record their computations.
///
///   Variable Linear::forward(const Variable& x) const {
///     Recording record("Linear", this, {&x});
///     const Tensor y = record.memory({…});
///     forward(x.value(), y, record.context());
///     return record.finish(y, LinearStep(record.node(x), record.parameter(*this, weight_)));
///   }
///
/// If a layer has several parameters, call Recording::parameter() for each of them in a separate
/// statement, in the order of parameter_names(). The order of the calls decides the order of sums
/// over all parameters, and compilers evaluate the arguments of a function in different orders.
///
/// A step is a small struct that remembers what its backward pass needs: nodes, views of memory
/// that the tape keeps, and plain numbers. backward() is called once, with the gradient of the
/// output, and adds to the gradients of the inputs.
namespace attn {

namespace training {

struct TapeData;

/// The training kernels of the instruction set that `run` uses.
inline const kernels::TrainingTable& training_kernels(const runtime::Execution& run) noexcept {
  return *runtime::find_training_kernels(run.kernels().instruction_set);
}

/// A tensor on a tape.
struct Node {
  ConstTensor value;     ///< row-major
  Tensor gradient = {};  ///< gradient, row-major; empty before the first addition
  bool needs_gradient = false;
  bool display_only = false;  ///< true for a variable that is only for display; other operations
                              ///< reject it as an input
};

class Step;

/// State of a running backward pass.
class BackwardPass {
 public:
  BackwardPass(TapeData& tape, runtime::Execution& execution) : run(execution), tape_(tape) {}

  /// True if `node` is not null and its gradient is needed.
  static bool needs_gradient(const Node* node) noexcept { return node && node->needs_gradient; }

  Context& context() const noexcept;
  const kernels::TrainingTable& kernels() const;

  /// Adds to the gradient of a node: `write` fills every element of a row-major tensor of the
  /// node's shape. The first addition writes in place. Does nothing if the gradient is not wanted.
  /// Throws std::bad_alloc and the errors of `write`.
  template <class F>
  void add_to(Node* node, F&& write) {
    if (!needs_gradient(node)) return;
    runtime::Execution scratch(context());
    const Addition addition = begin(*node, scratch);
    write(addition.memory);
    end(addition, scratch);
  }

  /// An addition to the gradient of a node, for calls that write several gradients. Call begin()
  /// for each node, then write all gradients, then call end() for each addition.
  struct Addition {
    Node* node = nullptr;
    Tensor memory = {};
  };
  Addition begin(Node& node, runtime::Execution& scratch);
  static void end(const Addition& addition, runtime::Execution& scratch) noexcept;

  /// Like add_to(), but adds only to rows [begin, end) of a node's gradient (in dimension 0). If
  /// the node has no gradient yet, the other rows become zero; otherwise, they do not change.
  template <class F>
  void add_to_rows(Node* node, std::int64_t begin, std::int64_t end, F&& write) {
    if (!needs_gradient(node)) return;
    if (begin == 0 && end == node->value.size(0)) return add_to(node, std::forward<F>(write));
    if (node->gradient.is_none()) node->gradient = zero_gradient(*node);
    const Tensor rows = node->gradient.slice(0, begin, end);
    runtime::Execution scratch(context());
    const Tensor more(scratch.floats(count_of(*node), "gradients"), rows.shape());
    write(more);
    attn::add(rows, more, rows, scratch);
  }

  /// For updates of a few rows of a large table: add(gradient, fresh) adds to the gradient in
  /// place, or writes every element if `fresh` is true.
  template <class F>
  void add_in_place(Node* node, F&& add) {
    if (!needs_gradient(node)) return;
    const bool fresh = node->gradient.is_none();
    const Tensor gradient = fresh ? new_gradient(*node) : node->gradient;
    add(gradient, fresh);
    node->gradient = gradient;
  }

  /// The gradient of a step's output: zeros if only the second output has a gradient, none if
  /// neither has.
  ConstTensor output_gradient(const Step& step);

  /// Adds a gradient that is already computed.
  void add_to(Node* node, const ConstTensor& gradient);
  /// Adds a gradient that is in the tape's memory and that nothing else uses. If the node has no
  /// gradient yet, it takes over this memory.
  void move_to(Node* node, const Tensor& gradient);

  runtime::Execution& run;

 private:
  static std::int64_t count_of(const Node& node);
  Tensor new_gradient(const Node& node);
  Tensor zero_gradient(const Node& node);

  TapeData& tape_;
};

/// One entry of a tape. It is in the tape's memory and is never destroyed.
class Step {
 public:
  /// `output_gradient` is the row-major gradient of the output. May throw std::bad_alloc.
  virtual void backward(BackwardPass& pass, const ConstTensor& output_gradient) = 0;

  Step* previous = nullptr;
  Node* output = nullptr;
  Node* second_output = nullptr;  ///< the second output, or null; it need not have a gradient
  // The function or class that computed the output, and the layer if there is one, for error
  // messages.
  const char* name = nullptr;
  const void* layer = nullptr;

 protected:
  ~Step() = default;
};

/// Records one call. Checks that all inputs are on the same tape and that this tape still records.
class Recording {
 public:
  /// `name` is a literal; `layer` may be null. Skips empty inputs. Throws kInvalidArgument if all
  /// inputs are empty or if a check fails.
  Recording(const char* name, const Module* layer, std::initializer_list<const Variable*> inputs);
  Recording(const char* name, const Module* layer, std::span<const Variable> inputs);
  /// Records a call on this tape, even if no input is a variable.
  Recording(const char* name, const Module* layer, Tape& tape,
            std::initializer_list<const Variable*> inputs = {});

  Context& context() const noexcept;

  /// Memory that stays valid until the tape is cleared. Throws kSizeOverflow or std::bad_alloc.
  Tensor memory(std::span<const std::int64_t> shape);
  Tensor memory(std::initializer_list<std::int64_t> shape) {
    return memory(std::span<const std::int64_t>(shape.begin(), shape.size()));
  }
  template <class T>
  T* take(std::int64_t count) {
    static_assert(std::is_trivially_destructible_v<T>);
    return static_cast<T*>(take_bytes(count, sizeof(T)));
  }

  /// The node of a variable; null for an empty variable.
  static Node* node(const Variable& variable) noexcept;
  /// Keeps an object alive until the tape is cleared, because steps point to it. Its layer may be
  /// destroyed earlier.
  void keep(std::shared_ptr<const void> owner);

  /// The node of a layer's own parameter; null if there is no parameter.
  Node* parameter(const Module& layer, const ConstTensor& values);

  /// True if any input or requested parameter needs a gradient. Otherwise finish() records nothing.
  bool needs_gradient() const noexcept { return needs_gradient_; }

  /// Turns the result into a variable and records its backward step. The last variable of a layer
  /// is its intermediate "output".
  template <class S>
  Variable finish(const ConstTensor& output, S step) {
    static_assert(std::is_trivially_destructible_v<S>);
    Node* node = new_node(output, needs_gradient_);
    if (needs_gradient_) append_step(node, std::move(step));
    record_output(node);
    return variable(node);
  }
  /// Makes a variable that is an input, not a result.
  Variable input(const Tensor& values, bool needs_gradient) {
    return variable(new_node(values, needs_gradient));
  }
  /// Turns an intermediate result into a variable that is only for display, with or without a
  /// gradient.
  Variable make_displayed(const Tensor& values, bool has_gradient = true);

  /// True if this intermediate of the layer was requested.
  bool watched(const char* intermediate) const noexcept;

  /// Records one more backward step from an output.
  template <class S>
  void append_step(Node* output, S step) {
    append(new (take<S>(1)) S(std::move(step)), output);
  }

 private:
  void add_input(const Variable& input);
  /// Call this function after all inputs are known.
  void begin(const Module* layer);
  void* take_bytes(std::int64_t count, std::size_t size);
  Node* new_node(const ConstTensor& value, bool needs_gradient);
  void append(Step* step, Node* output) noexcept;
  Variable variable(Node* node) const noexcept;
  void record_output(Node* node) const noexcept;

  TapeData* tape_ = nullptr;
  const char* name_;
  const void* layer_ = nullptr;
  bool needs_gradient_ = false;
};

/// Records an intermediate of a layer if it was requested.
void record_intermediate(const Module& layer, const char* name, const Variable& variable) noexcept;

/// Throws if the caller passed an argument that is not allowed in a recorded call.
inline void require_none(const char* argument, bool given) {
  if (given) {
    validation::fail_value(argument, "a value", {"none when a tape records the call"});
  }
}

struct TapeData {
  explicit TapeData(Context& c) : context(c) {}

  /// A parameter that recorded calls use.
  struct Parameter {
    Parameter* previous;
    Node node;
    const void* layer;             ///< the layer, for error messages; see ModuleAccess::path
    const std::uint64_t* changes;  ///< the layer's change counter
    std::uint64_t changes_seen;
  };

  /// An intermediate that was requested.
  struct Watch {
    const void* layer;
    std::string name;
    Node* node;  ///< the value from the layer's last call
  };

  /// A parameter whose gradient clear_keeping_gradients() keeps.
  struct KeptGradient {
    Parameter parameter;
    std::vector<float> values;
  };

  enum class State { kRecording, kDone, kFailed };

  Context& context;
  runtime::Arena arena;
  Step* last_step = nullptr;
  Parameter* last_parameter = nullptr;
  State state = State::kRecording;
  std::uint64_t era = 1;
  std::uint64_t backward_calls = 0;
  std::vector<Watch> watches;
  std::vector<std::shared_ptr<const void>> kept;  ///< pointers that keep alive the layers that were
                                                  ///< used
  std::deque<KeptGradient> kept_gradients;        ///< stored in a deque, so that elements never
                                                  ///< move
  std::size_t num_kept_gradients = 0;             ///< number of gradients; further elements are
                                                  ///< spare memory

  void keep(std::shared_ptr<const void> owner);
  void* take(std::int64_t count, std::size_t size);
  void require_recording() const;
  /// Returns null if the intermediate was not requested.
  Watch* find_watch(const void* layer, std::string_view name) noexcept;
  /// Throws kInvalidArgument unless backward() has computed gradients.
  void require_gradients() const;
  void require_finite(const Node& loss) const;
  void check_backward(const char* name, const Variable& output) const;
  void run_backward(const Variable& output, const ConstTensor& output_gradient);
  Node* parameter(const Module& layer, const ConstTensor& values);
  /// Copies all gradients of parameters to `kept_gradients` and returns their number.
  std::size_t keep_gradients();
};

}  // namespace training

/// Access to tapes and variables for the library's own sources.
struct TapeAccess {
  using TapeData = training::TapeData;
  static TapeData& data(const Tape& tape) noexcept { return *tape.data_; }
  static TapeData* tape(const Variable& v) noexcept { return v.tape_; }
  static training::Node* node(const Variable& v) noexcept { return v.node_; }
  /// Throws kInvalidArgument if the variable is empty or its tape was cleared.
  static const training::Node& checked(const Variable& v);
  /// The gradient of a parameter, found by its address; none if the loss does not depend on it.
  static ConstTensor gradient(const TapeData& tape, const float* parameter) noexcept;
  static Variable variable(TapeData& tape, training::Node* node) noexcept {
    Variable v;
    v.tape_ = &tape;
    v.node_ = node;
    v.era_ = tape.era;
    return v;
  }
};

}  // namespace attn
