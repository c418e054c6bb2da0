#include <algorithm>
#include <array>
#include <string>

#include "attn/layers/gru.hpp"
#include "attn/layers/rnn.hpp"
#include "layers/recurrent_layers.hpp"
#include "rows.hpp"
#include "training/products.hpp"
#include "training/recording.hpp"
#include "training/row_sums.hpp"
#include "validation.hpp"

namespace attn {

using kernels::index;
using training::BackwardPass;
using training::Node;
using training::Recording;
using training::Step;

/// One layer over all time steps. Gates are recomputed from the states, which are kept.
class RecurrentStep final : public Step {
 public:
  using CellGradient = void (*)(const kernels::RecurrentCellGradientArgs&) noexcept;
  struct Parts {
    const PackedMatrix *from_input, *from_state;
    ConstTensor state_weight_values, input_bias_values, state_bias_values;
    index number;
    CellGradient kernels::TrainingTable::* cell;
    bool relu;
    Node *x, *h_0;
    Node *input_weight, *state_weight, *input_bias, *state_bias;
  };

  explicit RecurrentStep(const Parts& parts) : p_(parts) {}

  void backward(BackwardPass& pass, const ConstTensor& output_gradient) override {
    const ConstTensor x = with_batch(p_.x->value), y = with_batch(output->value);
    const ConstTensor dy = with_batch(output_gradient);
    const index batch = y.size(0), steps = y.size(1), hidden = y.size(2);
    const index width = p_.from_state->rows();
    runtime::Execution scratch(pass.context());
    const auto take = [&](std::initializer_list<index> shape) {
      return Tensor(scratch.floats(validation::product("x", shape), "recurrent layers"), shape);
    };
    const Tensor before = take({batch, steps, hidden});
    const Tensor carried = take({batch, hidden});
    const Tensor from_gates = take({batch, hidden});
    std::fill_n(carried.data(), batch * hidden, 0.0F);
    const Tensor input_products = take({batch, steps, width});
    const Tensor state_products = take({batch, steps, width});
    float* packed = scratch.floats(kernels::packed_size(hidden, width), "recurrent layers");
    float* product_scratch = take_product_scratch(std::max({width, hidden, x.size(2)}), scratch);
    if (steps > 0) {
      const Tensor first = before.slice(1, 0, 1);
      const ConstTensor h_0 = initial_state();
      if (h_0.is_none()) {
        for (index b = 0; b < batch; ++b) std::fill_n(first.pointer(b), hidden, 0.0F);
      } else {
        copy(h_0, first.select(1, 0), scratch);
      }
      copy(y.slice(1, 0, steps - 1), before.slice(1, 1, steps), scratch);
    }
    p_.from_input->multiply(x, p_.input_bias_values.data(), input_products, scratch,
                            product_scratch);
    p_.from_state->multiply(before, p_.state_bias_values.data(), state_products, scratch,
                            product_scratch);
    pack_matrix(training::transposed(p_.state_weight_values), packed, width, scratch);

    const CellGradient cell = pass.kernels().*p_.cell;
    const index task_rows = std::max<index>(1, kElementsPerTask / (2 * width));
    for (index t = steps - 1; t >= 0; --t) {
      scratch.parallel_for(kernels::ceil_divide(batch, task_rows), [&](index task, int) noexcept {
        const index first = task * task_rows;
        kernels::RecurrentCellGradientArgs args;
        args.rows = std::min(task_rows, batch - first);
        args.hidden = hidden;
        args.from_input = input_products.pointer(first, t);
        args.from_input_row = input_products.stride(0);
        args.from_state = state_products.pointer(first, t);
        args.from_state_row = state_products.stride(0);
        args.state = before.pointer(first, t);
        args.state_row = before.stride(0);
        args.output_gradient = dy.pointer(first, t);
        args.output_gradient_row = dy.stride(0);
        args.carried = carried.pointer(first);
        args.relu = p_.relu;
        cell(args);
      });
      if (t == 0 && !BackwardPass::needs_gradient(p_.h_0)) break;
      multiply_packed(state_products.select(1, t), packed, nullptr, from_gates, scratch,
                      product_scratch);
      add(carried, from_gates, carried, scratch);
    }

    using training::as_rows;
    const ConstTensor gates = as_rows(input_products), state_gates = as_rows(state_products);
    pass.add_to(p_.x, [&](const Tensor& dx) {
      training::multiply(gates, training::transposed(p_.input_weight->value),
                         as_rows(with_batch(dx)), pass.context());
    });
    pass.add_to_rows(p_.h_0, p_.number, p_.number + 1, [&](const Tensor& dh) {
      copy(carried, Tensor(dh.data(), {batch, hidden}), pass.run);
    });
    pass.add_to(p_.input_weight, [&](const Tensor& dw) {
      training::multiply_transposed(gates, as_rows(x), dw, pass.context());
    });
    pass.add_to(p_.state_weight, [&](const Tensor& dw) {
      training::multiply_transposed(state_gates, as_rows(ConstTensor(before)), dw, pass.context());
    });
    pass.add_to(p_.input_bias, [&](const Tensor& db) { training::sum_rows(gates, db, pass); });
    pass.add_to(p_.state_bias,
                [&](const Tensor& db) { training::sum_rows(state_gates, db, pass); });
  }

 private:
  /// (B, H), or none.
  ConstTensor initial_state() const {
    if (!p_.h_0) return {};
    const ConstTensor state = p_.h_0->value.select(0, p_.number);
    return state.rank() == 1 ? state.unsqueeze(0) : state;
  }

  Parts p_;
};

namespace {

/// The states after the last step, which are the last rows of the layers' outputs. If there are no
/// steps, they are the initial states.
class LastStateStep final : public Step {
 public:
  LastStateStep(const Variable* outputs, index layers, Node* h_0)
      : outputs_(outputs), layers_(layers), h_0_(h_0) {}

  void backward(BackwardPass& pass, const ConstTensor& output_gradient) override {
    for (index l = 0; l < layers_; ++l) {
      Node* const layer = Recording::node(outputs_[l]);
      const index steps = layer->value.size(-2);
      if (steps == 0) {
        pass.add_to(h_0_, output_gradient);
        return;
      }
      pass.add_in_place(layer, [&](const Tensor& gradient, bool fresh) {
        if (fresh) {
          std::fill_n(gradient.data(), validation::product("x", gradient.shape()), 0.0F);
        }
        const Tensor last = gradient.select(gradient.rank() - 2, steps - 1);
        add(last, output_gradient.select(0, l), last, pass.run);
      });
    }
  }

 private:
  const Variable* outputs_;  ///< one output for each layer
  index layers_;
  Node* h_0_;
};

}  // namespace

Variable RecurrentLayers::forward(const Variable& x, const Variable& h_0, Variable* h_n,
                                  Cell kernels::KernelTable::* cell, bool relu, const char* name,
                                  const Module& module) const {
  Recording record(name, &module, {&x, &h_0});
  require_rows("x", x.value(), "input_size", options_.input_size);
  const index layers = options_.num_layers, hidden = options_.hidden_size;
  const index batch = batch_of(x.value()), steps = x.size(-2);
  const bool batched = x.rank() == 3;
  const Tensor outputs = record.memory({layers, batch, steps, hidden});
  const auto output_of = [&](index l) {
    const Tensor output = outputs.select(0, l);
    return batched ? output : output.select(0, 0);
  };
  Tensor last_states;
  if (h_n) {
    last_states =
        batched ? record.memory({layers, batch, hidden}) : record.memory({layers, hidden});
  }
  const RecurrentStates states{.h_0 = h_0.is_none() ? ConstTensor() : h_0.value(),
                               .h_n = last_states};
  forward(x.value(), output_of(layers - 1), states, cell, relu, record.context(), nullptr, outputs);

  auto* results = record.take<Variable>(layers);
  Variable result = x;
  for (index l = 0; l < layers; ++l) {
    const Layer& layer = layers_[static_cast<std::size_t>(l)];
    const RecurrentStep::Parts parts{.from_input = layer.from_input.get(),
                                     .from_state = layer.from_state.get(),
                                     .state_weight_values = layer.state_weight,
                                     .input_bias_values = layer.input_bias,
                                     .state_bias_values = layer.state_bias,
                                     .number = l,
                                     .cell = gates_ == 3
                                                 ? &kernels::TrainingTable::gru_cell_gradient
                                                 : &kernels::TrainingTable::rnn_cell_gradient,
                                     .relu = relu,
                                     .x = record.node(result),
                                     .h_0 = record.node(h_0),
                                     .input_weight = record.parameter(*this, layer.input_weight),
                                     .state_weight = record.parameter(*this, layer.state_weight),
                                     .input_bias = record.parameter(*this, layer.input_bias),
                                     .state_bias = record.parameter(*this, layer.state_bias)};
    result = record.finish(output_of(l), RecurrentStep(parts));
    results[l] = result;
    training::record_intermediate(*this, ("output_l" + std::to_string(l)).c_str(), result);
  }
  if (h_n) {
    Recording last(name, &module, {&result, &h_0});
    *h_n = last.finish(last_states, LastStateStep(results, layers, record.node(h_0)));
  }
  return result;
}

Variable GRU::forward(const Variable& x, const Variable& h_0, Variable* h_n) const {
  return layers_->forward(x, h_0, h_n, &kernels::KernelTable::gru_cell, false, "GRU", *this);
}
Variable GRU::forward(const Variable& x) const { return forward(x, {}); }

Variable RNN::forward(const Variable& x, const Variable& h_0, Variable* h_n) const {
  return layers_->forward(x, h_0, h_n, &kernels::KernelTable::rnn_cell,
                          activation_ == RecurrentActivation::kRelu, "RNN", *this);
}
Variable RNN::forward(const Variable& x) const { return forward(x, {}); }

}  // namespace attn
