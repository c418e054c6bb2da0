#include "attn/training/optimizers.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "io/load_named_tensors.hpp"
#include "kernels/training/training_table.hpp"
#include "layers/module_access.hpp"
#include "row_runs.hpp"
#include "training/recording.hpp"

namespace attn {

using kernels::index;
using kernels::TrainingTable;

namespace training {

/// Number of elements that one task updates or sums. It is fixed, so that sums are bit-identical
/// everywhere.
constexpr index kBlock = 8192;
constexpr index blocks_of(index count) { return kernels::ceil_divide(count, kBlock); }

/// The largest number of steps: beyond it, float32 cannot represent every integer.
constexpr float kMostSteps = 1 << 24;

/// base^exponent for exponent ≥ 0, computed with products only, because pow() gives different last
/// bits in different C libraries.
double power(double base, std::int64_t exponent) noexcept {
  double result = 1;
  for (; exponent > 0; exponent /= 2, base *= base) {
    if (exponent % 2 != 0) result *= base;
  }
  return result;
}

/// Gives the parts of a model names that a tape's error messages use while the optimiser exists. A
/// part that belongs to a larger module already has a name and keeps it.
class NamedParts final : public Module {
 public:
  void add(const NamedModule& part) {
    if (!ModuleAccess::path(ModuleAccess::identity(part.module)).empty()) return;
    add_child(std::string(part.name), part.module);
  }
};

/// The parameters of an optimiser, and their state. The state of a parameter is its number of steps
/// and arrays with the parameter's shape.
struct OptimizerData {
  struct Entry {
    ModuleAccess::FoundParameter parameter;
    index count = 0;
    std::size_t state = 0;  ///< index in `state` at which the arrays of this parameter begin
    std::size_t group = 0;  ///< index of the parameter's group in `groups`
    float steps = 0;
    // The following two members are valid only during a step.
    const float* gradient = nullptr;
    index first_task = 0;
  };

  /// The names of the state's arrays.
  using Names = std::span<const char* const>;

  /// Settings that may differ between groups. The last group contains the parameters that no other
  /// group selects.
  struct Group {
    std::optional<double> learning_rate;
    double weight_decay = 0;
  };

  template <class Options>
  OptimizerData(std::span<const NamedModule> models, const Options& options, Names names)
      : state_names(names) {
    const Group rest{options.learning_rate, options.weight_decay};
    for (const ParameterGroup& group : options.groups) {
      groups.push_back({group.learning_rate, group.weight_decay.value_or(rest.weight_decay)});
    }
    groups.push_back(rest);
    for (const Group& group : groups) {
      if (group.learning_rate) check_rate(*group.learning_rate);
      validation::require_finite_at_least_zero("weight_decay", group.weight_decay);
    }
    add_parameters(models, options.groups);
  }
  virtual ~OptimizerData() = default;
  OptimizerData(const OptimizerData&) = delete;
  OptimizerData& operator=(const OptimizerData&) = delete;

  float* array(const Entry& entry, std::size_t number) noexcept {
    return state.data() + entry.state + number * static_cast<std::size_t>(entry.count);
  }
  static void check_rate(double rate) {
    validation::require_finite_at_least_zero("learning_rate", rate);
  }
  /// Throws kInvalidArgument if there is no group with this number in the options.
  Group& group(std::size_t number);
  double learning_rate(const Group& group) const noexcept {
    return group.learning_rate.value_or(*groups.back().learning_rate);
  }
  void step(const TapeData& tape);
  /// Returns the names and shapes of the whole state, in memory order.
  std::vector<NamedTensor> named_state(std::string_view prefix, float* values);
  IncompatibleKeys load(const Safetensors& file, std::string_view prefix, bool strict);

  /// Updates elements [begin, begin + count) of a parameter. This is step number `entry.steps` of
  /// the parameter.
  virtual void update(const TrainingTable& kernels, const Entry& entry, index begin,
                      index count) noexcept = 0;

  Names state_names;
  NamedParts parts;
  std::vector<Group> groups;
  std::vector<Entry> entries;
  std::vector<float> state;

 private:
  void add_parameters(std::span<const NamedModule> models,
                      std::span<const ParameterGroup> selections);
};

OptimizerData::Group& OptimizerData::group(std::size_t number) {
  const std::size_t count = groups.size() - 1;
  if (number < count) return groups[number];
  validation::fail(ErrorCode::kInvalidArgument, "group", {number},
                   {"an index below ", count, ", the number of groups"});
}

void OptimizerData::add_parameters(std::span<const NamedModule> models,
                                   std::span<const ParameterGroup> selections) {
  std::vector<bool> selected(selections.size());
  for (std::size_t i = 0; i < selections.size(); ++i) {
    if (selections[i].params) continue;
    validation::fail(ErrorCode::kInvalidArgument, "groups", {"group ", i, " without params"},
                     {"a function that selects its parameters"});
  }
  std::size_t size = 0;
  for (const NamedModule& model : models) {
    if (!model.name.empty()) parts.add(model);
    for (ModuleAccess::FoundParameter& found : ModuleAccess::parameters(model.module)) {
      ModuleAccess::require_float32(found.name, found.type);
      if (!model.name.empty()) found.name = std::string(model.name) + "." + found.name;
      bool known = false;
      for (const Entry& entry : entries) {
        known = known || entry.parameter.values.data() == found.values.data();
        if (entry.parameter.name == found.name && !known) {
          validation::fail(ErrorCode::kInvalidArgument, "models",
                           {"two parameters named \"", found.name, "\""}, {"unique names"});
        }
      }
      const index count = validation::product(found.name, found.values.shape());
      if (known || count == 0) continue;
      std::size_t group = 0;
      while (group < selections.size() && !selections[group].params(found.name, found.shape)) {
        ++group;
      }
      if (group < selections.size()) selected[group] = true;
      entries.push_back(
          {.parameter = std::move(found), .count = count, .state = size, .group = group});
      size += state_names.size() * static_cast<std::size_t>(count);
    }
  }
  for (std::size_t i = 0; i < selected.size(); ++i) {
    if (selected[i]) continue;
    validation::fail(ErrorCode::kInvalidArgument, "groups", {"group ", i, " without parameters"},
                     {"at least one parameter that no earlier group selects"});
  }
  state.resize(size);
}

void OptimizerData::step(const TapeData& tape) {
  tape.require_gradients();
  index tasks = 0;
  for (Entry& entry : entries) {
    entry.gradient = TapeAccess::gradient(tape, entry.parameter.values.data()).data();
    entry.first_task = tasks;
    if (!entry.gradient) continue;
    tasks += blocks_of(entry.count);
    entry.steps = std::min(entry.steps + 1, kMostSteps);
  }
  runtime::Execution run(tape.context);
  const TrainingTable& kernels = training::training_kernels(run);
  constexpr double kWorkOfElement = 4;
  run.parallel_for(
      tasks, kWorkOfElement * static_cast<double>(tasks * kBlock), [&](index task, int) noexcept {
        // Finds the entry that contains the task. upper_bound skips an entry without tasks, because
        // the next entry has the same first_task.
        const Entry& entry =
            *std::prev(std::ranges::upper_bound(entries, task, {}, &Entry::first_task));
        const index begin = (task - entry.first_task) * kBlock;
        update(kernels, entry, begin, std::min(kBlock, entry.count - begin));
      });
  for (Entry& entry : entries) {
    if (entry.gradient) ModuleAccess::mark_changed(entry.parameter, tape.context);
  }
}

std::vector<NamedTensor> OptimizerData::named_state(std::string_view prefix, float* values) {
  std::vector<NamedTensor> result;
  const auto name = [&](const char* what, const Entry& entry) {
    return std::string(prefix) + what + "." + entry.parameter.name;
  };
  for (Entry& entry : entries) {
    for (std::size_t i = 0; i < state_names.size(); ++i) {
      const float* array = values + (this->array(entry, i) - state.data());
      result.push_back(
          {name(state_names[i], entry), ConstTensor(array, entry.parameter.values.shape())});
    }
  }
  if (state_names.empty()) return result;
  for (Entry& entry : entries) {
    result.push_back({name("step", entry), ConstTensor(&entry.steps, std::span<const index>{})});
  }
  return result;
}

IncompatibleKeys OptimizerData::load(const Safetensors& file, std::string_view prefix,
                                     bool strict) {
  std::vector<float> loaded = state;
  std::vector<float> steps;
  for (const Entry& entry : entries) steps.push_back(entry.steps);
  const std::size_t arrays = entries.size() * state_names.size();
  const std::vector<NamedTensor> targets = named_state(prefix, loaded.data());
  IncompatibleKeys keys = load_named_tensors(
      targets, "this optimizer's state", file, prefix, strict,
      [&](std::size_t i, const Tensor& values) {
        if (i < arrays) {
          const Entry& entry = entries[i / state_names.size()];
          const auto place = array(entry, i % state_names.size()) - state.data();
          std::copy_n(values.data(), entry.count, loaded.begin() + place);
          return;
        }
        const float step = *values.data();
        if (!(step >= 0 && step <= kMostSteps && std::floor(step) == step)) {
          validation::fail_value(targets[i].name, step, {"a whole number from 0 to 2^24"});
        }
        steps[i - arrays] = step;
      });
  std::ranges::copy(loaded, state.begin());
  for (std::size_t i = 0; i < entries.size(); ++i) entries[i].steps = steps[i];
  return keys;
}

namespace {

constexpr const char* kSgdState[] = {"momentum_buffer"};
constexpr const char* kAdamState[] = {"exp_avg", "exp_avg_sq"};

class SgdData final : public OptimizerData {
 public:
  SgdData(std::span<const NamedModule> models, const SgdOptions& options)
      : OptimizerData(models, options, options.momentum > 0 ? Names(kSgdState) : Names()),
        options_(options) {
    validation::require_finite_at_least_zero("momentum", options.momentum);
    validation::require_finite_at_least_zero("dampening", options.dampening);
    if (options.nesterov && (options.momentum == 0 || options.dampening != 0)) {
      validation::fail_value("nesterov", "true", {"a momentum above 0 and no dampening"});
    }
  }

  void update(const TrainingTable& kernels, const Entry& entry, index begin,
              index count) noexcept override {
    const bool first = entry.steps == 1;
    const Group& group = groups[entry.group];
    kernels::SgdArgs args;
    args.count = count;
    args.values = entry.parameter.values.data() + begin;
    args.gradient = entry.gradient + begin;
    if (!state_names.empty()) args.momentum_buffer = array(entry, 0) + begin;
    args.learning_rate = static_cast<float>(learning_rate(group));
    args.weight_decay = static_cast<float>(group.weight_decay);
    args.momentum = static_cast<float>(options_.momentum);
    args.buffer_factor = first ? 0 : args.momentum;
    args.gradient_factor = first ? 1 : static_cast<float>(1 - options_.dampening);
    args.nesterov = options_.nesterov;
    kernels.sgd(args);
  }

 private:
  SgdOptions options_;
};

/// The update of Adam, or of AdamW if weight decay is decoupled.
class AdamData final : public OptimizerData {
 public:
  AdamData(std::span<const NamedModule> models, const AdamOptions& options, bool decoupled)
      : OptimizerData(models, options, kAdamState), options_(options), decoupled_(decoupled) {
    check_beta("beta1", options.beta1);
    check_beta("beta2", options.beta2);
    validation::require_finite_at_least_zero("eps", options.eps);
  }

  void update(const TrainingTable& kernels, const Entry& entry, index begin,
              index count) noexcept override {
    const auto steps = static_cast<std::int64_t>(entry.steps);
    const Group& group = groups[entry.group];
    const double rate = learning_rate(group);
    kernels::AdamArgs args;
    args.count = count;
    args.values = entry.parameter.values.data() + begin;
    args.gradient = entry.gradient + begin;
    args.average = array(entry, 0) + begin;
    args.square_average = array(entry, 1) + begin;
    args.average_rate = static_cast<float>(1 - options_.beta1);
    args.square_rate = static_cast<float>(1 - options_.beta2);
    args.step_size = static_cast<float>(rate / (1 - power(options_.beta1, steps)));
    args.root_factor = static_cast<float>(1 / std::sqrt(1 - power(options_.beta2, steps)));
    args.epsilon = static_cast<float>(options_.eps);
    if (decoupled_) {
      args.value_decay = static_cast<float>(rate * group.weight_decay);
    } else {
      args.gradient_decay = static_cast<float>(group.weight_decay);
    }
    kernels.adam(args);
  }

 private:
  static void check_beta(const char* name, double beta) {
    if (!(beta >= 0 && beta < 1)) {
      validation::fail_value(name, beta, {"a number of at least 0 and below 1"});
    }
  }

  AdamOptions options_;
  bool decoupled_;
};

AdamOptions as_adam(const AdamWOptions& o) {
  return {.learning_rate = o.learning_rate,
          .beta1 = o.beta1,
          .beta2 = o.beta2,
          .eps = o.eps,
          .weight_decay = o.weight_decay,
          .groups = o.groups};
}

}  // namespace
}  // namespace training

struct OptimizerAccess {
  static training::OptimizerData& data(const Optimizer& optimizer) noexcept {
    return *optimizer.data_;
  }
};

Optimizer::Optimizer(std::unique_ptr<training::OptimizerData> data) noexcept
    : data_(std::move(data)) {}
Optimizer::~Optimizer() = default;
Optimizer::Optimizer(Optimizer&&) noexcept = default;
Optimizer& Optimizer::operator=(Optimizer&&) noexcept = default;

void Optimizer::step(const Tape& tape) { data_->step(TapeAccess::data(tape)); }

double Optimizer::learning_rate() const noexcept { return *data_->groups.back().learning_rate; }

void Optimizer::set_learning_rate(double learning_rate) {
  training::OptimizerData::check_rate(learning_rate);
  data_->groups.back().learning_rate = learning_rate;
}

double Optimizer::learning_rate(std::size_t group) const {
  return data_->learning_rate(data_->group(group));
}

void Optimizer::set_learning_rate(double learning_rate, std::size_t group) {
  training::OptimizerData::check_rate(learning_rate);
  data_->group(group).learning_rate = learning_rate;
}

Sgd::Sgd(std::span<const NamedModule> models, const SgdOptions& options)
    : Optimizer(std::make_unique<training::SgdData>(models, options)) {}
Sgd::Sgd(Module& model, const SgdOptions& options) : Sgd({NamedModule{"", model}}, options) {}

Adam::Adam(std::span<const NamedModule> models, const AdamOptions& options)
    : Optimizer(std::make_unique<training::AdamData>(models, options, false)) {}
Adam::Adam(Module& model, const AdamOptions& options) : Adam({NamedModule{"", model}}, options) {}

AdamW::AdamW(std::span<const NamedModule> models, const AdamWOptions& options)
    : Optimizer(std::make_unique<training::AdamData>(models, training::as_adam(options), true)) {}
AdamW::AdamW(Module& model, const AdamWOptions& options)
    : AdamW({NamedModule{"", model}}, options) {}

std::vector<NamedTensor> state_dict(const Optimizer& optimizer, std::string_view prefix) {
  training::OptimizerData& data = OptimizerAccess::data(optimizer);
  return data.named_state(prefix, data.state.data());
}

IncompatibleKeys load_state_dict(Optimizer& optimizer, const Safetensors& file,
                                 std::string_view prefix, bool strict) {
  return OptimizerAccess::data(optimizer).load(file, prefix, strict);
}

float clip_grad_norm(Tape& tape, double max_norm) {
  if (!(max_norm >= 0)) {
    validation::fail_value("max_norm", max_norm, {"a number of at least 0"});
  }
  const training::TapeData& data = TapeAccess::data(tape);
  data.require_gradients();
  runtime::Execution run(data.context);
  const TrainingTable& kernels = training::training_kernels(run);
  // Calls body(task, values, count) for the blocks of one gradient.
  const auto for_blocks = [&](const Tensor& gradient, auto&& body) {
    index size = 1;
    for (const index s : gradient.shape()) size *= s;
    run.parallel_for(
        training::blocks_of(size), static_cast<double>(size), [&](index task, int) noexcept {
          const index begin = task * training::kBlock;
          body(task, gradient.data() + begin, std::min(training::kBlock, size - begin));
        });
    return size;
  };

  double square = 0;
  const training::TapeData::Parameter* lost = nullptr;
  for (auto* p = data.last_parameter; p; p = p->previous) {
    const Tensor& gradient = p->node.gradient;
    if (gradient.is_none()) continue;
    runtime::Execution scratch(data.context);
    double* sums = scratch.take<double>(
        training::blocks_of(validation::product("gradient", gradient.shape())), "sums");
    const index size = for_blocks(gradient, [&](index task, const float* values, index count) {
      sums[task] = kernels.sum_of_squares(count, values, nullptr);
    });
    double sum = 0;
    for (index i = 0; i < training::blocks_of(size); ++i) sum += sums[i];
    if (!std::isfinite(sum)) lost = p;
    square += sum;
  }
  const double norm = std::sqrt(square);
  if (lost) {
    const std::string name = ModuleAccess::path(lost->layer, lost->node.value.data());
    validation::fail(ErrorCode::kInvalidArgument, "gradient",
                     {"a number that is not finite for \"", name, "\""}, {"finite numbers"});
  }
  const double factor = max_norm / (norm + 1e-6);
  if (factor < 1) {
    for (auto* p = data.last_parameter; p; p = p->previous) {
      if (p->node.gradient.is_none()) continue;
      for_blocks(p->node.gradient, [&](index, float* values, index count) {
        kernels.scaled_difference(count, static_cast<float>(factor), values, nullptr, values);
      });
    }
  }
  return static_cast<float>(norm);
}

}  // namespace attn
