#include "layers/recurrent_layers.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <tuple>
#include <utility>

#include "layers/intermediate_writer.hpp"
#include "rows.hpp"
#include "validation.hpp"

namespace attn {
namespace {

using kernels::index;

/// Number of elements of a state that one task computes. Smaller tasks would not justify waking
/// another thread.
constexpr index kStateBlock = 4096;

}  // namespace

RecurrentLayers::RecurrentLayers(const RecurrentOptions& options, std::int64_t gates)
    : options_(options), gates_(gates) {
  validation::require_at_least("input_size", options.input_size, 1);
  validation::require_at_least("hidden_size", options.hidden_size, 1);
  validation::require_at_least("num_layers", options.num_layers, 1);
  const std::int64_t hidden = options.hidden_size;
  const std::int64_t rows = validation::product("hidden_size", {gates, hidden});
  for (std::int64_t l = 0; l < options.num_layers; ++l) {
    const std::int64_t input = l == 0 ? options.input_size : hidden;
    const std::string suffix = "_l" + std::to_string(l);
    const auto add_weight = [&](const char* name, std::int64_t columns) {
      const Tensor weight =
          add_parameter(name + suffix, {rows, columns}, Initialization::xavier_uniform());
      auto packed = std::make_shared<PackedMatrix>(rows, columns);
      when_changed([packed, weight](Context& context) { packed->pack(weight, context); });
      return std::pair(weight, packed);
    };
    Layer layer;
    std::tie(layer.input_weight, layer.from_input) = add_weight("weight_ih", input);
    std::tie(layer.state_weight, layer.from_state) = add_weight("weight_hh", hidden);
    if (options.bias) {
      layer.input_bias = add_parameter("bias_ih" + suffix, {rows});
      layer.state_bias = add_parameter("bias_hh" + suffix, {rows});
    }
    layers_.push_back(std::move(layer));
    add_intermediates({("output" + suffix).c_str()});
  }
}

void RecurrentLayers::forward(const ConstTensor& x, const Tensor& output,
                              const RecurrentStates& states, Cell kernels::KernelTable::* cell,
                              bool relu, Context& context, Intermediates* intermediates,
                              const Tensor& between) const {
  const index inputs = options_.input_size;
  const index hidden = options_.hidden_size;
  const index layers = options_.num_layers;
  require_rows("x", x, "input_size", inputs);
  require_rows_like("output", output, x, x.size(-2), hidden);
  const bool batched = x.rank() == 3;
  const index batch = batch_of(x);
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
  const ConstTensor h_0 = check_state("h_0", states.h_0);
  const Tensor h_n = check_state("h_n", states.h_n);

  IntermediateWriter writer(*this, intermediates, batched);
  runtime::Execution run(context);
  const char* const purpose = "recurrent layers";
  const index width = gates_ * hidden;
  const index padded = kernels::round_up(hidden, kernels::kPanelWidth);
  // The cell reads whole vectors from each gate, and therefore reads past the end of the last gate.
  const auto product_floats = [&](index rows) {
    return run.floats(validation::product("x", {rows, width}) + kernels::kPanelWidth, purpose);
  };
  const index rows = validation::product("x", {batch, steps});
  const Tensor from_input(product_floats(rows), {batch, steps, width});
  const Tensor from_state(product_floats(batch), {batch, width});
  const index state_size = validation::product("x", {batch, padded});
  float* state = run.floats(state_size, purpose);
  float* next_state = run.floats(state_size, purpose);
  Tensor reused;
  if (layers > 1 && between.is_none()) {
    reused = Tensor(run.floats(validation::product("x", {rows, hidden}), purpose),
                    {batch, steps, hidden});
  }
  const auto output_between = [&](index l) {
    return between.is_none() ? reused : between.select(0, l);
  };
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
  const auto allocate_output = [&](index l) {
    if (!writer) return Tensor();
    return writer.allocate("output_l" + std::to_string(l), {batch, steps, hidden});
  };
  // The last layer writes the output, so nothing may fail after this point.
  const Tensor last_intermediate = allocate_output(layers - 1);
  ConstTensor layer_input = with_batch(x);
  for (index l = 0; l < layers; ++l) {
    const bool last = l + 1 == layers;
    const Tensor layer_output = last ? with_batch(output) : output_between(l);
    const Layer& layer = layers_[static_cast<std::size_t>(l)];
    layer.from_input->multiply(layer_input, layer.input_bias.data(), from_input, run, scratch);
    std::fill_n(state, state_size, 0.0F);
    if (!h_0.is_none()) copy(h_0.select(0, l), state_view(state), run);
    for (index t = 0; t < steps; ++t) {
      layer.from_state->multiply(state_view(state), layer.state_bias.data(), from_state, run,
                                 scratch);
      const index tasks = kernels::ceil_divide(batch, rows_per_task);
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
    if (!h_n.is_none()) copy(state_view(state), h_n.select(0, l), run);
    writer.fill(last ? last_intermediate : allocate_output(l), layer_output, run);
    layer_input = layer_output;
  }
  writer.finish();
}

}  // namespace attn
