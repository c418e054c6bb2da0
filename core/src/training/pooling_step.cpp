#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "attn/training/attention.hpp"
#include "attn/training/pooling.hpp"
#include "layers/packed_matrix.hpp"
#include "rows.hpp"
#include "strided_rows.hpp"
#include "training/linear_step.hpp"
#include "training/products.hpp"
#include "training/recording.hpp"
#include "training/row_sums.hpp"
#include "validation.hpp"

namespace attn {
namespace training {
namespace {

using kernels::index;
using kernels::PairTerm;
using kernels::PairWeight;

struct PoolingNodes {
  // The nodes of queries and keys or, for additive attention, of their projections.
  Node* query = nullptr;
  Node* key = nullptr;
  Node* value = nullptr;
  Node* width = nullptr;           ///< or null
  Node* column_weights = nullptr;  ///< factors of the columns in additive attention; or null
  // Intermediates to display, or null.
  Node* scores = nullptr;
  Node* weights = nullptr;
};

/// Number of rows that one task computes in a sum over pairs. This many factors fill a cache line.
constexpr index kRowsPerTask = 16;

class PoolingStep final : public Step {
 public:
  /// `pair` is empty if queries and keys have no gradient. `weights` is (B, Nq, Nk).
  PoolingStep(const PoolingNodes& nodes, std::optional<PairWeight> pair, float width,
              const ConstTensor& weights)
      : nodes_(nodes), pair_(pair), width_(width), weights_(weights) {}

  void backward(BackwardPass& pass, const ConstTensor& output_gradient) override {
    const ConstTensor dy = with_batch(output_gradient);
    pass.add_to(nodes_.value, [&](const Tensor& dv) {
      sum_pairs(PairTerm::kOther, weights_, true, dy, {}, with_batch(dv), nullptr, pass);
    });
    const auto needs_gradient = [](Node* node) { return BackwardPass::needs_gradient(node); };
    const bool needs_scores = needs_gradient(nodes_.query) || needs_gradient(nodes_.key) ||
                              needs_gradient(nodes_.width) ||
                              needs_gradient(nodes_.column_weights) || nodes_.scores;
    if (!needs_scores && !nodes_.weights) return;

    runtime::Execution scratch(pass.context());
    const auto matrix = [&] {
      return Tensor(scratch.floats(validation::product("weights", weights_.shape()), "pooling"),
                    weights_.shape());
    };
    const Tensor weight_gradient = matrix();
    const ConstTensor value = with_batch(nodes_.value->value);
    for (index b = 0; b < weights_.size(0); ++b) {
      multiply(dy.select(0, b), value.select(0, b), weight_gradient.select(0, b), pass.context());
    }
    const Tensor gradient = matrix();
    const Tensor width_sums =
        needs_gradient(nodes_.width)
            ? Tensor(scratch.floats(weights_.size(0) * weights_.size(1), "pooling"),
                     {weights_.size(0), weights_.size(1)})
            : Tensor();
    const ConstTensor query = with_batch(nodes_.query->value);
    const ConstTensor key = with_batch(nodes_.key->value);
    const bool uses_distance = pair_ && *pair_ != PairWeight::kSoftmax;
    Tensor distances;
    if (uses_distance) {
      // With width 1/2, the Gaussian kernel gives the score −2·distance².
      distances = matrix();
      float nothing = 0;
      attention_pooling(query, key, Tensor(&nothing, {key.size(0), key.size(1), 0}),
                        Tensor(&nothing, {query.size(0), query.size(1), 0}),
                        ScoringFunction::gaussian(0.5F), {.scores = distances}, pass.context());
    }
    backpropagate_to_scores(weight_gradient, distances, gradient, width_sums, scratch, pass);
    add_to_displayed(nodes_.weights, weight_gradient, pass);
    if (pair_ == PairWeight::kSoftmax) add_to_displayed(nodes_.scores, gradient, pass);

    if (!pair_) {
      for (Node* node :
           {nodes_.query, nodes_.key, nodes_.width, nodes_.column_weights, nodes_.scores}) {
        pass.add_to(node, [](const Tensor& to) {
          std::fill_n(to.data(), validation::product("gradient", to.shape()), 0.0F);
        });
      }
      return;
    }
    const PairTerm term = uses_distance ? PairTerm::kDifference : PairTerm::kTanh;
    pass.add_to(nodes_.key, [&](const Tensor& dk) {
      sum_pairs(term, gradient, true, query, key, with_batch(dk), nullptr, pass);
    });
    pass.add_to(nodes_.width, [&](const Tensor& to) {
      double sum = 0;
      for (index i = 0; i < weights_.size(0) * weights_.size(1); ++i) {
        sum += static_cast<double>(width_sums.data()[i]);
      }
      *to.data() = static_cast<float>(sum / static_cast<double>(width_));
    });
    // One pass computes the gradients of both the queries and the column weights.
    if (!needs_gradient(nodes_.column_weights)) {
      pass.add_to(nodes_.query, [&](const Tensor& dq) {
        sum_pairs(term, gradient, false, key, query, with_batch(dq), nullptr, pass);
      });
      return;
    }
    const auto floats = [&] {
      return scratch.floats(validation::product("query", query.shape()), "pooling");
    };
    float* tanh_sums = floats();
    const auto sum_queries = [&](const Tensor& dq) {
      sum_pairs(term, gradient, false, key, query, dq, tanh_sums, pass);
    };
    if (needs_gradient(nodes_.query)) {
      pass.add_to(nodes_.query, [&](const Tensor& dq) { sum_queries(with_batch(dq)); });
    } else {
      sum_queries(Tensor(floats(), query.shape()));
    }
    pass.add_to(nodes_.column_weights, [&](const Tensor& to) {
      sum_rows(as_rows(ConstTensor(tanh_sums, query.shape())), to.select(0, 0), pass);
    });
  }

 private:
  static void add_to_displayed(Node* node, const ConstTensor& gradient, BackwardPass& pass) {
    if (!node) return;
    const ConstTensor addend(gradient.data(), node->value.shape());
    pass.add_to(node, addend);
  }

  void backpropagate_to_scores(const Tensor& weight_gradient, const ConstTensor& distances,
                               const Tensor& gradient, const Tensor& width_sums,
                               runtime::Execution& run, BackwardPass& pass) {
    const index cols = weights_.size(2);
    const index rows = weights_.size(0) * weights_.size(1);
    const index task_rows = std::max<index>(1, kElementsPerTask / std::max<index>(cols, 1));
    const kernels::TrainingTable& kernels = pass.kernels();
    run.parallel_for(kernels::ceil_divide(rows, task_rows), [&](index task, int) noexcept {
      const index row = task * task_rows, first = row * cols;
      kernels::WeightGradientArgs args;
      args.pair = pair_.value_or(PairWeight::kSoftmax);
      args.rows = std::min(task_rows, rows - row);
      args.cols = cols;
      args.weights = weights_.data() + first;
      args.weight_gradient = weight_gradient.data() + first;
      if (!distances.is_none()) args.scores = distances.data() + first;
      args.width = width_;
      args.gradient = gradient.data() + first;
      if (nodes_.weights) args.selected = weight_gradient.data() + first;
      if (!width_sums.is_none()) args.width_sums = width_sums.data() + row;
      kernels.weight_gradient(args);
    });
  }

  /// For each row y_i, sums its terms over all x_n. Factors are (B, rows, n), or (B, n, rows) if
  /// they are transposed.
  void sum_pairs(PairTerm term, const ConstTensor& factors, bool factors_are_transposed,
                 const ConstTensor& x, const ConstTensor& y, const Tensor& sums, float* tanh_sums,
                 BackwardPass& pass) {
    const index rows = sums.size(1), cols = sums.size(2);
    const index blocks = (rows + kRowsPerTask - 1) / kRowsPerTask;
    const kernels::TrainingTable& kernels = pass.kernels();
    pass.run.parallel_for(sums.size(0) * blocks, [&](index task, int) noexcept {
      const index b = task / blocks, first = task % blocks * kRowsPerTask;
      kernels::PairSumsArgs args;
      args.term = term;
      args.rows = std::min(kRowsPerTask, rows - first);
      args.count = x.size(1);
      args.cols = cols;
      args.factors = rows_at(factors, b);
      if (factors_are_transposed) std::swap(args.factors.row, args.factors.col);
      args.factors = args.factors.rows_from(first);
      args.x = x.pointer(b);
      if (!y.is_none()) args.y = y.pointer(b, first);
      if (nodes_.column_weights) args.column_weights = nodes_.column_weights->value.data();
      args.sums = sums.pointer(b, first);
      if (tanh_sums) args.tanh_sums = tanh_sums + (b * rows + first) * cols;
      kernels.pair_sums(args);
    });
  }

  PoolingNodes nodes_;
  std::optional<PairWeight> pair_;
  float width_;
  ConstTensor weights_;
};

void require_no_outputs(const AttentionPoolingOptions& options) {
  for (const auto& [name, view] :
       {std::pair("scores", &options.scores), std::pair("weights", &options.weights)}) {
    if (!view->is_none()) {
      validation::fail_value(name, "a tensor", {"none when a tape records the call"});
    }
  }
}

/// Memory for the results and weights of a call.
struct PoolingMemory {
  Tensor output, weights;

  PoolingMemory(const Variable& query, const Variable& key, const Variable& value,
                Recording& record) {
    require_rows("query", query.value(), "D", -1);
    require_rows_like("key", key.value(), query.value(), -1, -1);
    require_rows_like("value", value.value(), query.value(), key.size(-2), -1);
    const index rows = query.size(-2), cols = key.size(-2), width = value.size(-1);
    const bool batched = query.rank() == 3;
    output = batched ? record.memory({query.size(0), rows, width}) : record.memory({rows, width});
    weights = batched ? record.memory({query.size(0), rows, cols}) : record.memory({rows, cols});
  }
};

ScoringFunction with_width(const ScoringFunction& scoring, const Variable& width) {
  using Kind = ScoringFunction::Kind;
  if (width.is_none()) return scoring;
  if (validation::product("width", width.shape()) != 1) {
    validation::fail_shape("width", width.shape(), {"one element"});
  }
  switch (scoring.kind()) {
    case Kind::kGaussian:
      return ScoringFunction::gaussian(width.item());
    case Kind::kBoxcar:
      return ScoringFunction::boxcar(width.item());
    case Kind::kEpanechnikov:
      return ScoringFunction::epanechnikov(width.item());
    case Kind::kScaledDot:
    case Kind::kAverage:
      break;
  }
  validation::fail_value("width", "a variable", {"none; this kernel has no width"});
}

/// Scaled dot-product attention has its own step, whose memory is linear.
Variable pool_scaled_dot(const Variable& query, const Variable& key, const Variable& value,
                         const ScoringFunction& scoring, const AttentionPoolingOptions& options) {
  require_rows("query", query.value(), "D", -1);
  require_rows_like("key", key.value(), query.value(), -1, query.size(-1));
  require_rows_like("value", value.value(), query.value(), key.size(-2), -1);
  const index depth = query.size(-1);
  if (depth < 1) validation::fail_value("query", "width 0", {"at least 1"});
  AttentionOptions attention;
  attention.scale = scoring.parameter().value_or(1.0F / std::sqrt(static_cast<float>(depth)));
  if (!options.mask.is_none()) {
    validation::require_data("mask", options.mask);
    const auto shape = {batch_of(query.value()), query.size(-2), key.size(-2)};
    attention.mask = validation::broadcast("mask", options.mask, shape).unsqueeze(1);
  }
  attention.valid_lens = options.valid_lens;
  return scaled_dot_product_attention(query, key, value, attention);
}

/// Computes x · weightᵀ with a layer's own weight.
Variable project(const char* argument, const char* width_name, const Module& layer,
                 const PackedMatrix& packed, const ConstTensor& weight, const Variable& x) {
  Recording record("AdditiveAttention", &layer, {&x});
  require_rows(argument, x.value(), width_name, packed.cols());
  const Tensor y = x.rank() == 3 ? record.memory({x.size(0), x.size(1), packed.rows()})
                                 : record.memory({x.size(0), packed.rows()});
  runtime::Execution run(record.context());
  packed.multiply(x.value(), nullptr, y, run, packed.take_scratch(run));
  return record.finish(
      y, LinearStep(
             {.x = record.node(x), .weights = record.parameter(layer, weight), .weight = weight}));
}

}  // namespace
}  // namespace training

Variable attention_pooling(const Variable& query, const Variable& key, const Variable& value,
                           const ScoringFunction& scoring, const AttentionPoolingOptions& options,
                           const Variable& width) {
  using Kind = ScoringFunction::Kind;
  using kernels::PairWeight;
  training::Recording record("attention_pooling", nullptr, {&query, &key, &value, &width});
  training::require_no_outputs(options);
  const ScoringFunction given = training::with_width(scoring, width);
  if (given.kind() == Kind::kScaledDot && !options.hard) {
    return training::pool_scaled_dot(query, key, value, given, options);
  }
  const training::PoolingMemory memory(query, key, value, record);
  AttentionPoolingOptions with_weights = options;
  with_weights.weights = memory.weights;
  attention_pooling(query.value(), key.value(), value.value(), memory.output, given, with_weights,
                    record.context());
  std::optional<PairWeight> pair;
  if (!options.hard && given.kind() == Kind::kGaussian) pair = PairWeight::kGaussian;
  if (!options.hard && given.kind() == Kind::kEpanechnikov) pair = PairWeight::kEpanechnikov;
  const training::PoolingNodes nodes{.query = record.node(query),
                                     .key = record.node(key),
                                     .value = record.node(value),
                                     .width = record.node(width)};
  return record.finish(memory.output,
                       training::PoolingStep(nodes, pair, given.parameter().value_or(1.0F),
                                             with_batch(ConstTensor(memory.weights))));
}

Variable AdditiveAttention::project_keys(const Variable& key) const {
  return training::project("key", "key_dim", *this, *key_, parameter("W_k.weight"), key);
}

Variable AdditiveAttention::forward(const Variable& query, const Variable& key,
                                    const Variable& value,
                                    const AttentionPoolingOptions& options) const {
  const training::Recording record("AdditiveAttention", this, {&query, &key, &value});
  require_rows("query", query.value(), "D", query_dim_);
  require_rows_like("key", key.value(), query.value(), -1, key_dim_);
  return forward_projected(query, project_keys(key), value, options);
}

Variable AdditiveAttention::forward_projected(const Variable& query, const Variable& projected_keys,
                                              const Variable& value,
                                              const AttentionPoolingOptions& options) const {
  training::Recording record("AdditiveAttention", this, {&query, &projected_keys, &value});
  training::require_no_outputs(options);
  const training::PoolingMemory memory(query, projected_keys, value, record);
  const bool shows_scores = record.watched("scores");
  AttentionPoolingOptions outputs = options;
  outputs.weights = memory.weights;
  if (shows_scores) outputs.scores = record.memory(memory.weights.shape());
  forward_projected(query.value(), projected_keys.value(), value.value(), memory.output, outputs,
                    record.context());
  const Variable projected =
      training::project("query", "query_dim", *this, *query_, parameter("W_q.weight"), query);
  training::record_intermediate(*this, "projected_queries", projected);
  training::record_intermediate(*this, "projected_keys", projected_keys);
  training::PoolingNodes nodes{.query = record.node(projected),
                               .key = record.node(projected_keys),
                               .value = record.node(value),
                               .column_weights = record.parameter(*this, column_weights_)};
  const auto add_displayed = [&](const char* name, const Tensor& values) -> training::Node* {
    const Variable variable = record.make_displayed(values);
    training::record_intermediate(*this, name, variable);
    return record.node(variable);
  };
  if (shows_scores) nodes.scores = add_displayed("scores", outputs.scores);
  if (record.watched("weights")) nodes.weights = add_displayed("weights", memory.weights);
  std::optional<kernels::PairWeight> pair;
  if (!options.hard) pair = kernels::PairWeight::kSoftmax;
  return record.finish(memory.output, training::PoolingStep(
                                          nodes, pair, 1, with_batch(ConstTensor(memory.weights))));
}

}  // namespace attn
