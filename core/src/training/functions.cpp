#include "attn/training/functions.hpp"

#include <algorithm>
#include <array>

#include "elementwise.hpp"
#include "layers/packed_matrix.hpp"
#include "rows.hpp"
#include "training/linear_step.hpp"
#include "training/recording.hpp"
#include "validation.hpp"

namespace attn {
namespace {

using kernels::index;
using training::BackwardPass;
using training::Node;
using training::Recording;
using training::Step;
using training::training_kernels;

/// out = a ∘ b, all row-major.
void multiply(const ConstTensor& a, const ConstTensor& b, const Tensor& out,
              runtime::Execution& run) {
  const kernels::TrainingTable& kernels = training_kernels(run);
  for_all_row_runs(flat(out).shape(), run, [&](index first, index count) noexcept {
    kernels.multiply(count, a.data() + first, b.data() + first, out.data() + first);
  });
}

class SumStep final : public Step {
 public:
  SumStep(Node* a, Node* b) : a_(a), b_(b) {}
  void backward(BackwardPass& pass, const ConstTensor& output_gradient) override {
    pass.add_to(a_, output_gradient);
    pass.add_to(b_, output_gradient);
  }

 private:
  Node* a_;
  Node* b_;
};

class ProductStep final : public Step {
 public:
  ProductStep(Node* a, Node* b) : a_(a), b_(b) {}
  void backward(BackwardPass& pass, const ConstTensor& output_gradient) override {
    const auto add = [&](Node* to, const Node* other) {
      pass.add_to(to,
                  [&](const Tensor& g) { multiply(output_gradient, other->value, g, pass.run); });
    };
    add(a_, b_);
    add(b_, a_);
  }

 private:
  Node* a_;
  Node* b_;
};

/// out = factor · x, both row-major.
void scale(float factor, const ConstTensor& x, const Tensor& out, runtime::Execution& run) {
  const kernels::TrainingTable& kernels = training_kernels(run);
  for_all_row_runs(flat(out).shape(), run, [&](index first, index count) noexcept {
    kernels.scaled_difference(count, factor, x.data() + first, nullptr, out.data() + first);
  });
}

class ScaleStep final : public Step {
 public:
  ScaleStep(float factor, Node* x) : factor_(factor), x_(x) {}
  void backward(BackwardPass& pass, const ConstTensor& output_gradient) override {
    pass.add_to(x_, [&](const Tensor& dx) { scale(factor_, output_gradient, dx, pass.run); });
  }

 private:
  float factor_;
  Node* x_;
};

/// out = f(x), element by element, both row-major.
template <class F>
void map_elements(const ConstTensor& x, const Tensor& out, runtime::Execution& run, F f) {
  for_all_row_runs(flat(out).shape(), run, [&](index first, index count) noexcept {
    for (index i = first; i < first + count; ++i) out.data()[i] = f(x.data()[i]);
  });
}

class ShiftStep final : public Step {
 public:
  explicit ShiftStep(Node* x) : x_(x) {}
  void backward(BackwardPass& pass, const ConstTensor& output_gradient) override {
    pass.add_to(x_, output_gradient);
  }

 private:
  Node* x_;
};

class QuotientStep final : public Step {
 public:
  QuotientStep(Node* x, float divisor) : x_(x), divisor_(divisor) {}
  void backward(BackwardPass& pass, const ConstTensor& output_gradient) override {
    pass.add_to(x_, [&](const Tensor& dx) {
      map_elements(output_gradient, dx, pass.run, [&](float dy) { return dy / divisor_; });
    });
  }

 private:
  Node* x_;
  float divisor_;
};

class MeanStep final : public Step {
 public:
  explicit MeanStep(Node* x) : x_(x) {}
  void backward(BackwardPass& pass, const ConstTensor& output_gradient) override {
    pass.add_to(x_, [&](const Tensor& dx) {
      const index count = validation::product("x", dx.shape());
      const double share =
          static_cast<double>(*output_gradient.data()) / static_cast<double>(count);
      std::fill_n(dx.data(), count, static_cast<float>(share));
    });
  }

 private:
  Node* x_;
};

class ReshapeStep final : public Step {
 public:
  explicit ReshapeStep(Node* x) : x_(x) {}
  void backward(BackwardPass& pass, const ConstTensor& output_gradient) override {
    const ConstTensor gradient(output_gradient.data(), x_->value.shape());
    pass.add_to(x_, gradient);
  }

 private:
  Node* x_;
};

/// Selects the indices [begin, end) of a dimension.
class SliceStep final : public Step {
 public:
  SliceStep(Node* x, int dim, index begin, index end)
      : x_(x), dim_(dim), begin_(begin), end_(end) {}
  void backward(BackwardPass& pass, const ConstTensor& output_gradient) override {
    pass.add_in_place(x_, [&](const Tensor& dx, bool fresh) {
      const Tensor part = dx.slice(dim_, begin_, end_);
      // Restores the slice's shape: select() returns the slice without dimension `dim_`, so its
      // gradient lacks that dimension.
      const ConstTensor gradient(output_gradient.data(), part.shape());
      if (fresh) {
        std::fill_n(dx.data(), validation::product("x", dx.shape()), 0.0F);
        copy(gradient, part, pass.run);
      } else {
        add(part, gradient, part, pass.run);
      }
    });
  }

 private:
  Node* x_;
  int dim_;
  index begin_, end_;
};

class ConcatenateStep final : public Step {
 public:
  ConcatenateStep(std::span<const Variable> parts, int dim) : parts_(parts), dim_(dim) {}
  void backward(BackwardPass& pass, const ConstTensor& output_gradient) override {
    index begin = 0;
    for (const Variable& part : parts_) {
      Node* const node = Recording::node(part);
      const index end = begin + node->value.size(dim_);
      const ConstTensor gradient = output_gradient.slice(dim_, begin, end);
      pass.add_to(node, gradient);
      begin = end;
    }
  }

 private:
  std::span<const Variable> parts_;
  int dim_;
};

/// Checks `dim` and returns it counted from the front.
int checked_dimension(const ConstTensor& x, int dim) {
  if (dim < -x.rank() || dim >= x.rank()) {
    validation::fail_value(
        "dim", dim, {"a dimension of ", validation::Name("x"), ", which has rank ", x.rank()});
  }
  return dim < 0 ? dim + x.rank() : dim;
}

Variable copy_of_slice(const char* name, const Variable& x, int dim, index begin, index end,
                       bool keeps_dimension) {
  Recording record(name, nullptr, {&x});
  const ConstTensor part = x.value().slice(dim, begin, end);
  const Tensor y = record.memory(keeps_dimension ? part.shape() : part.select(dim, 0).shape());
  {
    runtime::Execution run(record.context());
    copy(part, Tensor(y.data(), part.shape()), run);
  }
  return record.finish(y, SliceStep(record.node(x), dim, begin, end));
}

}  // namespace

Variable operator+(const Variable& a, const Variable& b) {
  Recording record("operator+", nullptr, {&a, &b});
  validation::require_same_shape("b", b.value(), a.value());
  const Tensor sum = record.memory(a.shape());
  runtime::Execution run(record.context());
  add(a.value(), b.value(), sum, run);
  return record.finish(sum, SumStep(record.node(a), record.node(b)));
}

Variable operator*(const Variable& a, const Variable& b) {
  Recording record("operator*", nullptr, {&a, &b});
  validation::require_same_shape("b", b.value(), a.value());
  const Tensor product = record.memory(a.shape());
  runtime::Execution run(record.context());
  multiply(a.value(), b.value(), product, run);
  return record.finish(product, ProductStep(record.node(a), record.node(b)));
}

Variable operator*(float factor, const Variable& x) {
  Recording record("operator*", nullptr, {&x});
  const Tensor product = record.memory(x.shape());
  runtime::Execution run(record.context());
  scale(factor, x.value(), product, run);
  return record.finish(product, ScaleStep(factor, record.node(x)));
}

Variable operator+(const Variable& x, float constant) {
  Recording record("operator+", nullptr, {&x});
  const Tensor sum = record.memory(x.shape());
  runtime::Execution run(record.context());
  map_elements(x.value(), sum, run, [&](float value) { return value + constant; });
  return record.finish(sum, ShiftStep(record.node(x)));
}

Variable operator/(const Variable& x, float divisor) {
  Recording record("operator/", nullptr, {&x});
  const Tensor quotient = record.memory(x.shape());
  runtime::Execution run(record.context());
  map_elements(x.value(), quotient, run, [&](float value) { return value / divisor; });
  return record.finish(quotient, QuotientStep(record.node(x), divisor));
}

Variable mean(const Variable& x) {
  Recording record("mean", nullptr, {&x});
  const index count = validation::product("x", x.shape());
  if (count == 0) validation::fail_value("x", "no elements", {"at least one"});
  double sum = 0;
  for (index i = 0; i < count; ++i) sum += static_cast<double>(x.value().data()[i]);
  const Tensor result = record.memory(std::span<const std::int64_t>());
  *result.data() = static_cast<float>(sum / static_cast<double>(count));
  return record.finish(result, MeanStep(record.node(x)));
}

Variable linear(const Variable& x, const Variable& weight, const Variable& bias) {
  Recording record("linear", nullptr, {&x, &weight, &bias});
  const ConstTensor& matrix = weight.value();
  validation::require_shape("weight", matrix, {-1, -1});
  const index out = matrix.size(0), in = matrix.size(1);
  require_rows("x", x.value(), "in_features", in);
  if (!bias.is_none()) validation::require_shape("bias", bias.value(), {out});
  const Tensor y =
      x.rank() == 3 ? record.memory({x.size(0), x.size(1), out}) : record.memory({x.size(0), out});
  runtime::Execution run(record.context());
  float* packed = run.floats(kernels::packed_size(out, in), "linear");
  float* scratch = take_product_scratch(in, run);
  pack_matrix(matrix, packed, in, run);
  multiply_packed(x.value(), packed, bias.is_none() ? nullptr : bias.value().data(), y, run,
                  scratch);
  return record.finish(y, training::LinearStep({.x = record.node(x),
                                                .weights = record.node(weight),
                                                .biases = record.node(bias),
                                                .weight = matrix}));
}

Variable reshape(const Variable& x, std::span<const std::int64_t> shape) {
  Recording record("reshape", nullptr, {&x});
  std::array<std::int64_t, ConstTensor::kMaxRank> sizes;
  if (shape.size() > sizes.size()) {
    validation::fail_shape("shape", shape, {"at most ", ConstTensor::kMaxRank, " dimensions"});
  }
  const std::span<std::int64_t> new_shape = std::span(sizes).first(shape.size());
  std::ranges::copy(shape, new_shape.begin());
  const index count = validation::product("x", x.shape());
  const auto left = std::ranges::find(new_shape, -1);
  if (left != new_shape.end()) {
    *left = 1;
    index others = 1;
    for (const index size : new_shape) {
      validation::require_at_least("shape", size, 0);
      others = validation::product("shape", {others, size});
    }
    if (others != 0) *left = count / others;
  }
  for (const index size : new_shape) validation::require_at_least("shape", size, 0);
  if (validation::product("shape", new_shape) != count) {
    validation::fail_shape("shape", shape, {"as many elements as ", x.shape()});
  }
  return record.finish(ConstTensor(x.value().data(), new_shape), ReshapeStep(record.node(x)));
}

Variable slice(const Variable& x, int dim, std::int64_t begin, std::int64_t end) {
  dim = checked_dimension(x.value(), dim);
  if (begin < 0 || begin > end || end > x.size(dim)) {
    validation::fail(ErrorCode::kInvalidArgument, "slice", {"[", begin, ", ", end, ")"},
                     {"a range within size ", x.size(dim)});
  }
  return copy_of_slice("slice", x, dim, begin, end, true);
}

Variable select(const Variable& x, int dim, std::int64_t at) {
  dim = checked_dimension(x.value(), dim);
  if (at < 0 || at >= x.size(dim)) {
    validation::fail_value("at", at,
                           {"an index below ", x.size(dim), ", the size of that dimension"});
  }
  return copy_of_slice("select", x, dim, at, at + 1, false);
}

Variable concatenate(std::span<const Variable> parts, int dim) {
  Recording record("concatenate", nullptr, parts);
  const ConstTensor& first = parts[0].value();
  dim = checked_dimension(first, dim);
  std::array<std::int64_t, ConstTensor::kMaxRank> sizes;
  const std::span<std::int64_t> shape = std::span(sizes).first(first.shape().size());
  std::ranges::copy(first.shape(), shape.begin());
  std::int64_t& length = shape[static_cast<std::size_t>(dim)];
  length = 0;
  for (const Variable& part : parts) {
    const std::span<const std::int64_t> size = part.shape();
    bool fits = size.size() == shape.size();
    for (std::size_t d = 0; fits && d < shape.size(); ++d) {
      fits = size[d] == shape[d] || static_cast<int>(d) == dim;
    }
    if (!fits) {
      validation::fail_shape("parts", size,
                             {"shape ", first.shape(), ", except in dimension ", dim});
    }
    length += part.size(dim);
  }
  const Tensor y = record.memory(shape);
  auto* kept = record.take<Variable>(static_cast<index>(parts.size()));
  std::ranges::copy(parts, kept);
  runtime::Execution run(record.context());
  index begin = 0;
  for (const Variable& part : parts) {
    const index end = begin + part.size(dim);
    copy(part.value(), y.slice(dim, begin, end), run);
    begin = end;
  }
  return record.finish(y, ConcatenateStep({kept, parts.size()}, dim));
}

}  // namespace attn
