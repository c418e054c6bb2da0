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

  /// Describes the tensor in messages, e.g. as 'parameter "layers.0.weight"' or 'the output of
  /// Linear "layers.0"'.
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
  // The steps of one layer follow each other and have the same owner, so a comparison with the last
  // owner avoids most duplicates.
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

}  // namespace training
}  // namespace attn
