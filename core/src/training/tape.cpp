#include "attn/training/tape.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "attn/layers/module.hpp"
#include "elementwise.hpp"
#include "layers/module_access.hpp"
#include "training/recording.hpp"
#include "validation.hpp"

namespace attn {
namespace {

using training::BackwardPass;
using training::Recording;
using training::Step;
using training::TapeData;

template <class F>
bool any_element(const ConstTensor& row_major, F&& predicate) noexcept {
  std::int64_t count = 1;
  for (const std::int64_t size : row_major.shape()) count *= size;
  return std::any_of(row_major.data(), row_major.data() + count, predicate);
}

/// The first tensor in which some number has a given property. Parameters are searched first, then
/// outputs of layers and functions, in the order in which they were recorded.
struct FoundTensor {
  const TapeData::Parameter* parameter = nullptr;
  const Step* step = nullptr;

  explicit operator bool() const noexcept { return parameter || step; }

  /// 'parameter "layers.0.weight"', 'the output of Linear "layers.0"'
  std::string name() const {
    if (parameter) {
      const float* values = parameter->node.value.data();
      return "parameter \"" + ModuleAccess::path(parameter->layer, values) + "\"";
    }
    std::string result = std::string("the output of ") + step->name;
    const std::string path = step->layer ? ModuleAccess::path(step->layer) : std::string();
    return path.empty() ? result : result + " \"" + path + "\"";
  }
};

/// The loops do not stop at the first match, because both lists are stored in reverse order.
template <class F>
FoundTensor find_first_tensor(const TapeData& tape, F predicate) noexcept {
  FoundTensor found;
  for (auto* p = tape.last_parameter; p; p = p->previous) {
    if (any_element(p->node.value, predicate)) found.parameter = p;
  }
  if (found) return found;
  for (auto* step = tape.last_step; step; step = step->previous) {
    if (any_element(step->output->value, predicate)) found.step = step;
  }
  return found;
}

}  // namespace

const training::Node& TapeAccess::checked(const Variable& v) {
  if (v.is_none()) validation::fail_value("variable", "none", {"one that a tape created"});
  if (v.era_ != v.tape_->era) {
    validation::fail_value("variable", "a variable from before the tape was cleared",
                           {"a newer one"});
  }
  return *v.node_;
}

Tape::Tape(Context& context) : data_(std::make_unique<TapeData>(context)) {}
Tape::~Tape() = default;
Tape::Tape(Tape&&) noexcept = default;
Tape& Tape::operator=(Tape&&) noexcept = default;

Context& Tape::context() const noexcept { return data_->context; }

void Tape::clear() noexcept {
  TapeData& tape = *data_;
  tape.last_step = nullptr;
  tape.last_parameter = nullptr;
  tape.num_kept_gradients = 0;
  tape.kept.clear();
  tape.state = TapeData::State::kRecording;
  ++tape.era;
  for (TapeData::Watch& watch : tape.watches) watch.node = nullptr;
  tape.arena.rewind({});
}

void Tape::clear_keeping_gradients() {
  TapeData& tape = *data_;
  if (tape.state == TapeData::State::kFailed) tape.require_gradients();
  const std::size_t count = tape.keep_gradients();
  std::vector<std::shared_ptr<const void>> layers;
  layers.swap(tape.kept);
  clear();
  layers.swap(tape.kept);
  tape.num_kept_gradients = count;
  for (std::size_t i = 0; i < count; ++i) {
    TapeData::KeptGradient& kept = tape.kept_gradients[i];
    training::Node& node = kept.parameter.node;
    node.gradient = Tensor(kept.values.data(), node.value.shape());
    kept.parameter.previous = tape.last_parameter;
    tape.last_parameter = &kept.parameter;
  }
}

namespace {

Variable copy_of(Tape& tape, const ConstTensor& values, bool needs_gradient) {
  Recording record("variable", nullptr, tape);
  validation::require_data("values", values);
  const Tensor memory = record.memory(values.shape());
  runtime::Execution run(record.context());
  copy(values, memory, run);
  return record.input(memory, needs_gradient);
}

}  // namespace

Variable Tape::variable(const ConstTensor& values) { return copy_of(*this, values, true); }
Variable Tape::constant(const ConstTensor& values) { return copy_of(*this, values, false); }

Variable Tape::parameter(const Module& layer, std::string_view name) {
  data_->require_recording();
  return TapeAccess::variable(*data_, data_->parameter(layer, layer.parameter(name)));
}

void Tape::watch(const Module& layer, std::span<const std::string> names) {
  std::vector<TapeData::Watch> watches;
  for (const std::string& name : names) {
    const auto [inner, own_name] = ModuleAccess::intermediate(layer, name);
    watches.push_back({inner, std::string(own_name), nullptr});
  }
  data_->watches = std::move(watches);
}

Variable Tape::intermediate(const Module& layer, std::string_view name) const {
  const auto [inner, own_name] = ModuleAccess::intermediate(layer, name);
  const TapeData::Watch* watch = data_->find_watch(inner, own_name);
  if (!watch) {
    validation::fail(ErrorCode::kNotFound, "name", {"\"", name, "\""},
                     {"a name passed to watch()"});
  }
  if (!watch->node) {
    validation::fail(ErrorCode::kNotFound, "name",
                     {"\"", name, "\", which has not been computed since clear()"},
                     {"a call that computes it"});
  }
  return TapeAccess::variable(*data_, watch->node);
}

void Tape::backward(const Variable& loss) {
  data_->check_backward("loss", loss);
  if (validation::product("loss", loss.shape()) != 1) {
    validation::fail_shape("loss", loss.shape(), {"one element"});
  }
  ++data_->backward_calls;
  data_->require_finite(*TapeAccess::node(loss));
  const float one = 1;
  data_->run_backward(loss, ConstTensor(&one, loss.shape()));
}

void Tape::backward(const Variable& output, const ConstTensor& output_gradient) {
  data_->check_backward("output", output);
  validation::require_same_shape("output_gradient", output_gradient, output.value());
  validation::require_data("output_gradient", output_gradient);
  ++data_->backward_calls;
  data_->run_backward(output, output_gradient);
}

ConstTensor Tape::gradient(const Module& layer, std::string_view name) const {
  const ConstTensor values = layer.parameter(name);
  data_->require_gradients();
  return TapeAccess::gradient(*data_, values.data());
}

ConstTensor TapeAccess::gradient(const TapeData& tape, const float* parameter) noexcept {
  for (const TapeData::Parameter* p = tape.last_parameter; p; p = p->previous) {
    if (p->node.value.data() == parameter) return p->node.gradient;
  }
  return {};
}

const ConstTensor& Variable::value() const { return TapeAccess::checked(*this).value; }

float Variable::item() const {
  const ConstTensor& values = value();
  if (validation::product("variable", values.shape()) != 1) {
    validation::fail_shape("variable", values.shape(), {"one element"});
  }
  return *values.data();
}

ConstTensor Variable::gradient() const {
  const training::Node& node = TapeAccess::checked(*this);
  tape_->require_gradients();
  return node.gradient;
}

namespace training {

void* TapeData::take(std::int64_t count, std::size_t size) {
  return arena.take(validation::allocation("tape", count, size) * size);
}

void TapeData::require_recording() const {
  if (state == State::kRecording) return;
  validation::fail_value("tape", "a call after backward()", {"clear() first"});
}

TapeData::Watch* TapeData::find_watch(const void* layer, std::string_view name) noexcept {
  for (Watch& watch : watches) {
    if (watch.layer == layer && watch.name == name) return &watch;
  }
  return nullptr;
}

std::size_t TapeData::keep_gradients() {
  std::size_t count = num_kept_gradients;
  for (const Parameter* p = last_parameter; p; p = p->previous) {
    const Tensor& gradient = p->node.gradient;
    const auto last = kept_gradients.begin() + static_cast<std::ptrdiff_t>(num_kept_gradients);
    const bool is_kept = std::any_of(kept_gradients.begin(), last, [&](const KeptGradient& kept) {
      return &kept.parameter == p;
    });
    if (is_kept || gradient.is_none()) continue;
    if (count == kept_gradients.size()) kept_gradients.emplace_back();
    KeptGradient& kept = kept_gradients[count++];
    const std::int64_t size = validation::product("gradient", gradient.shape());
    kept.values.assign(gradient.data(), gradient.data() + size);
    kept.parameter = *p;
  }
  return count;
}

void TapeData::require_gradients() const {
  if (state == State::kDone) return;
  if (state == State::kRecording && num_kept_gradients > 0 && !last_step) return;
  if (state == State::kFailed) {
    validation::fail_value("gradient", "a call after a failed backward()",
                           {"clear() and a new forward pass first"});
  }
  validation::fail_value("gradient", "a call before backward()", {"backward() first"});
}

void TapeData::keep(std::shared_ptr<const void> owner) {
  // Steps of one layer are adjacent.
  if (kept.empty() || kept.back() != owner) kept.push_back(std::move(owner));
}

Node* TapeData::parameter(const Module& layer, const ConstTensor& values) {
  for (Parameter* known = last_parameter; known; known = known->previous) {
    if (known->node.value.data() == values.data()) return &known->node;
  }
  const std::uint64_t* changes = ModuleAccess::changes(layer, values.data());
  keep(ModuleAccess::keep(layer));
  last_parameter =
      new (take(1, sizeof(Parameter))) Parameter{.previous = last_parameter,
                                                 .node = {.value = values, .needs_gradient = true},
                                                 .layer = ModuleAccess::identity(layer),
                                                 .changes = changes,
                                                 .changes_seen = *changes};
  return &last_parameter->node;
}

void TapeData::require_finite(const Node& loss) const {
  const float value = *loss.value.data();
  if (std::isfinite(value)) return;
  const bool is_nan = std::isnan(value);
  const FoundTensor infinite = find_first_tensor(*this, [](float x) { return std::isinf(x); });
  const FoundTensor first =
      is_nan ? find_first_tensor(*this, [](float x) { return std::isnan(x); }) : infinite;
  std::string found;
  if (first) {
    found = std::string(" (the first ") + (is_nan ? "NaN" : "infinity") + " is in " + first.name();
    if (is_nan && infinite) found += ", and an infinity is in " + infinite.name();
    found += ")";
  }
  validation::fail(ErrorCode::kInvalidArgument, "loss", {value, " in step ", backward_calls, found},
                   {"a finite number"});
}

void TapeData::check_backward(const char* name, const Variable& output) const {
  if (TapeAccess::tape(output) && TapeAccess::tape(output) != this) {
    validation::fail_value(name, "a variable of another tape", {"one of this tape"});
  }
  if (TapeAccess::checked(output).display_only) {
    validation::fail_value(name, "a variable that is only for display",
                           {"a variable that passes its gradient on"});
  }
  if (state != State::kRecording) {
    validation::fail_value("backward", "a second call", {"clear() and a new forward pass first"});
  }
  for (const Parameter* p = last_parameter; p; p = p->previous) {
    if (*p->changes == p->changes_seen) continue;
    const std::string path = ModuleAccess::path(p->layer, p->node.value.data());
    validation::fail(ErrorCode::kInvalidArgument, path,
                     {"a change between the forward pass and backward()"},
                     {"none; repeat the forward pass"});
  }
}

void TapeData::run_backward(const Variable& output, const ConstTensor& output_gradient) {
  state = State::kFailed;
  runtime::Execution run(context);
  BackwardPass pass(*this, run);
  pass.add_to(TapeAccess::node(output), output_gradient);
  for (Step* step = last_step; step; step = step->previous) {
    const ConstTensor gradient = pass.output_gradient(*step);
    if (!gradient.is_none()) step->backward(pass, gradient);
  }
  state = State::kDone;
}

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

}  // namespace training
}  // namespace attn

namespace attn {
namespace {

class SumStep final : public Step {
 public:
  SumStep(training::Node* a, training::Node* b) : a_(a), b_(b) {}
  void backward(BackwardPass& pass, const ConstTensor& output_gradient) override {
    pass.add_to(a_, output_gradient);
    pass.add_to(b_, output_gradient);
  }

 private:
  training::Node* a_;
  training::Node* b_;
};

}  // namespace

Variable operator+(const Variable& a, const Variable& b) {
  Recording record("operator+", nullptr, {&a, &b});
  validation::require_same_shape("b", b.value(), a.value());
  const Tensor sum = record.memory(a.shape());
  runtime::Execution run(record.context());
  add(a.value(), b.value(), sum, run);
  return record.finish(sum, SumStep(record.node(a), record.node(b)));
}

}  // namespace attn
