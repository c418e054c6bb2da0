#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attn/layers/intermediates.hpp"
#include "attn/layers/module.hpp"
#include "attn/tensor_view.hpp"
#include "elementwise.hpp"
#include "runtime/execution.hpp"

namespace attn {

/// Writes the intermediates of one call to a layer's forward(). If the target is null, no
/// intermediates are requested, and every function costs only a comparison.
class IntermediateWriter {
 public:
  /// Prepares the intermediates of the outermost layer of a call. Throws kNotFound for a name
  /// that the layer does not have. `batched` is true if the tensors of the call have a batch
  /// dimension; otherwise intermediates, which are computed with a batch of size 1, lose that
  /// dimension.
  IntermediateWriter(const Module& module, Intermediates* target, bool batched = true);
  ~IntermediateWriter();
  IntermediateWriter(const IntermediateWriter&) = delete;
  IntermediateWriter& operator=(const IntermediateWriter&) = delete;

  /// True if anything is requested.
  explicit operator bool() const noexcept { return target_ != nullptr; }

  /// Allocates memory for an intermediate of this layer, to be filled before the call ends. Returns
  /// an empty tensor unless the intermediate is requested. Throws std::bad_alloc, so call it before
  /// the output is written.
  Tensor allocate(std::string_view name, std::span<const std::int64_t> shape) {
    return target_ ? allocate_requested(name, shape) : Tensor();
  }
  Tensor allocate(std::string_view name, std::initializer_list<std::int64_t> shape) {
    return allocate(name, std::span<const std::int64_t>(shape.begin(), shape.size()));
  }

  /// Copies `values` to `allocated`, the tensor that allocate() returned. Does nothing if
  /// `allocated` is empty.
  static void fill(const Tensor& allocated, const ConstAnyTensor& values,
                   runtime::Execution& run) noexcept {
    if (!allocated.is_none()) attn::widen(values, allocated, run);
  }

  /// If an intermediate is requested, allocates memory for it and copies the values.
  void copy(std::string_view name, const ConstAnyTensor& values, runtime::Execution& run) {
    if (target_) copy_requested(name, values, run);
  }

  /// The target to pass to a child in place of this layer's target; valid until the end of the
  /// expression.
  class Scope {
   public:
    Scope(Intermediates* target, std::string_view child, std::string_view number);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    operator Intermediates*() const noexcept { return target_; }

   private:
    Intermediates* target_;
    std::size_t outer_ = 0;  ///< length of the path before the child was added to it
  };
  Scope enter(std::string_view child) { return Scope(target_, child, {}); }
  /// Like enter(child), for one of several children, e.g. "layers" and 2.
  Scope enter(std::string_view child, std::size_t index) {
    return Scope(target_, child, target_ ? std::to_string(index) : std::string());
  }

  /// The intermediates of children that compute a sequence step by step. Steps are joined along
  /// dimension 1, except in an intermediate that is the same in all steps.
  class Steps {
   public:
    Steps(IntermediateWriter& writer, std::int64_t count, std::string_view constant);
    Scope enter(std::string_view child) { return Scope(writer_ ? &step_ : nullptr, child, {}); }
    /// Stores the results of step t. Only the first step may throw std::bad_alloc.
    void store(std::int64_t t, runtime::Execution& run);

   private:
    IntermediateWriter& writer_;
    std::int64_t count_;
    std::string_view constant_;
    Intermediates step_;
    std::vector<Tensor> all_;  ///< for each intermediate in `step_`, the values of all steps
  };

  /// Marks the call as successful.
  void finish() noexcept { succeeded_ = true; }

 private:
  Tensor allocate_requested(std::string_view name, std::span<const std::int64_t> shape);
  void copy_requested(std::string_view name, const ConstAnyTensor& values, runtime::Execution& run);

  Intermediates* target_;
  bool outermost_ = false;
  bool batched_;
  bool succeeded_ = false;
};

}  // namespace attn
