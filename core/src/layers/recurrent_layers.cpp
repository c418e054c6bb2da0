#include "layers/recurrent_layers.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <string_view>

#include "validation.hpp"

namespace attn {
namespace {

using kernels::index;

/// Numbers of a state per task: less is not worth a thread.
constexpr index kStateBlock = 4096;

std::string parameter_name(const char* kind, std::int64_t layer) {
  return std::string(kind).append("_l").append(std::to_string(layer));
}

void copy(const ConstTensor& source, const Tensor& target) noexcept {
  for (index i = 0; i < source.size(0); ++i) {
    for (index c = 0; c < source.size(1); ++c) target(i, c) = source(i, c);
  }
}

}  // namespace

RecurrentLayers::RecurrentLayers(const RecurrentOptions& options, std::int64_t gates)
    : options_(options), gates_(gates) {
  validation::require_at_least("input_size", options.input_size, 1);
  validation::require_at_least("hidden_size", options.hidden_size, 1);
  validation::require_at_least("num_layers", options.num_layers, 1);
  const std::int64_t hidden = options.hidden_size;
  const std::int64_t rows = validation::product("hidden_size", {gates, hidden});
  for (std::int64_t layer = 0; layer < options.num_layers; ++layer) {
    const std::int64_t input = layer == 0 ? options.input_size : hidden;
    parameters_.add(parameter_name("weight_ih", layer), std::array{rows, input});
    parameters_.add(parameter_name("weight_hh", layer), std::array{rows, hidden});
    if (options.bias) {
      parameters_.add(parameter_name("bias_ih", layer), std::array{rows});
      parameters_.add(parameter_name("bias_hh", layer), std::array{rows});
    }
    layers_.push_back({PackedMatrix(rows, input), PackedMatrix(rows, hidden)});
  }
}

void RecurrentLayers::set_parameter(std::string_view name, const ConstTensor& values) {
  parameters_.set(name, values);
  for (std::size_t layer = 0; layer < layers_.size(); ++layer) {
    const auto number = static_cast<std::int64_t>(layer);
    if (name == parameter_name("weight_ih", number)) {
      layers_[layer].from_input.pack(parameters_.get(name));
    } else if (name == parameter_name("weight_hh", number)) {
      layers_[layer].from_state.pack(parameters_.get(name));
    }
  }
}

const float* RecurrentLayers::bias(const char* kind, std::int64_t layer) const {
  if (!options_.bias) return nullptr;
  // Of fixed size, because a step of decoding allocates nothing.
  std::array<char, 40> name;
  char* end = std::ranges::copy(std::string_view(kind), name.data()).out;
  end = std::ranges::copy(std::string_view("_l"), end).out;
  end = std::to_chars(end, name.data() + name.size(), layer).ptr;
  return parameters_.get({name.data(), end}).data();
}

void RecurrentLayers::forward(const ConstTensor& x, const Tensor& output,
                              const RecurrentStates& states, Cell kernels::KernelTable::* cell,
                              bool relu, Context& context) const {
  const index inputs = options_.input_size;
  const index hidden = options_.hidden_size;
  const index layers = options_.num_layers;
  if (x.rank() != 2 && x.rank() != 3) {
    validation::fail_rows("x", x.shape(), "input_size");
  }
  const bool batched = x.rank() == 3;
  const index batch = batched ? x.size(0) : 1;
  const index steps = x.size(-2);
  const auto check_state = [&](const char* name, const auto& state) {
    if (state.is_none()) return state;
    if (batched) {
      validation::require_shape(name, state, {layers, batch, hidden});
    } else {
      validation::require_shape(name, state, {layers, hidden});
    }
    validation::require_data(name, state);
    return batched ? state : state.unsqueeze(1);
  };
  if (batched) {
    validation::require_shape("x", x, {-1, -1, inputs});
    validation::require_shape("output", output, {batch, steps, hidden});
  } else {
    validation::require_shape("x", x, {-1, inputs});
    validation::require_shape("output", output, {steps, hidden});
  }
  validation::require_data("x", x);
  validation::require_data("output", output);
  const ConstTensor h_0 = check_state("h_0", states.h_0);
  const Tensor h_n = check_state("h_n", states.h_n);

  runtime::Execution run(context);
  const char* const purpose = "recurrent layers";
  const index width = gates_ * hidden;
  const index padded = kernels::round_up(hidden, kernels::kPanelWidth);
  // The cell reads whole vectors from each gate, and so beyond the last one.
  const auto product_floats = [&](index rows) {
    return run.floats(validation::product("x", {rows, width}) + kernels::kPanelWidth, purpose);
  };
  const index rows = validation::product("x", {batch, steps});
  const Tensor from_input(product_floats(rows), {batch, steps, width});
  const Tensor from_state(product_floats(batch), {batch, width});
  const index state_size = validation::product("x", {batch, padded});
  float* state = run.floats(state_size, purpose);
  float* next_state = run.floats(state_size, purpose);
  Tensor between;
  if (layers > 1) {
    between = Tensor(run.floats(validation::product("x", {rows, hidden}), purpose),
                     {batch, steps, hidden});
  }
  float* scratch = run.floats(
      validation::product(
          "x", {run.kernels().product_scratch(std::max(inputs, hidden)), run.num_threads()}),
      purpose);

  const auto state_view = [&](float* data) {
    const std::array shape{batch, hidden};
    const std::array strides{padded, index{1}};
    return Tensor(data, shape, strides);
  };
  const index rows_per_task = std::max<index>(1, kStateBlock / hidden);
  ConstTensor layer_input = batched ? x : x.unsqueeze(0);
  for (index l = 0; l < layers; ++l) {
    const bool last = l + 1 == layers;
    const Tensor layer_output = last ? (batched ? output : output.unsqueeze(0)) : between;
    const Layer& layer = layers_[static_cast<std::size_t>(l)];
    layer.from_input.multiply(layer_input, bias("bias_ih", l), from_input, run, scratch);
    const float* state_bias = bias("bias_hh", l);
    std::fill_n(state, state_size, 0.0F);
    if (!h_0.is_none()) copy(h_0.select(0, l), state_view(state));
    for (index t = 0; t < steps; ++t) {
      layer.from_state.multiply(state_view(state), state_bias, from_state, run, scratch);
      const index tasks = (batch + rows_per_task - 1) / rows_per_task;
      run.parallel_for(tasks, [&](index task, int) noexcept {
        const index first = task * rows_per_task;
        kernels::RecurrentCellArgs args;
        args.rows = std::min(rows_per_task, batch - first);
        args.hidden = hidden;
        args.from_input = from_input.pointer(first, t);
        args.from_input_row = from_input.stride(0);
        args.from_state = from_state.pointer(first);
        args.from_state_row = width;
        args.state = state + first * padded;
        args.next_state = next_state + first * padded;
        args.state_row = padded;
        args.relu = relu;
        (run.kernels().*cell)(args);
        for (index b = first; b < first + args.rows; ++b) {
          const float* next = next_state + b * padded;
          for (index c = 0; c < hidden; ++c) layer_output(b, t, c) = next[c];
        }
      });
      std::swap(state, next_state);
    }
    if (!h_n.is_none()) copy(state_view(state), h_n.select(0, l));
    layer_input = layer_output;
  }
}

}  // namespace attn
