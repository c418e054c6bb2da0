#include "attn/multi_head_attention.hpp"

#include <array>
#include <string>

#include "attn/initialization.hpp"
#include "attn/parameters.hpp"
#include "packed_matrix.hpp"
#include "validation.hpp"

namespace attn {

struct MultiHeadAttention::Impl {
  MultiHeadAttentionOptions options;
  std::int64_t head_dim = 0;
  std::int64_t kv_heads = 0;
  std::int64_t key_dim = 0;
  std::int64_t value_dim = 0;
  Parameters parameters;
  PackedMatrix query, key, value, output;

  std::int64_t kv_width() const { return kv_heads * head_dim; }
  /// Whether the three input projections have the same shape, and so are one parameter.
  bool joined() const {
    return key_dim == options.d_model && value_dim == options.d_model &&
           kv_heads == options.num_heads;
  }
  void add_parameters();
  void pack_input_projections();
  void clear_biases();
  const float* input_bias(std::int64_t offset) const {
    return options.bias ? parameters.get("in_proj_bias").data() + offset : nullptr;
  }
};

void MultiHeadAttention::Impl::add_parameters() {
  const std::int64_t e = options.d_model;
  if (joined()) {
    parameters.add("in_proj_weight", std::array{3 * e, e});
  } else {
    parameters.add("q_proj_weight", std::array{e, e});
    parameters.add("k_proj_weight", std::array{kv_width(), key_dim});
    parameters.add("v_proj_weight", std::array{kv_width(), value_dim});
  }
  if (options.bias) parameters.add("in_proj_bias", std::array{e + 2 * kv_width()});
  parameters.add("out_proj.weight", std::array{e, e});
  if (options.bias) parameters.add("out_proj.bias", std::array{e});
}

void MultiHeadAttention::Impl::pack_input_projections() {
  if (joined()) {
    const std::int64_t e = options.d_model;
    const ConstTensor all = parameters.get("in_proj_weight");
    query.pack(all.slice(0, 0, e));
    key.pack(all.slice(0, e, 2 * e));
    value.pack(all.slice(0, 2 * e, 3 * e));
  } else {
    query.pack(parameters.get("q_proj_weight"));
    key.pack(parameters.get("k_proj_weight"));
    value.pack(parameters.get("v_proj_weight"));
  }
}

void MultiHeadAttention::Impl::clear_biases() {
  if (!options.bias) return;
  for (const char* name : {"in_proj_bias", "out_proj.bias"}) {
    const Tensor bias = parameters.mutable_view(name);
    for (std::int64_t i = 0; i < bias.size(0); ++i) bias(i) = 0.0F;
  }
}

MultiHeadAttention::MultiHeadAttention(const MultiHeadAttentionOptions& options)
    : impl_(std::make_unique<Impl>()) {
  validation::require_at_least("d_model", options.d_model, 1);
  validation::require_at_least("num_heads", options.num_heads, 1);
  if (options.d_model % options.num_heads != 0) {
    validation::fail_value("num_heads", static_cast<double>(options.num_heads),
                           "a divisor of d_model " + std::to_string(options.d_model));
  }
  Impl& impl = *impl_;
  impl.options = options;
  impl.head_dim = options.d_model / options.num_heads;
  impl.kv_heads = options.num_kv_heads.value_or(options.num_heads);
  impl.key_dim = options.key_dim.value_or(options.d_model);
  impl.value_dim = options.value_dim.value_or(options.d_model);
  validation::require_at_least("num_kv_heads", impl.kv_heads, 1);
  validation::require_at_least("key_dim", impl.key_dim, 1);
  validation::require_at_least("value_dim", impl.value_dim, 1);
  if (options.num_heads % impl.kv_heads != 0) {
    validation::fail_value("num_kv_heads", static_cast<double>(impl.kv_heads),
                           "a divisor of num_heads " + std::to_string(options.num_heads));
  }
  // The largest of the parameters' sizes; none of what follows can then overflow.
  validation::product("d_model", {3, options.d_model, options.d_model});
  validation::product("key_dim", {impl.kv_width(), impl.key_dim});
  validation::product("value_dim", {impl.kv_width(), impl.value_dim});
  impl.add_parameters();
  impl.query = PackedMatrix(options.d_model, options.d_model);
  impl.key = PackedMatrix(impl.kv_width(), impl.key_dim);
  impl.value = PackedMatrix(impl.kv_width(), impl.value_dim);
  impl.output = PackedMatrix(options.d_model, options.d_model);
}

MultiHeadAttention::~MultiHeadAttention() = default;
MultiHeadAttention::MultiHeadAttention(MultiHeadAttention&&) noexcept = default;
MultiHeadAttention& MultiHeadAttention::operator=(MultiHeadAttention&&) noexcept = default;

const MultiHeadAttentionOptions& MultiHeadAttention::options() const noexcept {
  return impl_->options;
}

std::vector<std::string> MultiHeadAttention::parameter_names() const {
  return impl_->parameters.names();
}

ConstTensor MultiHeadAttention::parameter(std::string_view name) const {
  return impl_->parameters.get(name);
}

void MultiHeadAttention::set_parameter(std::string_view name, const ConstTensor& values) {
  impl_->parameters.set(name, values);
  if (name == "out_proj.weight") {
    impl_->output.pack(impl_->parameters.get(name));
  } else if (name.ends_with("proj_weight")) {
    impl_->pack_input_projections();
  }
}

void MultiHeadAttention::initialize_identity() {
  Impl& impl = *impl_;
  if (!impl.joined()) {
    validation::fail(ErrorCode::kInvalidArgument,
                     "initialize_identity: needs keys and values with d_model columns and as many "
                     "heads as queries");
  }
  const std::int64_t e = impl.options.d_model;
  for (const char* name : {"in_proj_weight", "out_proj.weight"}) {
    const Tensor weight = impl.parameters.mutable_view(name);
    for (std::int64_t i = 0; i < weight.size(0); ++i) {
      for (std::int64_t j = 0; j < e; ++j) weight(i, j) = i % e == j ? 1.0F : 0.0F;
    }
  }
  impl.clear_biases();
  impl.pack_input_projections();
  impl.output.pack(impl.parameters.get("out_proj.weight"));
}

void MultiHeadAttention::initialize_xavier(std::uint64_t seed, Context& context) {
  Impl& impl = *impl_;
  const auto draw = [&](const Tensor& weight, std::uint64_t stream) {
    xavier_uniform(weight, {seed, stream}, 1, context);
  };
  if (impl.joined()) {
    const std::int64_t e = impl.options.d_model;
    const Tensor all = impl.parameters.mutable_view("in_proj_weight");
    for (int i = 0; i < 3; ++i) draw(all.slice(0, i * e, (i + 1) * e), i);
  } else {
    draw(impl.parameters.mutable_view("q_proj_weight"), 0);
    draw(impl.parameters.mutable_view("k_proj_weight"), 1);
    draw(impl.parameters.mutable_view("v_proj_weight"), 2);
  }
  draw(impl.parameters.mutable_view("out_proj.weight"), 3);
  impl.clear_biases();
  impl.pack_input_projections();
  impl.output.pack(impl.parameters.get("out_proj.weight"));
}

void MultiHeadAttention::forward(const ConstTensor& query, const ConstTensor& key,
                                 const ConstTensor& value, const Tensor& output,
                                 const AttentionOptions& attention, Context& context) const {
  const Impl& impl = *impl_;
  if (query.rank() != 2 && query.rank() != 3) {
    validation::fail_shape("query", query.shape(), "rank 2 (N, d_model) or 3 (B, N, d_model)");
  }
  const bool batched = query.rank() == 3;
  const auto with_batch = [&](auto view) { return batched ? view : view.unsqueeze(0); };
  const auto check = [&](const char* name, const auto& view, std::int64_t batch,
                         std::int64_t length, std::int64_t width) {
    if (batched) {
      validation::require_shape(name, view, {batch, length, width});
    } else {
      validation::require_shape(name, view, {length, width});
    }
    validation::require_data(name, view);
  };
  const std::int64_t e = impl.options.d_model;
  const std::int64_t batch = batched ? query.size(0) : 1;
  check("query", query, -1, -1, e);
  const std::int64_t num_queries = query.size(-2);
  check("key", key, batch, -1, impl.key_dim);
  const std::int64_t num_keys = key.size(-2);
  check("value", value, batch, num_keys, impl.value_dim);
  check("output", output, batch, num_queries, e);

  runtime::Execution run(context);
  const auto project = [&](const PackedMatrix& weight, const float* bias, const ConstTensor& x) {
    const std::int64_t rows = x.size(1);
    const Tensor y(run.floats(validation::product("query", {batch, rows, weight.rows()}),
                              "multi-head projections"),
                   {batch, rows, weight.rows()});
    weight.multiply(x, bias, y, run, weight.take_scratch(run));
    return y;
  };
  const Tensor q = project(impl.query, impl.input_bias(0), with_batch(query));
  const Tensor k = project(impl.key, impl.input_bias(e), with_batch(key));
  const Tensor v = project(impl.value, impl.input_bias(e + impl.kv_width()), with_batch(value));
  const Tensor heads(run.floats(batch * num_queries * e, "multi-head output"),
                     {batch, num_queries, e});
  // Taken before attention writes its outputs, so that a call that fails has written nothing.
  float* scratch = impl.output.take_scratch(run);
  scaled_dot_product_attention(q.split_heads(impl.options.num_heads), k.split_heads(impl.kv_heads),
                               v.split_heads(impl.kv_heads),
                               heads.split_heads(impl.options.num_heads), attention, context);
  impl.output.multiply(heads,
                       impl.options.bias ? impl.parameters.get("out_proj.bias").data() : nullptr,
                       with_batch(output), run, scratch);
}

}  // namespace attn
