#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attn/layers/intermediates.hpp"
#include "attn/layers/interventions.hpp"
#include "attn/layers/module.hpp"
#include "attn/tensor_view.hpp"
#include "elementwise.hpp"
#include "runtime/execution.hpp"

namespace attn {

/// Throws kUnsupported if a call has both interventions and a cache.
void check_no_cache(const Interventions* interventions, bool has_cache);

/// Handles the intermediates of one call to a layer's forward(). Interventions change a value
/// first; the changed value is then copied if it is requested. If the target is null, there are no
/// interventions and no requests, and every function costs only a comparison.
class IntermediateWriter {
 public:
  /// Prepares the intermediates of the outermost layer of a call. Throws kNotFound for a name that
  /// the layer does not have. `batched` is true if the tensors of the call have a batch dimension;
  /// otherwise intermediates, which are computed with a batch of size 1, lose that dimension. The
  /// target also contains the interventions, so inner layers receive both.
  IntermediateWriter(const Module& module, Intermediates* target, bool batched = true,
                     const Interventions* interventions = nullptr);
  ~IntermediateWriter();
  IntermediateWriter(const IntermediateWriter&) = delete;
  IntermediateWriter& operator=(const IntermediateWriter&) = delete;

  /// True if anything is requested or changed.
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

  /// True if an intervention changes this value.
  bool changes(std::string_view name) const noexcept { return target_ && is_changed(name); }

  /// Like allocate(), for `values` that interventions may change. Throws if an intervention does
  /// not fit them, so call it before the output is written. The numbers in `values` are not read.
  Tensor prepare(std::string_view name, const AnyTensor& values) {
    return target_ ? prepare_requested(name, values) : Tensor();
  }
  /// Applies to `values` the interventions that prepare() has checked.
  void change_prepared(std::string_view name, const AnyTensor& values,
                       runtime::Execution& run) noexcept {
    if (target_) change_checked(name, values, run);
  }
  /// Applies to `values` the interventions that prepare() has checked, and copies the result to
  /// `prepared`, the tensor that prepare() returned.
  void finish_value(std::string_view name, const Tensor& prepared, const AnyTensor& values,
                    runtime::Execution& run) noexcept;
  /// Checks the interventions and applies them to `values`. Makes no copy.
  void change(std::string_view name, const Tensor& values, runtime::Execution& run);
  /// Checks the interventions, applies them to `values`, and copies `values` if they are requested.
  void pass(std::string_view name, const Tensor& values, runtime::Execution& run);
  /// Returns the mask of this layer's attention without the keys that are knocked out. `shape` is
  /// (B, H, Nq, Nk), to which `mask` broadcasts.
  ConstMask knock_out(const ConstMask& mask, const std::array<std::int64_t, 4>& shape,
                      runtime::Execution& run) const {
    return target_ ? without_knockouts(mask, shape, run) : mask;
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
    Intermediates* target_ = nullptr;
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
  Tensor prepare_requested(std::string_view name, const AnyTensor& values);
  bool is_changed(std::string_view name) const noexcept;
  void check_changes(std::string_view name, const AnyTensor& values) const;
  void change_checked(std::string_view name, const AnyTensor& values,
                      runtime::Execution& run) const noexcept;
  ConstMask without_knockouts(const ConstMask& mask, const std::array<std::int64_t, 4>& shape,
                              runtime::Execution& run) const;
  static void check_names(const Module& module, const Interventions& interventions);
  /// True if `full` is the path of this layer's intermediate `name`.
  bool is_at(std::string_view full, std::string_view name) const noexcept;

  std::optional<Intermediates>
      own_;  ///< used as the target if the caller passed interventions but no target
  Intermediates* target_ = nullptr;
  bool outermost_ = false;
  bool succeeded_ = false;
};

}  // namespace attn
