#include "attn/layers/multi_head_attention.hpp"

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "attention/attention_options.hpp"
#include "attention/check_attention.hpp"
#include "attn/layers/initialization.hpp"
#include "attn/layers/parameters.hpp"
#include "attn/positions/alibi.hpp"
#include "layers/packed_matrix.hpp"
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
  std::optional<RotaryEmbedding> rotary;
  std::vector<float> slopes;

  std::int64_t kv_width() const { return kv_heads * head_dim; }
  /// Whether the three input projections have the same shape, and so are one parameter.
  bool joined() const {
    return key_dim == options.d_model && value_dim == options.d_model &&
           kv_heads == options.num_heads;
  }
  void check_positions();
  void add_parameters();
  void pack_input_projections();
  void clear_biases();
  const float* input_bias(std::int64_t offset) const {
    return options.bias ? parameters.get("in_proj_bias").data() + offset : nullptr;
  }

  void check_query(const ConstTensor& query, const Tensor& output) const;
  void check_keys(const ConstTensor& key, const ConstTensor& value, bool batched,
                  std::int64_t batch) const;
  void check_cache(const KeyValueCache& cache, std::int64_t batch) const;

  /// x · Wᵀ + bias in scratch memory, (B, N, ·).
  Tensor project(const PackedMatrix& weight, std::int64_t bias_offset, const ConstTensor& x,
                 runtime::Execution& run) const;
  /// Projected keys, rotated to the positions from `first` on.
  Tensor project_keys(const ConstTensor& x, std::int64_t first, runtime::Execution& run,
                      Context& context) const;
  /// Projected queries, rotated to the positions that the options give them.
  Tensor project_queries(const ConstTensor& x, std::int64_t num_keys,
                         const AttentionOptions& attention, runtime::Execution& run,
                         Context& context) const;
  /// The options of a call, completed by the layer's own terms.
  AttentionOptions with_terms(const AttentionOptions& attention) const;
  /// Refuses options that do not fit, before anything is computed.
  void check_options(const AttentionOptions& attention, const ConstTensor& query,
                     std::int64_t num_keys) const;
  /// Memory for what comes behind attention, taken before anything is written.
  struct Heads {
    Tensor joined;  ///< (B, Nq, E)
    float* scratch;
  };
  Heads take_heads(std::int64_t batch, std::int64_t num_queries, runtime::Execution& run) const;
  void finish(const Heads& heads, const Tensor& output, runtime::Execution& run) const;
};

void MultiHeadAttention::Impl::check_positions() {
  const AttentionPositions& positions = options.positions;
  if (positions.rotary) {
    RotaryEmbeddingOptions rotation = *positions.rotary;
    if (rotation.rotary_dim == 0) rotation.rotary_dim = head_dim;
    if (rotation.rotary_dim > head_dim) {
      validation::fail_value("rotary_dim", rotation.rotary_dim,
                             {"at most the head dimension ", head_dim});
    }
    rotary.emplace(rotation);
  }
  if (positions.alibi) {
    slopes.resize(static_cast<std::size_t>(options.num_heads));
    alibi_slopes(slopes);
  }
  if (positions.t5_bias) {
    // Throws for what does not fit.
    t5_bucket(0, positions.t5_bias->num_buckets, positions.t5_bias->max_distance,
              positions.t5_bias->bidirectional);
  }
  if (positions.max_relative_distance) {
    validation::require_at_least("max_relative_distance", *positions.max_relative_distance, 0);
    if (*positions.max_relative_distance > INT32_MAX) {
      validation::fail_value("max_relative_distance", *positions.max_relative_distance,
                             {"at most 2147483647"});
    }
  }
}

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
  const AttentionPositions& positions = options.positions;
  if (positions.max_relative_distance) {
    const std::array shape{2 * *positions.max_relative_distance + 1, head_dim};
    parameters.add("relative_keys", shape);
    parameters.add("relative_values", shape);
  }
  if (positions.t5_bias) {
    parameters.add("relative_attention_bias.weight",
                   std::array{positions.t5_bias->num_buckets, options.num_heads});
  }
  if (options.sinks) parameters.add("sinks", std::array{options.num_heads});
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
  for (const char* name : {"in_proj_bias", "out_proj.bias", "sinks"}) {
    if (!parameters.contains(name)) continue;
    const Tensor bias = parameters.mutable_view(name);
    for (std::int64_t i = 0; i < bias.size(0); ++i) bias(i) = 0.0F;
  }
}

MultiHeadAttention::MultiHeadAttention(const MultiHeadAttentionOptions& options)
    : impl_(std::make_unique<Impl>()) {
  validation::require_at_least("d_model", options.d_model, 1);
  validation::require_at_least("num_heads", options.num_heads, 1);
  if (options.d_model % options.num_heads != 0) {
    validation::fail_value("num_heads", options.num_heads,
                           {"a divisor of ", validation::Name("d_model"), " ", options.d_model});
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
    validation::fail_value(
        "num_kv_heads", impl.kv_heads,
        {"a divisor of ", validation::Name("num_heads"), " ", options.num_heads});
  }
  // The largest of the parameters' sizes; none of what follows can then overflow.
  validation::product("d_model", {3, options.d_model, options.d_model});
  validation::product("key_dim", {impl.kv_width(), impl.key_dim});
  validation::product("value_dim", {impl.kv_width(), impl.value_dim});
  impl.check_positions();
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
    validation::fail_value("initialize_identity",
                           "keys and values of other widths or other heads than the queries",
                           {"the same ones"});
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
  initialize_xavier(RandomStream{seed, 0}, context);
}

void MultiHeadAttention::initialize_xavier(const RandomStream& first, Context& context) {
  Impl& impl = *impl_;
  const auto draw = [&](const Tensor& weight, std::uint64_t stream) {
    xavier_uniform(weight, {first.seed, first.stream + stream}, 1, context);
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
  if (impl.options.positions.t5_bias) {
    draw(impl.parameters.mutable_view("relative_attention_bias.weight"), 4);
  }
  if (impl.options.positions.max_relative_distance) {
    draw(impl.parameters.mutable_view("relative_keys"), 4);
    draw(impl.parameters.mutable_view("relative_values"), 5);
  }
  impl.clear_biases();
  impl.pack_input_projections();
  impl.output.pack(impl.parameters.get("out_proj.weight"));
}

void MultiHeadAttention::Impl::check_query(const ConstTensor& query, const Tensor& output) const {
  if (query.rank() != 2 && query.rank() != 3) {
    validation::fail_rows("query", query.shape(), "d_model");
  }
  if (query.rank() == 3) {
    validation::require_shape("query", query, {-1, -1, options.d_model});
    validation::require_shape("output", output, {query.size(0), query.size(1), options.d_model});
  } else {
    validation::require_shape("query", query, {-1, options.d_model});
    validation::require_shape("output", output, {query.size(0), options.d_model});
  }
  validation::require_data("query", query);
  validation::require_data("output", output);
}

void MultiHeadAttention::Impl::check_keys(const ConstTensor& key, const ConstTensor& value,
                                          bool batched, std::int64_t batch) const {
  if (batched) {
    validation::require_shape("key", key, {batch, -1, key_dim});
    validation::require_shape("value", value, {batch, key.size(1), value_dim});
  } else {
    validation::require_shape("key", key, {-1, key_dim});
    validation::require_shape("value", value, {key.size(0), value_dim});
  }
  validation::require_data("key", key);
  validation::require_data("value", value);
}

void MultiHeadAttention::Impl::check_cache(const KeyValueCache& cache, std::int64_t batch) const {
  validation::require_shape("cache", cache.keys(), {batch, kv_heads, -1, head_dim});
  validation::require_shape("cache", cache.values(), {batch, kv_heads, -1, head_dim});
}

Tensor MultiHeadAttention::Impl::project(const PackedMatrix& weight, std::int64_t bias_offset,
                                         const ConstTensor& x, runtime::Execution& run) const {
  const ConstTensor from = x.rank() == 3 ? x : x.unsqueeze(0);
  const std::int64_t batch = from.size(0);
  const std::int64_t rows = from.size(1);
  const Tensor y(run.floats(validation::product("query", {batch, rows, weight.rows()}),
                            "multi-head projections"),
                 {batch, rows, weight.rows()});
  weight.multiply(from, input_bias(bias_offset), y, run, weight.take_scratch(run));
  return y;
}

Tensor MultiHeadAttention::Impl::project_keys(const ConstTensor& x, std::int64_t first,
                                              runtime::Execution& run, Context& context) const {
  const Tensor keys = project(key, options.d_model, x, run);
  if (rotary) {
    const Tensor heads = keys.split_heads(kv_heads);
    const auto start = static_cast<double>(first);
    rotary->forward(heads, heads,
                    {.start = start, .sequence_length = start + static_cast<double>(heads.size(2))},
                    context);
  }
  return keys;
}

Tensor MultiHeadAttention::Impl::project_queries(const ConstTensor& x, std::int64_t num_keys,
                                                 const AttentionOptions& attention,
                                                 runtime::Execution& run, Context& context) const {
  const Tensor queries = project(query, 0, x, run);
  if (!rotary) return queries;
  const Tensor heads = queries.split_heads(options.num_heads);
  const auto rotate = [&](const Tensor& rows, std::int64_t keys) {
    const std::int64_t first = attention.relative_diagonal.resolve(rows.size(2), keys);
    rotary->forward(
        rows, rows,
        {.start = static_cast<double>(first), .sequence_length = static_cast<double>(num_keys)},
        context);
  };
  if (attention.key_lens.is_none()) {
    rotate(heads, num_keys);
  } else {
    // Where the last query stands depends on the number of keys that an entry really has.
    for (std::int64_t b = 0; b < heads.size(0); ++b) {
      rotate(heads.slice(0, b, b + 1), attention.key_lens(b));
    }
  }
  return queries;
}

AttentionOptions MultiHeadAttention::Impl::with_terms(const AttentionOptions& attention) const {
  AttentionOptions result = attention;
  const AttentionPositions& positions = options.positions;
  if (positions.alibi && result.alibi_slopes.is_none()) {
    result.alibi_slopes = ConstTensor(slopes.data(), {options.num_heads});
  }
  if (positions.t5_bias && !result.t5_bias) {
    result.t5_bias = T5Bias{.table = parameters.get("relative_attention_bias.weight"),
                            .bidirectional = positions.t5_bias->bidirectional,
                            .max_distance = positions.t5_bias->max_distance};
  }
  if (positions.max_relative_distance) {
    if (result.relative_keys.is_none() && result.relative_values.is_none()) {
      result.relative_keys = parameters.get("relative_keys");
      result.relative_values = parameters.get("relative_values");
    }
  }
  if (options.sinks && result.sinks.is_none()) result.sinks = parameters.get("sinks");
  return result;
}

void MultiHeadAttention::Impl::check_options(const AttentionOptions& attention,
                                             const ConstTensor& query,
                                             std::int64_t num_keys) const {
  check_attention_options(with_terms(attention), {.batch = query.rank() == 3 ? query.size(0) : 1,
                                                  .query_heads = options.num_heads,
                                                  .key_heads = kv_heads,
                                                  .num_queries = query.size(-2),
                                                  .num_keys = num_keys,
                                                  .head_dim = head_dim,
                                                  .value_dim = head_dim});
}

MultiHeadAttention::Impl::Heads MultiHeadAttention::Impl::take_heads(
    std::int64_t batch, std::int64_t num_queries, runtime::Execution& run) const {
  const std::int64_t e = options.d_model;
  Heads heads;
  heads.joined =
      Tensor(run.floats(batch * num_queries * e, "multi-head output"), {batch, num_queries, e});
  heads.scratch = output.take_scratch(run);
  return heads;
}

void MultiHeadAttention::Impl::finish(const Heads& heads, const Tensor& to,
                                      runtime::Execution& run) const {
  output.multiply(heads.joined, options.bias ? parameters.get("out_proj.bias").data() : nullptr,
                  to.rank() == 3 ? to : to.unsqueeze(0), run, heads.scratch);
}

void MultiHeadAttention::forward(const ConstTensor& query, const ConstTensor& key,
                                 const ConstTensor& value, const Tensor& output,
                                 const AttentionOptions& attention, Context& context) const {
  const Impl& impl = *impl_;
  impl.check_query(query, output);
  const bool batched = query.rank() == 3;
  const std::int64_t batch = batched ? query.size(0) : 1;
  impl.check_keys(key, value, batched, batch);
  impl.check_options(attention, query, key.size(-2));

  runtime::Execution run(context);
  const Tensor q = impl.project_queries(query, key.size(-2), attention, run, context);
  const Tensor k = impl.project_keys(key, 0, run, context);
  const Tensor v = impl.project(impl.value, impl.options.d_model + impl.kv_width(), value, run);
  const Impl::Heads heads = impl.take_heads(batch, query.size(-2), run);
  scaled_dot_product_attention(q.split_heads(impl.options.num_heads), k.split_heads(impl.kv_heads),
                               v.split_heads(impl.kv_heads),
                               heads.joined.split_heads(impl.options.num_heads),
                               impl.with_terms(attention), context);
  impl.finish(heads, output, run);
}

KeyValueCache MultiHeadAttention::make_cache(std::int64_t batch, std::int64_t capacity) const {
  return KeyValueCache(batch, impl_->kv_heads, impl_->head_dim, impl_->head_dim, capacity);
}

void MultiHeadAttention::append(const ConstTensor& key, const ConstTensor& value,
                                KeyValueCache& cache, Context& context) const {
  const Impl& impl = *impl_;
  if (key.rank() != 2 && key.rank() != 3) {
    validation::fail_rows("key", key.shape(), "key_dim");
  }
  const bool batched = key.rank() == 3;
  const std::int64_t batch = batched ? key.size(0) : 1;
  impl.check_keys(key, value, batched, batch);
  impl.check_cache(cache, batch);
  runtime::Execution run(context);
  const Tensor k = impl.project_keys(key, cache.length(), run, context);
  const Tensor v = impl.project(impl.value, impl.options.d_model + impl.kv_width(), value, run);
  cache.append(k.split_heads(impl.kv_heads), v.split_heads(impl.kv_heads));
}

void MultiHeadAttention::attend(const ConstTensor& query, const KeyValueCache& cache,
                                const Tensor& output, const AttentionOptions& attention,
                                Context& context) const {
  const Impl& impl = *impl_;
  impl.check_query(query, output);
  const std::int64_t batch = query.rank() == 3 ? query.size(0) : 1;
  impl.check_cache(cache, batch);
  impl.check_options(attention, query, cache.length());
  runtime::Execution run(context);
  const Tensor q = impl.project_queries(query, cache.length(), attention, run, context);
  const Impl::Heads heads = impl.take_heads(batch, query.size(-2), run);
  scaled_dot_product_attention(q.split_heads(impl.options.num_heads), cache.keys(), cache.values(),
                               heads.joined.split_heads(impl.options.num_heads),
                               impl.with_terms(attention), context);
  impl.finish(heads, output, run);
}

void MultiHeadAttention::forward(const ConstTensor& query, const ConstTensor& key,
                                 const ConstTensor& value, const Tensor& output,
                                 KeyValueCache& cache, const AttentionOptions& attention,
                                 Context& context) const {
  const Impl& impl = *impl_;
  impl.check_query(query, output);
  const bool batched = query.rank() == 3;
  const std::int64_t batch = batched ? query.size(0) : 1;
  impl.check_keys(key, value, batched, batch);
  impl.check_cache(cache, batch);
  const std::int64_t past = cache.length();
  const AttentionOptions shifted = behind(past, attention);
  impl.check_options(shifted, query, past + key.size(-2));
  append(key, value, cache, context);
  try {
    attend(query, cache, output, shifted, context);
  } catch (...) {
    cache.truncate(past);
    throw;
  }
}

}  // namespace attn
