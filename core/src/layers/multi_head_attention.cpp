#include "attn/layers/multi_head_attention.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

#include "attention/attention_options.hpp"
#include "attention/check_attention.hpp"
#include "attn/positions/alibi.hpp"
#include "layers/intermediate_writer.hpp"
#include "layers/multi_head_attention_impl.hpp"
#include "positions/rotary_positions.hpp"
#include "rows.hpp"
#include "validation.hpp"

namespace attn {
namespace {

/// The requested stages of attention. Attention writes them in place; if the caller requests them
/// as outputs too, they are copied.
class StageWriter {
 public:
  StageWriter(AttentionOptions& options, IntermediateWriter& writer,
              std::initializer_list<std::int64_t> score_shape)
      : options_(options) {
    if (!writer) return;
    const std::span<const std::int64_t> scores(score_shape.begin(), score_shape.size());
    for (std::size_t i = 0; i < kStages.size(); ++i) {
      const auto [name, output] = kStages[i];
      const bool per_query = output == &AttentionOptions::log_sum_exp;
      intermediates_[i] = writer.allocate(name, per_query ? scores.first(3) : scores);
      if ((options_.*output).is_none()) std::swap(options_.*output, intermediates_[i]);
    }
  }

  void fill(runtime::Execution& run) const noexcept {
    for (std::size_t i = 0; i < kStages.size(); ++i) {
      IntermediateWriter::fill(intermediates_[i], options_.*kStages[i].second, run);
    }
  }

 private:
  static constexpr std::array<std::pair<const char*, Tensor AttentionOptions::*>, 5> kStages = {{
      {"scaled_scores", &AttentionOptions::scaled_scores},
      {"capped_scores", &AttentionOptions::capped_scores},
      {"biased_scores", &AttentionOptions::biased_scores},
      {"weights", &AttentionOptions::weights},
      {"log_sum_exp", &AttentionOptions::log_sum_exp},
  }};

  AttentionOptions& options_;
  std::array<Tensor, kStages.size()> intermediates_ = {};
};

}  // namespace

void fail_positions(const char* name, const char* needs) {
  validation::fail_value(name, "some positions", {needs});
}

void rotate_heads(const RotaryEmbedding& rotary, const Tensor& heads, const RowPlaces& where,
                  bool inverse, Context& context) {
  const TensorView<const double>& given = where.positions;
  const auto rotate = [&](const Tensor& rows, const TensorView<const double>& positions,
                          std::int64_t keys, std::int64_t length) {
    const std::int64_t first = where.first.resolve(rows.size(2), keys);
    rotary.forward(rows, rows,
                   {.start = static_cast<double>(first),
                    .positions = positions,
                    .sequence_length = static_cast<double>(length),
                    .inverse = inverse},
                   context);
  };
  if (!where.cu_seqlens.is_none()) {
    for (std::int64_t s = 0; s + 1 < where.cu_seqlens.size(0); ++s) {
      const std::int64_t begin = where.cu_seqlens(s), end = where.cu_seqlens(s + 1);
      const std::int64_t keys = where.cu_seqlens_k(s + 1) - where.cu_seqlens_k(s);
      rotate(heads.slice(2, begin, end),
             given.is_none() ? given : given.slice(given.rank() - 1, begin, end), keys, keys);
    }
    return;
  }
  if (!given.is_none()) return rotate(heads, given, where.num_keys, where.num_keys);
  if (where.key_lens.is_none()) return rotate(heads, given, where.num_keys, where.num_keys);
  // The position of an entry's last query depends on the entry's number of keys, not counting
  // padding.
  for (std::int64_t b = 0; b < heads.size(0); ++b) {
    rotate(heads.slice(0, b, b + 1), given, where.key_lens(b), where.num_keys);
  }
}

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
    // This call only checks the options: t5_bucket() throws if they are invalid.
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

void MultiHeadAttention::Impl::add_parameters(MultiHeadAttention& layer) {
  const std::int64_t e = options.d_model;
  // Each projection is packed separately when its weights change.
  const auto pack = [&](const std::shared_ptr<PackedMatrix>& matrix, const Tensor& weight,
                        Tensor& kept) {
    kept = weight;
    layer.when_changed([matrix, weight](Context& context) { matrix->pack(weight, context); });
  };
  const auto add_projection = [&](const char* name, const std::shared_ptr<PackedMatrix>& matrix,
                                  Tensor& kept) {
    const std::array shape{matrix->rows(), matrix->cols()};
    const auto xavier = Initialization::xavier_uniform();
    if (matrix->is_kept()) {
      return layer.add_kept_parameter(name, shape, xavier, make_keeper({matrix}));
    }
    pack(matrix, layer.add_parameter(name, shape, xavier), kept);
  };
  if (joined() && query->is_kept()) {
    layer.add_kept_parameter("in_proj_weight", std::array{3 * query_width(), e},
                             Initialization::xavier_uniform(3), make_keeper({query, key, value}));
  } else if (joined()) {
    const std::int64_t width = query_width();
    const Tensor all =
        layer.add_parameter("in_proj_weight", {3 * width, e}, Initialization::xavier_uniform(3));
    input_weights = all;
    pack(query, all.slice(0, 0, width), query_weight);
    pack(key, all.slice(0, width, 2 * width), key_weight);
    pack(value, all.slice(0, 2 * width, 3 * width), value_weight);
  } else {
    add_projection("q_proj_weight", query, query_weight);
    add_projection("k_proj_weight", key, key_weight);
    add_projection("v_proj_weight", value, value_weight);
  }
  if (options.bias) {
    input_biases = layer.add_parameter("in_proj_bias", {query_width() + 2 * kv_width()});
  }
  add_projection("out_proj.weight", output, output_weight);
  if (options.output_bias.value_or(options.bias))
    output_bias = layer.add_parameter("out_proj.bias", {e});
  const AttentionPositions& positions = options.positions;
  if (positions.max_relative_distance) {
    const auto shape = {2 * *positions.max_relative_distance + 1, head_dim};
    relative_keys = layer.add_parameter("relative_keys", shape, Initialization::xavier_uniform());
    relative_values =
        layer.add_parameter("relative_values", shape, Initialization::xavier_uniform());
  }
  if (positions.t5_bias) {
    t5_table = layer.add_parameter(kT5Table, {positions.t5_bias->num_buckets, options.num_heads},
                                   Initialization::xavier_uniform());
  }
  if (options.sinks) sinks = layer.add_parameter("sinks", {options.num_heads});
  if (query_norm) {
    layer.add_child("q_norm", *query_norm);
    layer.add_child("k_norm", *key_norm);
  }
  // Reserves one random stream for each of the four projections and for each of the two tables of
  // relative positions.
  layer.reserve_streams(6);
}

MultiHeadAttention::MultiHeadAttention(const MultiHeadAttentionOptions& options)
    : impl_(std::make_shared<Impl>()) {
  validation::require_at_least("d_model", options.d_model, 1);
  validation::require_at_least("num_heads", options.num_heads, 1);
  if (options.head_dim) {
    validation::require_at_least("head_dim", *options.head_dim, 1);
  } else if (options.d_model % options.num_heads != 0) {
    validation::fail_value("num_heads", options.num_heads,
                           {"a divisor of ", validation::Name("d_model"), " ", options.d_model});
  }
  Impl& impl = *impl_;
  impl.options = options;
  impl.head_dim = options.head_dim.value_or(options.d_model / options.num_heads);
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
  // Checks that no projection is too large. The query and output projections are no larger than the
  // joined projection. The key and value projections have their own widths, so they are checked
  // separately.
  const std::int64_t joined =
      validation::product("d_model", {3, options.num_heads, impl.head_dim, options.d_model});
  if (impl.joined()) {
    validation::allocation(std::string_view("in_proj_weight"), joined, sizeof(float));
  }
  validation::product("key_dim", {impl.kv_width(), impl.key_dim});
  validation::product("value_dim", {impl.kv_width(), impl.value_dim});
  impl.check_positions();
  check_attention_numbers(
      {.scale = options.scale, .softcap = options.softcap, .window = options.window});
  const bool all_heads = options.qk_norm_all_heads;
  if (options.qk_norm) {
    impl.query_norm.emplace(all_heads ? impl.query_width() : impl.head_dim, *options.qk_norm);
    impl.key_norm.emplace(all_heads ? impl.kv_width() : impl.head_dim, *options.qk_norm);
  } else if (all_heads) {
    validation::fail_value("qk_norm_all_heads", "true", {validation::Name("qk_norm"), " as well"});
  }
  const auto matrix = [&](std::int64_t rows, std::int64_t cols) {
    return std::make_shared<PackedMatrix>(rows, cols, options.weights);
  };
  impl.query = matrix(impl.query_width(), options.d_model);
  impl.key = matrix(impl.kv_width(), impl.key_dim);
  impl.value = matrix(impl.kv_width(), impl.value_dim);
  impl.output = matrix(options.d_model, impl.query_width());
  impl.add_parameters(*this);
  if (impl.changes_projected()) add_intermediates({"projected_q", "projected_k"});
  add_intermediates({"q", "k", "v", "scaled_scores", "capped_scores", "biased_scores", "weights",
                     "log_sum_exp", "head_output", "output"});
}

const MultiHeadAttentionOptions& MultiHeadAttention::options() const noexcept {
  return impl_->options;
}

void MultiHeadAttention::initialize_identity(Context& context) {
  const Impl& impl = *impl_;
  if (!impl.joined() || impl.query_width() != impl.options.d_model) {
    validation::fail_value("initialize_identity",
                           "keys or values that differ from the queries in width or heads",
                           {"the same widths and heads for all three"});
  }
  update_parameters(
      [&](const Parameter& parameter) {
        const Tensor& values = parameter.values;
        if (parameter.initialization.kind == Initialization::Kind::kZeros) {
          std::fill_n(values.data(), values.size(0), 0.0F);
        } else if (parameter.initialization.kind == Initialization::Kind::kOnes) {
          std::fill_n(values.data(), values.size(0), 1.0F);
        } else if (parameter.name == "in_proj_weight" || parameter.name == "out_proj.weight") {
          for (std::int64_t i = 0; i < values.size(0); ++i) {
            for (std::int64_t j = 0; j < values.size(1); ++j) {
              values(i, j) = i % values.size(1) == j ? 1.0F : 0.0F;
            }
          }
        }
      },
      context);
}

void MultiHeadAttention::Impl::check_query(const ConstAnyTensor& query,
                                           const AnyTensor& output) const {
  require_rows("query", query, "d_model", options.d_model);
  require_rows_like("output", output, query, query.size(-2), options.d_model);
}

void MultiHeadAttention::Impl::check_keys(const ConstAnyTensor& query, const ConstAnyTensor& key,
                                          const ConstAnyTensor& value) const {
  require_rows_like("key", key, query, -1, key_dim);
  require_rows_like("value", value, query, key.size(-2), value_dim);
}

void MultiHeadAttention::Impl::check_cache(const KeyValueCache& cache, std::int64_t batch) const {
  const auto needed = {batch, kv_heads, std::int64_t{-1}, head_dim};
  validation::require_shape("cache", KeyValueCacheAccess::keys(cache).shape(), needed);
  validation::require_shape("cache", KeyValueCacheAccess::values(cache).shape(), needed);
}

void MultiHeadAttention::Impl::check_positions(const char* name,
                                               const TensorView<const double>& positions,
                                               const ConstAnyTensor& x) const {
  if (positions.is_none()) return;
  if (!rotary) fail_positions(name, "none; the layer has no rotary positions");
  check_rotary_positions(name, positions, std::ssize(rotary->options().sections), batch_of(x),
                         x.size(-2));
}

TensorView<const double> MultiHeadAttention::Impl::check_positions(
    const MultiHeadAttentionCall& call, const ConstAnyTensor& query,
    const ConstAnyTensor& key) const {
  check_positions("positions", call.positions, query);
  check_positions("key_positions", call.key_positions, key);
  if (call.positions.is_none() || !call.key_positions.is_none()) return call.key_positions;
  if (query.size(-2) != key.size(-2)) {
    validation::fail_value(
        "key_positions", "none",
        {"positions of the ", key.size(-2), " keys; ", validation::Name("positions"),
         " covers only the ", query.size(-2), " queries"});
  }
  return call.positions;
}

Tensor MultiHeadAttention::Impl::project(const PackedMatrix& weight, std::int64_t bias_offset,
                                         const ConstAnyTensor& x, runtime::Execution& run) const {
  const ConstAnyTensor from = with_batch(x);
  const auto shape = {from.size(0), from.size(1), weight.rows()};
  const Tensor y(run.floats(validation::product("query", shape), "multi-head projections"), shape);
  const float* bias = options.bias ? input_biases.pointer(bias_offset) : nullptr;
  weight.multiply(from, bias, y, run, weight.take_scratch(from, y, run));
  return y;
}

Tensor MultiHeadAttention::Impl::normalized_heads(const Tensor& projected, std::int64_t heads,
                                                  const char* name,
                                                  const std::optional<RmsNorm>& norm,
                                                  const char* norm_name, IntermediateWriter& writer,
                                                  runtime::Execution& run, Context& context) const {
  const Tensor result = projected.split_heads(heads);
  if (changes_projected()) writer.pass(name, result, run);
  if (norm) {
    const std::int64_t width = norm->width();
    const Tensor rows(projected.data(),
                      {projected.size(0), projected.size(1), projected.size(2) / width, width});
    norm->forward(rows, rows, context, writer.enter(norm_name));
  }
  return result;
}

Tensor MultiHeadAttention::Impl::project_queries(const ConstAnyTensor& x, std::int64_t num_keys,
                                                 const AttentionOptions& attention,
                                                 const TensorView<const double>& positions,
                                                 IntermediateWriter& writer,
                                                 runtime::Execution& run, Context& context) const {
  const Tensor heads = normalized_heads(project(*query, 0, x, run), options.num_heads,
                                        "projected_q", query_norm, "q_norm", writer, run, context);
  if (rotary) {
    rotate_heads(*rotary, heads,
                 {positions, attention.diagonal, attention.key_lens, num_keys, attention.cu_seqlens,
                  key_sequences(attention)},
                 false, context);
  }
  return heads;
}

Tensor MultiHeadAttention::Impl::project_keys(const ConstAnyTensor& x, std::int64_t first,
                                              const LengthsView& sequences,
                                              const TensorView<const double>& positions,
                                              IntermediateWriter& writer, runtime::Execution& run,
                                              Context& context) const {
  const Tensor heads = normalized_heads(project(*key, query_width(), x, run), kv_heads,
                                        "projected_k", key_norm, "k_norm", writer, run, context);
  if (rotary) {
    rotate_heads(
        *rotary, heads,
        {positions, Diagonal::offset(first), {}, first + heads.size(2), sequences, sequences},
        false, context);
  }
  return heads;
}

Tensor MultiHeadAttention::Impl::project_values(const ConstAnyTensor& x,
                                                runtime::Execution& run) const {
  return project(*value, query_width() + kv_width(), x, run).split_heads(kv_heads);
}

AttentionOptions MultiHeadAttention::Impl::with_terms(const AttentionOptions& attention) const {
  AttentionOptions result = attention;
  if (!result.scale) result.scale = options.scale;
  if (result.softcap == 0) result.softcap = options.softcap;
  if (!result.window) result.window = options.window;
  const AttentionPositions& positions = options.positions;
  if (positions.alibi && result.alibi_slopes.is_none()) {
    result.alibi_slopes = ConstTensor(slopes.data(), {options.num_heads});
  }
  if (positions.t5_bias && !result.t5_bias) {
    result.t5_bias = T5Bias{.table = t5_table,
                            .bidirectional = positions.t5_bias->bidirectional,
                            .max_distance = positions.t5_bias->max_distance};
  }
  if (positions.max_relative_distance) {
    if (result.relative_keys.is_none() && result.relative_values.is_none()) {
      result.relative_keys = relative_keys;
      result.relative_values = relative_values;
    }
  }
  if (options.sinks && result.sinks.is_none()) result.sinks = sinks;
  return result;
}

void MultiHeadAttention::Impl::check_not_packed(const AttentionOptions& attention) const {
  if (attention.cu_seqlens.is_none()) return;
  validation::fail_value("cu_seqlens", "some sequences", {"none in a call with a cache"});
}

void MultiHeadAttention::Impl::check_options(const AttentionOptions& attention,
                                             const ConstAnyTensor& query,
                                             std::int64_t num_keys) const {
  check_attention_options(with_terms(attention), {.batch = batch_of(query),
                                                  .query_heads = options.num_heads,
                                                  .key_heads = kv_heads,
                                                  .num_queries = query.size(-2),
                                                  .num_keys = num_keys,
                                                  .head_dim = head_dim,
                                                  .value_dim = head_dim});
}

void MultiHeadAttention::Impl::attend(const Tensor& q, const StoredTensor& k, const StoredTensor& v,
                                      const AnyTensor& to, const AttentionOptions& attention,
                                      IntermediateWriter& writer, runtime::Execution& run,
                                      Context& context) const {
  const std::int64_t batch = q.size(0), heads = options.num_heads, num_queries = q.size(2);
  const std::int64_t num_keys = k.size(2);
  // All memory is allocated before anything is written.
  const auto joined_shape = {batch, num_queries, query_width()};
  const Tensor joined(run.floats(validation::product("query", joined_shape), "multi-head output"),
                      joined_shape);
  float* scratch = output->take_scratch(joined, to, run);
  writer.copy("q", q, run);
  for (const auto& [name, rows] : {std::pair("k", &k), std::pair("v", &v)}) {
    const Tensor intermediate = writer.allocate(name, rows->shape());
    if (!intermediate.is_none()) widen(*rows, intermediate, run.kernels());
  }
  AttentionOptions terms = with_terms(attention);
  terms.mask = writer.knock_out(terms.mask, {batch, heads, num_queries, num_keys}, run);
  if (!terms.cu_seqlens.is_none() && !terms.mask.is_none()) {
    validation::fail_value("knock_out", "some pairs",
                           {"none, because ", validation::Name("cu_seqlens"), " is set"});
  }
  const StageWriter stages(terms, writer, {batch, heads, num_queries, num_keys});
  const Tensor head_output = writer.prepare("head_output", joined.split_heads(heads));
  const Tensor intermediate = writer.prepare("output", with_batch(to));

  attn::attend(q, k, v, joined.split_heads(heads), terms, context);
  stages.fill(run);
  writer.finish_value("head_output", head_output, joined.split_heads(heads), run);
  output->multiply(joined, output_bias.data(), with_batch(to), run, scratch);
  writer.finish_value("output", intermediate, with_batch(to), run);
}

void MultiHeadAttention::Impl::append(const ConstAnyTensor& k, const ConstAnyTensor& v,
                                      KeyValueCache& cache,
                                      const TensorView<const double>& positions,
                                      IntermediateWriter& writer, Context& context) const {
  runtime::Execution run(context);
  const Tensor keys = project_keys(k, cache.length(), {}, positions, writer, run, context);
  cache.append(keys, project_values(v, run));
}

void MultiHeadAttention::forward(const ConstAnyTensor& query, const ConstAnyTensor& key,
                                 const ConstAnyTensor& value, const AnyTensor& output,
                                 const MultiHeadAttentionCall& call, Context& context) const {
  const Impl& impl = *impl_;
  impl.check_query(query, output);
  impl.check_keys(query, key, value);
  if (call.cache) {
    impl.check_cache(*call.cache, batch_of(query));
    impl.check_not_packed(call.attention);
  }
  const TensorView<const double> key_positions = impl.check_positions(call, query, key);
  check_no_cache(call.interventions, call.cache);
  IntermediateWriter writer(*this, call.intermediates, query.rank() == 3, call.interventions);
  const std::int64_t past = call.cache ? call.cache->length() : 0;
  const AttentionOptions attention = shift_diagonal(call.attention, past);
  impl.check_options(attention, query, past + key.size(-2));
  if (call.cache) {
    impl.append(key, value, *call.cache, key_positions, writer, context);
    try {
      attend(query, *call.cache, output, attention, context, writer.enter(""), call.positions);
    } catch (...) {
      call.cache->truncate(past);
      throw;
    }
  } else {
    runtime::Execution run(context);
    const Tensor q =
        impl.project_queries(query, key.size(-2), attention, call.positions, writer, run, context);
    const Tensor k =
        impl.project_keys(key, 0, key_sequences(attention), key_positions, writer, run, context);
    const Tensor v = impl.project_values(value, run);
    writer.change("q", q, run);
    writer.change("k", k, run);
    writer.change("v", v, run);
    impl.attend(q, ConstTensor(k), ConstTensor(v), output, attention, writer, run, context);
  }
  writer.finish();
}

KeyValueCache MultiHeadAttention::make_cache(std::int64_t batch, std::int64_t capacity,
                                             ElementType type) const {
  return KeyValueCache(batch, impl_->kv_heads, impl_->head_dim, impl_->head_dim, capacity, type);
}

void MultiHeadAttention::append(const ConstAnyTensor& key, const ConstAnyTensor& value,
                                KeyValueCache& cache, Context& context,
                                const TensorView<const double>& positions) const {
  const Impl& impl = *impl_;
  require_rows("key", key, "key_dim", impl.key_dim);
  impl.check_keys(key, key, value);
  impl.check_cache(cache, batch_of(key));
  impl.check_positions("positions", positions, key);
  IntermediateWriter writer(*this, nullptr);
  impl.append(key, value, cache, positions, writer, context);
}

void MultiHeadAttention::attend(const ConstAnyTensor& query, const KeyValueCache& cache,
                                const AnyTensor& output, const AttentionOptions& attention,
                                Context& context, Intermediates* intermediates,
                                const TensorView<const double>& positions) const {
  const Impl& impl = *impl_;
  impl.check_query(query, output);
  impl.check_cache(cache, batch_of(query));
  impl.check_not_packed(attention);
  impl.check_options(attention, query, cache.length());
  impl.check_positions("positions", positions, query);
  IntermediateWriter writer(*this, intermediates, query.rank() == 3);
  runtime::Execution run(context);
  const Tensor q =
      impl.project_queries(query, cache.length(), attention, positions, writer, run, context);
  impl.attend(q, KeyValueCacheAccess::keys(cache), KeyValueCacheAccess::values(cache), output,
              attention, writer, run, context);
  writer.finish();
}

}  // namespace attn
