#include "attn/positions/learned_positional_encoding.hpp"
#include "attn/positions/positional_encoding.hpp"
#include "attn/positions/rotary_embedding.hpp"
#include "attn/training/functions.hpp"
#include "rows.hpp"
#include "training/recording.hpp"
#include "training/row_sums.hpp"
#include "validation.hpp"

namespace attn {
namespace {

using training::BackwardPass;
using training::Node;
using training::Recording;
using training::Step;

/// y = x + the table's rows starting at `start`, for every batch entry.
class AddPositionsStep final : public Step {
 public:
  AddPositionsStep(Node* x, Node* table, std::int64_t start)
      : x_(x), table_(table), start_(start) {}

  void backward(BackwardPass& pass, const ConstTensor& output_gradient) override {
    pass.add_to(x_, output_gradient);
    const std::int64_t rows = output_gradient.size(-2), width = output_gradient.size(-1);
    pass.add_to_rows(table_, start_, start_ + rows, [&](const Tensor& to) {
      training::sum_rows(
          ConstTensor(output_gradient.data(), {batch_of(output_gradient), rows * width}),
          Tensor(to.data(), {rows * width}), pass);
    });
  }

 private:
  Node* x_;
  Node* table_;  ///< the learned table; null if there are no parameters
  std::int64_t start_;
};

/// Views (N, heads·D) or (B, N, heads·D) as (B, heads, N, D).
template <class T>
TensorView<T> split(const TensorView<T>& x, std::int64_t num_heads) {
  return num_heads == 1 ? x : with_batch(x).split_heads(num_heads);
}

class CachedRotationStep final : public Step {
 public:
  CachedRotationStep(Node* x, const Tensor& cos, const Tensor& sin, const RotaryCacheOptions& back,
                     std::int64_t num_heads)
      : x_(x), cos_(cos), sin_(sin), back_(back), num_heads_(num_heads) {}

  void backward(BackwardPass& pass, const ConstTensor& output_gradient) override {
    pass.add_to(x_, [&](const Tensor& dx) {
      apply_rotary_embedding(split(output_gradient, num_heads_), cos_, sin_, split(dx, num_heads_),
                             back_, pass.context());
    });
  }

 private:
  Node* x_;
  ConstTensor cos_, sin_;
  RotaryCacheOptions back_;
  std::int64_t num_heads_;
};

}  // namespace

Variable LearnedPositionalEncoding::forward(const Variable& x, std::int64_t start,
                                            const Dropout& dropout) const {
  Recording record("LearnedPositionalEncoding", this, {&x});
  validation::require_probability("dropout", dropout.probability);
  const Tensor y = record.memory(x.shape());
  forward(x.value(), y, start, {}, record.context());
  return apply_dropout(
      record.finish(y, AddPositionsStep(record.node(x), record.parameter(*this, weight_), start)),
      dropout);
}

Variable PositionalEncoding::forward(const Variable& x, double start,
                                     const Dropout& dropout) const {
  Recording record("PositionalEncoding", nullptr, {&x});
  validation::require_probability("dropout", dropout.probability);
  const Tensor y = record.memory(x.shape());
  forward(x.value(), y, start, {}, record.context());
  return apply_dropout(record.finish(y, AddPositionsStep(record.node(x), nullptr, 0)), dropout);
}

Variable RotaryEmbedding::forward(const Variable& x, const RotaryPositions& positions,
                                  std::int64_t num_heads) const {
  Recording record("RotaryEmbedding", nullptr, {&x});
  const ConstTensor& values = x.value();
  validation::require_at_least("num_heads", num_heads, 1);
  if (num_heads > 1 &&
      (values.rank() < 2 || values.rank() > 3 || values.size(-1) % num_heads != 0)) {
    validation::fail_shape("x", values.shape(),
                           {"(N, E) or (B, N, E), with a width E that is a multiple of ", num_heads,
                            ", the number of heads"});
  }
  const Tensor y = record.memory(values.shape());
  if (!record.needs_gradient()) {
    forward(split(values, num_heads), split(y, num_heads), positions, record.context());
    return record.finish(y, CachedRotationStep(nullptr, {}, {}, {}, 1));
  }
  // Keeps the tables for the backward pass. Rotating with these tables gives bit-identical results.
  const auto& given = positions.positions;
  const std::int64_t batch = given.rank() > 1 ? given.size(-2) : 1;
  const bool per_batch = given.rank() == 2 || (given.rank() == 3 && batch != 1);
  const std::int64_t half = options_.rotary_dim / 2;
  const std::int64_t rows = values.rank() < 2 ? 0 : values.size(-2);
  const Tensor cos = per_batch ? record.memory({batch, rows, half}) : record.memory({rows, half});
  const Tensor sin = record.memory(cos.shape());
  tables(cos, sin, positions, record.context());
  RotaryCacheOptions how;
  how.pairing = options_.pairing;
  how.rotary_dim = options_.rotary_dim;
  apply_rotary_embedding(split(values, num_heads), cos, sin, split(y, num_heads), how,
                         record.context());
  how.inverse = true;
  return record.finish(y, CachedRotationStep(record.node(x), cos, sin, how, num_heads));
}

}  // namespace attn
