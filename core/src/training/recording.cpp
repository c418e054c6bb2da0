#include "training/recording.hpp"

#include <utility>

#include "elementwise.hpp"
#include "layers/module_access.hpp"
#include "validation.hpp"

namespace attn::training {

Context& BackwardPass::context() const noexcept { return tape_.context; }

const kernels::TrainingTable& BackwardPass::kernels() const { return training_kernels(run); }

void BackwardPass::add_to(Node* node, const ConstTensor& gradient) {
  if (!needs_gradient(node)) return;
  if (node->gradient.is_none()) {
    const Tensor memory = new_gradient(*node);
    copy(gradient, memory, run);
    node->gradient = memory;
  } else {
    attn::add(node->gradient, gradient, node->gradient, run);
  }
}

BackwardPass::Addition BackwardPass::begin(Node& node, runtime::Execution& scratch) {
  if (node.gradient.is_none()) {
    node.gradient = new_gradient(node);
    return {&node, node.gradient};
  }
  return {&node, Tensor(scratch.floats(count_of(node), "gradients"), node.value.shape())};
}

void BackwardPass::end(const Addition& addition, runtime::Execution& scratch) noexcept {
  const Tensor& gradient = addition.node->gradient;
  if (addition.memory.data() == gradient.data()) return;
  attn::add(gradient, addition.memory, gradient, scratch);
}

ConstTensor BackwardPass::output_gradient(const Step& step) {
  Tensor& gradient = step.output->gradient;
  const Node* second = step.second_output;
  if (gradient.is_none() && second && !second->gradient.is_none()) {
    gradient = zero_gradient(*step.output);
  }
  return gradient;
}

void BackwardPass::move_to(Node* node, const Tensor& gradient) {
  if (needs_gradient(node) && node->gradient.is_none()) {
    node->gradient = gradient;
  } else {
    const ConstTensor& more = gradient;
    add_to(node, more);
  }
}

std::int64_t BackwardPass::count_of(const Node& node) {
  return validation::product("gradients", node.value.shape());
}

Tensor BackwardPass::new_gradient(const Node& node) {
  return Tensor(static_cast<float*>(tape_.take(count_of(node), sizeof(float))), node.value.shape());
}

Tensor BackwardPass::zero_gradient(const Node& node) {
  const Tensor result = new_gradient(node);
  std::fill_n(result.data(), count_of(node), 0.0F);
  return result;
}

Recording::Recording(const char* name, const Module* layer,
                     std::initializer_list<const Variable*> inputs)
    : name_(name) {
  for (const Variable* input : inputs) add_input(*input);
  begin(layer);
}

Recording::Recording(const char* name, const Module* layer, std::span<const Variable> inputs)
    : name_(name) {
  for (const Variable& input : inputs) add_input(input);
  begin(layer);
}

void Recording::add_input(const Variable& input) {
  if (input.is_none()) return;
  const Node& node = TapeAccess::checked(input);
  if (!tape_) tape_ = TapeAccess::tape(input);
  if (tape_ != TapeAccess::tape(input)) {
    validation::fail_value(name_, "variables from two tapes", {"variables from one tape"});
  }
  if (node.display_only) {
    validation::fail_value(name_, "a variable that is only for display",
                           {"a variable that passes its gradient on"});
  }
  needs_gradient_ = needs_gradient_ || node.needs_gradient;
}

void Recording::begin(const Module* layer) {
  if (!tape_) validation::fail_value(name_, "none", {"a variable that a tape created"});
  tape_->require_recording();
  if (!layer) return;
  layer_ = ModuleAccess::identity(*layer);
  tape_->keep(ModuleAccess::keep(*layer));
}

void Recording::keep(std::shared_ptr<const void> owner) { tape_->keep(std::move(owner)); }

Recording::Recording(const char* name, const Module* layer, Tape& tape,
                     std::initializer_list<const Variable*> inputs)
    : tape_(&TapeAccess::data(tape)), name_(name) {
  for (const Variable* input : inputs) add_input(*input);
  begin(layer);
}

Context& Recording::context() const noexcept { return tape_->context; }

Tensor Recording::memory(std::span<const std::int64_t> shape) {
  return Tensor(take<float>(validation::product(name_, shape)), shape);
}

Node* Recording::node(const Variable& variable) noexcept { return TapeAccess::node(variable); }

Node* Recording::parameter(const Module& layer, const ConstTensor& values) {
  if (values.is_none()) return nullptr;
  needs_gradient_ = true;
  return tape_->parameter(layer, values);
}

void* Recording::take_bytes(std::int64_t count, std::size_t size) {
  return tape_->take(count, size);
}

Variable Recording::make_displayed(const Tensor& values, bool has_gradient) {
  Node* node = new_node(values, has_gradient);
  node->display_only = true;
  return variable(node);
}

bool Recording::watched(const char* intermediate) const noexcept {
  return !tape_->watches.empty() && tape_->find_watch(layer_, intermediate);
}

void Recording::record_output(Node* node) const noexcept {
  if (tape_->watches.empty()) return;
  if (TapeData::Watch* watch = tape_->find_watch(layer_, "output")) watch->node = node;
}

void record_intermediate(const Module& layer, const char* name, const Variable& variable) noexcept {
  TapeData& tape = *TapeAccess::tape(variable);
  if (tape.watches.empty()) return;
  TapeData::Watch* watch = tape.find_watch(ModuleAccess::identity(layer), name);
  if (watch) watch->node = TapeAccess::node(variable);
}

Node* Recording::new_node(const ConstTensor& value, bool needs_gradient) {
  return new (take<Node>(1)) Node{.value = value, .needs_gradient = needs_gradient};
}

void Recording::append(Step* step, Node* output) noexcept {
  step->output = output;
  step->name = name_;
  step->layer = layer_;
  step->previous = tape_->last_step;
  tape_->last_step = step;
}

Variable Recording::variable(Node* node) const noexcept {
  return TapeAccess::variable(*tape_, node);
}

}  // namespace attn::training
