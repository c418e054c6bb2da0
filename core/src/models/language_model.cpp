#include "attn/models/language_model.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "attn/owned_tensor.hpp"
#include "elementwise.hpp"
#include "heap_sort.hpp"
#include "layers/contributions.hpp"
#include "layers/intermediate_writer.hpp"
#include "layers/module_access.hpp"
#include "layers/transformer.hpp"
#include "models/model_values.hpp"
#include "rows.hpp"
#include "runtime/execution.hpp"
#include "validation.hpp"

namespace attn {
namespace {

const LanguageModelOptions& checked(const LanguageModelOptions& options) {
  const auto contradiction = [](const char* name, const char* needs) {
    validation::fail_value(name, "a value", {needs});
  };
  validation::require_at_least("vocab_size", options.vocab_size, 0);
  validation::require_at_least("embedding_dim", options.embedding_dim, 0);
  if (options.embedding_dim > 0 && options.vocab_size == 0) {
    contradiction("embedding_dim", "0 without a vocabulary");
  }
  validation::require_at_least("max_positions", options.max_positions, 0);
  validation::require_at_least("first_position", options.first_position, 0);
  validation::require_at_least("num_token_types", options.num_token_types, 0);
  validation::require_finite_at_least_zero("final_softcap", options.final_softcap);
  if (options.padding_id && options.first_position < 1) {
    contradiction("padding_id", "none if the first token uses the first row of the table");
  }
  if (options.max_positions > 0 && options.sinusoidal) {
    contradiction("sinusoidal", "none with a learned table of positions");
  }
  if (options.transform && (!options.output || options.vocab_size == 0)) {
    contradiction("transform", "none without an output layer");
  }
  return options;
}

std::int64_t width_of(const LanguageModelOptions& options) {
  const TransformerEncoderOptions& stack = options.stack;
  return stack.layers.empty() ? stack.layer.d_model : stack.layers.front().d_model;
}

[[noreturn]] void fail_missing(const char* name, const char* layer) {
  validation::fail(ErrorCode::kUnsupported, name, {"a model without ", layer},
                   {"a model with one"});
}

void require_positions(const TensorView<const double>& positions, std::int64_t batch,
                       std::int64_t length) {
  if (positions.rank() == 2) {
    validation::require_shape("positions", positions, {batch, length});
  } else {
    validation::require_shape("positions", positions, {length});
  }
  validation::require_data("positions", positions);
}

}  // namespace

LanguageModel::LanguageModel(const LanguageModelOptions& options, Context& context)
    : options_(checked(options)), stack_(options.stack) {
  const std::int64_t width = width_of(options), narrow = options.embedding_dim;
  if (options.vocab_size > 0) {
    add_child("embedding",
              embedding_.emplace(EmbeddingOptions{.num_embeddings = options.vocab_size,
                                                  .embedding_dim = narrow > 0 ? narrow : width,
                                                  .scale_by_sqrt_dim = options.scale_embedding,
                                                  .weights = options.weights}));
  }
  if (narrow > 0) {
    add_child("project_in", project_in_.emplace(narrow, width, false, options.weights));
  }
  if (options.max_positions > 0) {
    add_child("positions", positions_.emplace(options.max_positions, width));
  }
  if (options.sinusoidal) sinusoidal_.emplace(*options.sinusoidal);
  if (options.num_token_types > 0) {
    add_child("token_types",
              token_types_.emplace(EmbeddingOptions{.num_embeddings = options.num_token_types,
                                                    .embedding_dim = width}));
  }
  if (options.embedding_norm) {
    add_child("embedding_norm", embedding_norm_.emplace(width, *options.embedding_norm));
  }
  add_child("encoder", stack_);
  if (options.transform) {
    add_child("transform", transform_.emplace(width, width, true, options.weights));
    add_child("transform_norm",
              transform_norm_.emplace(width, LayerNormOptions{.eps = options.transform_norm_eps}));
  }
  if (options.output && embedding_) {
    if (narrow > 0) {
      add_child("project_out", project_out_.emplace(width, narrow, false, options.weights));
    }
    if (options.tied) {
      output_.emplace(*embedding_, options.output_bias, context);
    } else {
      output_.emplace(narrow > 0 ? narrow : width, options.vocab_size, options.output_bias,
                      options.weights);
    }
    add_child("output", *output_);
  }
  if (options.pooler) {
    add_child("pooler", pooler_.emplace(width, width, true, options.weights));
  }
  add_intermediates({"embedded"});
}

void LanguageModel::check_ids(const IdView& ids) const {
  if (ids.rank() != 1 && ids.rank() != 2) {
    validation::fail_shape("ids", ids.shape(), {"rank 1 (N) or 2 (B, N)"});
  }
  validation::require_data("ids", ids);
  if (!embedding_) fail_missing("ids", "an embedding");
}

void LanguageModel::check_call(std::span<const std::int64_t> tokens,
                               const LanguageModelCall& call) const {
  if (call.token_types.rank() != 0) {
    if (!token_types_) fail_missing("token_types", "a table of token types");
    validation::require_same_shape("token_types", call.token_types.shape(), tokens);
  }
  if (!call.attention.cu_seqlens.is_none() && (positions_ || sinusoidal_) &&
      call.positions.is_none()) {
    validation::fail_value("cu_seqlens", "some sequences without positions",
                           {"positions that restart in each sequence, because this model adds "
                            "positions to its tokens"});
  }
}

void LanguageModel::forward(const IdView& ids, const Tensor& logits, const LanguageModelCall& call,
                            Context& context) const {
  check_ids(ids);
  run(ids, {}, logits, call, context);
}

void LanguageModel::forward(const ConstTensor& x, const Tensor& logits,
                            const LanguageModelCall& call, Context& context) const {
  require_rows("x", x, "d_model", d_model());
  run({}, x, logits, call, context);
}

void LanguageModel::add_positions(const IdView& ids, const Tensor& x, const LanguageModelCall& call,
                                  std::int64_t past, Context& context) const {
  const TensorView<const double>& given = call.positions;
  const bool counts_tokens = given.is_none() && options_.padding_id && ids.rank() != 0;
  if (given.is_none() && !counts_tokens) {
    return positions_->forward(x, x, options_.first_position + past, {}, context);
  }
  const std::int64_t batch = x.size(0), length = x.size(1), width = x.size(2);
  if (!given.is_none()) require_positions(given, batch, length);
  const ConstTensor table = positions_->parameter("weight");
  const std::int64_t places = options_.max_positions - options_.first_position;
  for (std::int64_t b = 0; b < batch; ++b) {
    std::int64_t counted = past;
    for (std::int64_t i = 0; i < length; ++i) {
      double position = 0;
      if (counts_tokens) {
        const std::int64_t id = ids.rank() == 2 ? ids(b, i) : ids(i);
        position = id == *options_.padding_id ? -1 : static_cast<double>(counted++);
      } else {
        position = given.rank() == 2 ? given(b, i) : given(i);
        if (!(position >= 0 && position == std::floor(position))) {
          validation::fail_value("positions", position, {"whole numbers of at least 0"});
        }
      }
      if (position >= static_cast<double>(places)) {
        validation::fail_value("positions", position,
                               {"positions below ", places, ", the length of the model's table"});
      }
      const float* row = &table(options_.first_position + static_cast<std::int64_t>(position), 0);
      float* values = &x(b, i, 0);
      for (std::int64_t c = 0; c < width; ++c) values[c] += row[c];
    }
  }
}

void LanguageModel::add_sinusoids(const Tensor& x, const TensorView<const double>& given,
                                  std::int64_t past, Context& context) const {
  if (given.is_none()) return sinusoidal_->forward(x, x, static_cast<double>(past), {}, context);
  const std::int64_t batch = x.size(0), length = x.size(1), width = x.size(2);
  require_positions(given, batch, length);
  runtime::Execution run(context);
  const auto count = static_cast<std::size_t>(length);
  const std::span positions(run.take<double>(length, "positions"), count);
  const Tensor encoding(run.floats(validation::product("x", {length, width}), "positions"),
                        {length, width});
  const PositionalEncodingOptions& options = sinusoidal_->options();
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::size_t i = 0; i < count; ++i) {
      const auto row = static_cast<std::int64_t>(i);
      positions[i] = given.rank() == 2 ? given(b, row) : given(row);
    }
    sinusoidal_encoding_at(positions, encoding, {.base = options.base, .layout = options.layout},
                           context);
    const Tensor rows = x.select(0, b);
    add(rows, encoding, rows, run);
  }
}

void LanguageModel::fail_overflow(const IdView& ids, const ConstTensor& x, LanguageModelCall call,
                                  Context& context) const {
  const std::string embedded = "embedded", layers = "encoder.layers.", norm = "encoder.norm.output";
  std::vector<std::string> names = {embedded};
  for (std::size_t l = 0; l < stack_.layers().size(); ++l) {
    names.push_back(layers + std::to_string(l) + ".output");
  }
  if (options_.stack.final_norm) names.push_back(norm);
  Intermediates intermediates(names);
  call.intermediates = &intermediates;
  call.hidden = call.pooled = {};
  run(ids, x, {}, call, context, /*check_overflow=*/false);
  // The caller passed vectors that are not finite, so no layer caused the overflow.
  if (ids.rank() == 0 && !is_finite_tensor(intermediates[embedded])) return;
  for (const std::string& name : names) {
    if (is_finite_tensor(intermediates[name])) continue;
    const std::string layer = name.substr(0, name.rfind('.'));
    validation::fail(ErrorCode::kUnsupported, layer, {"an output that is infinite or NaN"},
                     {"numbers within the range of float32; this is the model's first output "
                      "outside that range"});
  }
}

void LanguageModel::run(const IdView& ids, const ConstTensor& given, const Tensor& logits,
                        const LanguageModelCall& call, Context& context,
                        bool check_overflow) const {
  const bool from_ids = given.is_none();
  const bool batched = from_ids ? ids.rank() == 2 : given.rank() == 3;
  const std::int64_t length = from_ids ? ids.size(-1) : given.size(-2);
  const std::int64_t batch = !batched ? 1 : from_ids ? ids.size(0) : given.size(0);
  const std::int64_t width = d_model();
  std::int64_t rows = 0;
  if (!logits.is_none()) {
    if (!output_) fail_missing("logits", "an output layer");
    require_rows("logits", logits, "vocab_size", output_->out_features());
    rows = logits.size(-2);
    if (logits.rank() != (batched ? 3 : 2) || attn::with_batch(logits).size(0) != batch ||
        rows > length) {
      validation::fail_shape("logits", logits.shape(),
                             {"the same batch as the tokens and at most ", length, " rows"});
    }
  }
  if (!call.hidden.is_none()) {
    const std::int64_t shape[] = {batch, length, width};
    validation::require_same_shape("hidden", call.hidden.shape(),
                                   std::span(shape).subspan(batched ? 0 : 1));
    validation::require_data("hidden", call.hidden);
  }
  if (!call.pooled.is_none()) {
    if (!pooler_) fail_missing("pooled", "a pooler");
    const std::int64_t shape[] = {batch, width};
    validation::require_same_shape("pooled", call.pooled.shape(),
                                   std::span(shape).subspan(batched ? 0 : 1));
    validation::require_data("pooled", call.pooled);
    validation::require_at_least("ids", length, 1);
  }
  const std::int64_t tokens[] = {batch, length};
  check_call(std::span(tokens).subspan(batched ? 0 : 1), call);
  if (!call.caches.empty() && !options_.causal) {
    validation::fail(ErrorCode::kUnsupported, "caches", {"caches"},
                     {"none; tokens of this model also attend to later tokens"});
  }
  if (!call.attention.cu_seqlens.is_none() && !call.pooled.is_none()) {
    validation::fail_value("cu_seqlens", "some sequences",
                           {"none, because the pooler reads only the first token"});
  }
  check_no_cache(call.interventions, !call.caches.empty());
  IntermediateWriter writer(*this, call.intermediates, batched, call.interventions);
  runtime::Execution run(context);
  const auto take = [&](std::int64_t count, std::int64_t columns) {
    const std::int64_t shape[] = {batch, count, columns};
    return Tensor(run.floats(validation::product("ids", shape), "language model"), shape);
  };
  const Tensor x = take(length, width);
  const Tensor extra = take(token_types_ || transform_ ? length : 0, width);
  const Tensor narrow = take(project_in_ ? length : 0, options_.embedding_dim);
  const bool is_pooled = !call.pooled.is_none();
  const Tensor pooled = is_pooled ? take(1, width).select(1, 0) : Tensor();
  const Tensor embedded = writer.prepare("embedded", x);

  // The layers expect a batch dimension only if the input has one.
  const auto as_ids = [&](const Tensor& tensor) { return batched ? tensor : tensor.select(0, 0); };
  if (from_ids && project_in_) {
    embedding_->forward(ids, as_ids(narrow), context);
    project_in_->forward(narrow, x, context, writer.enter("project_in"));
  } else if (from_ids) {
    embedding_->forward(ids, as_ids(x), context);
  } else {
    copy(attn::with_batch(given), x, run);
  }
  const std::int64_t past = call.caches.empty() ? 0 : call.caches[0].length();
  if (positions_) add_positions(ids, x, call, past, context);
  if (sinusoidal_) add_sinusoids(x, call.positions, past, context);
  if (token_types_) {
    const IdView& types = call.token_types;
    const std::int64_t zero = 0;
    const std::int64_t none[] = {0, 0};
    const IdView all_zero(TensorView<const std::int64_t>(&zero, tokens, none));
    const bool are_given = types.rank() != 0;
    token_types_->forward(are_given ? types : all_zero, are_given ? as_ids(extra) : extra, context);
    add(x, extra, x, run);
  }
  if (embedding_norm_) {
    embedding_norm_->forward(x, x, context, writer.enter("embedding_norm"));
  }
  writer.finish_value("embedded", embedded, x, run);

  AttentionOptions attention = call.attention;
  attention.causal = attention.causal || options_.causal;
  const bool is_rotary = std::ranges::any_of(stack_.layers(), [](const auto& layer) {
    return layer.options().positions.rotary.has_value();
  });
  stack_.forward(
      x, x,
      {.attention = attention,
       .positions =
           (positions_ || sinusoidal_) && !is_rotary ? TensorView<const double>() : call.positions,
       .caches = call.caches,
       .intermediates = writer.enter("encoder")},
      context);
  try {
    if (check_overflow && !is_finite_tensor(x)) {
      for (KeyValueCache& cache : call.caches) cache.truncate(past);
      fail_overflow(ids, given, call, context);
    }
    if (is_pooled) {
      pooler_->forward(x.select(1, 0), pooled, context, writer.enter("pooler"));
      apply_activation(pooled, pooled, Activation::kTanh, context);
    }
    if (rows > 0) {
      const auto last_rows = [&](const Tensor& tensor) {
        return tensor.size(1) == 0 ? tensor : tensor.slice(1, length - rows, length);
      };
      write_logits(last_rows(x), last_rows(extra), last_rows(narrow), attn::with_batch(logits),
                   writer, context);
    }
  } catch (...) {
    for (KeyValueCache& cache : call.caches) cache.truncate(past);
    throw;
  }
  if (!call.hidden.is_none()) copy(x, attn::with_batch(call.hidden), run);
  if (is_pooled) copy(pooled, batched ? call.pooled : call.pooled.unsqueeze(0), run);
  writer.finish();
}

void LanguageModel::write_logits(Tensor x, const Tensor& wide, const Tensor& narrow,
                                 const Tensor& logits, IntermediateWriter& writer,
                                 Context& context) const {
  if (transform_) {
    transform_->forward(x, wide, context, writer.enter("transform"));
    apply_activation(wide, wide, *options_.transform, context);
    transform_norm_->forward(wide, wide, context, writer.enter("transform_norm"));
    x = wide;
  }
  if (project_out_) {
    project_out_->forward(x, narrow, context, writer.enter("project_out"));
    x = narrow;
  }
  output_->forward(x, logits, context, writer.enter("output"));
  if (const float c = options_.final_softcap; c > 0) {
    runtime::Execution run(context);
    scale(logits, 1 / c, run);
    apply_activation(logits, logits, Activation::kTanh, context);
    scale(logits, c, run);
  }
}

void LanguageModel::unembed(const ConstTensor& x, const Tensor& logits, Context& context) const {
  if (!output_) fail_missing("logits", "an output layer");
  const std::int64_t width = d_model();
  require_rows("x", x, "d_model", width);
  require_rows_like("logits", logits, x, x.size(-2), output_->out_features());
  const ConstTensor from = attn::with_batch(x);
  const std::int64_t batch = from.size(0), length = from.size(1);
  runtime::Execution run(context);
  const auto take = [&](std::int64_t columns) {
    const std::int64_t shape[] = {batch, length, columns};
    return Tensor(run.floats(validation::product("x", shape), "language model"), shape);
  };
  const Tensor rows = take(width), wide = take(transform_ ? width : 0);
  const Tensor narrow = take(project_out_ ? options_.embedding_dim : 0);
  if (stack_.norm_) {
    normalize(*stack_.norm_, from, rows, context, nullptr);
  } else {
    copy(from, rows, run);
  }
  IntermediateWriter writer(*this, nullptr);
  write_logits(rows, wide, narrow, attn::with_batch(logits), writer, context);
}

Contributions LanguageModel::contributions(const IdView& ids, std::int64_t target,
                                           std::int64_t position, const LanguageModelCall& call,
                                           Context& context) const {
  if (!output_) fail_missing("target", "an output layer");
  if (ids.rank() != 1) validation::fail_shape("ids", ids.shape(), {"rank 1 (N)"});
  const std::int64_t vocabulary = output_->out_features();
  if (target < 0 || target >= vocabulary) {
    validation::fail_value("target", target, {"a token id from 0 to ", vocabulary - 1});
  }
  require_position(position, ids.size(0));
  if (!call.caches.empty() || !call.hidden.is_none() || !call.pooled.is_none() ||
      call.intermediates || call.interventions) {
    validation::fail_value("contributions", "a cache, results or interventions",
                           {"none; the call only takes attention, positions and token types"});
  }
  require_residual_sum(stack_);
  if (transform_) {
    validation::fail(ErrorCode::kUnsupported, "transform",
                     {"an activation between the last layer and the output layer"},
                     {"an output layer that reads the last layer's output"});
  }
  const std::string path = "encoder.";
  Intermediates shown(contribution_names(stack_, path));
  LanguageModelCall inner = call;
  inner.intermediates = &shown;
  forward(ids, {}, inner, context);

  const bool is_tied = options_.tied;
  OwnedTensor row({1, output_->in_features()});
  ModuleAccess::read(*this, is_tied ? "embedding.weight" : "output.weight", row, target);
  std::vector<double> direction(row.values().begin(), row.values().end());
  if (project_out_) {
    OwnedTensor matrix({project_out_->out_features(), d_model()});
    ModuleAccess::read(*this, "project_out.weight", matrix, 0);
    std::vector<double> wide(static_cast<std::size_t>(d_model()));
    for (std::size_t i = 0; i < direction.size(); ++i) {
      const float* weights = &matrix(static_cast<std::int64_t>(i), 0);
      for (std::size_t c = 0; c < wide.size(); ++c) wide[c] += direction[i] * double{weights[c]};
    }
    direction = std::move(wide);
  }
  Contributions result = contributions_of(stack_, shown, path, std::move(direction), position);
  if (options_.output_bias) {
    const double bias{parameter("output.bias")(target)};
    result.bias += bias;
    result.total += bias;
  }
  return result;
}

std::vector<KeyValueCache> LanguageModel::make_caches(std::int64_t batch, std::int64_t capacity,
                                                      ElementType type) const {
  if (!options_.causal) {
    validation::fail(ErrorCode::kUnsupported, "make_caches",
                     {"a model whose tokens attend to later tokens"}, {"a causal model"});
  }
  return stack_.make_caches(batch, capacity, type);
}

std::int64_t choose_token(const ConstTensor& logits, const SamplingOptions& options,
                          std::int64_t step) {
  validation::require_shape("logits", logits, {-1});
  validation::require_data("logits", logits);
  validation::require_at_least("logits", logits.size(0), 1);
  validation::require_finite_at_least_zero("temperature", options.temperature);
  validation::require_at_least("top_k", options.top_k, 0);
  validation::require_at_least("step", step, 0);
  const std::int64_t count = logits.size(0);
  std::int64_t best = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    if (std::isnan(logits(i))) {
      validation::fail(ErrorCode::kInvalidArgument, "logits", {"NaN at ", i}, {"numbers"});
    }
    if (logits(i) > logits(best)) best = i;
  }
  const double largest = static_cast<double>(logits(best));
  if (largest == -INFINITY)
    validation::fail_value("logits", "only −∞", {"at least one larger value"});
  if (options.temperature == 0 || largest == INFINITY) return best;

  struct Candidate {
    std::int64_t token;
    double weight;
  };
  std::vector<Candidate> candidates;
  candidates.reserve(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    const double below = static_cast<double>(logits(i)) - largest;
    candidates.push_back({i, std::exp(below / options.temperature)});
  }
  heap_sort(candidates, [&](const Candidate& candidate) {
    return std::pair(-logits(candidate.token), candidate.token);
  });
  if (options.top_k > 0 && options.top_k < count) {
    candidates.resize(static_cast<std::size_t>(options.top_k));
  }
  double total = 0;
  for (const Candidate& candidate : candidates) total += candidate.weight;
  const auto words = options.random.words(static_cast<std::uint64_t>(step) / 4);
  const double u = static_cast<double>(words[step % 4] >> 8) * 0x1p-24;
  double sum = 0;
  for (const Candidate& candidate : candidates) {
    sum += candidate.weight;
    if (sum > u * total) return candidate.token;
  }
  return candidates.front().token;
}

std::vector<std::int64_t> LanguageModel::generate(const IdView& ids,
                                                  const GenerationOptions& options,
                                                  Context& context) const {
  if (ids.rank() != 1) validation::fail_shape("ids", ids.shape(), {"rank 1 (N)"});
  validation::require_at_least("ids", ids.size(0), 1);
  validation::require_at_least("max_new_tokens", options.max_new_tokens, 0);
  if (!output_) fail_missing("generate", "an output layer");
  // The last token is returned but not processed.
  const std::int64_t places = options_.max_positions - options_.first_position;
  if (options_.max_positions > 0 && ids.size(0) + options.max_new_tokens - 1 > places) {
    validation::fail_value("max_new_tokens", options.max_new_tokens,
                           {"at most ", std::max<std::int64_t>(places - ids.size(0) + 1, 0),
                            ", because the model has ", places, " positions"});
  }
  std::vector<KeyValueCache> caches = make_caches(1, 0, options.cache_type);
  std::vector<float> values(static_cast<std::size_t>(output_->out_features()));
  const Tensor logits(values.data(), {1, output_->out_features()});
  LanguageModelCall call;
  call.caches = caches;
  std::vector<std::int64_t> said;
  for (std::int64_t step = 0; step < options.max_new_tokens; ++step) {
    if (step == 0) {
      forward(ids, logits, call, context);
    } else {
      forward(IdView(&said.back(), {1}), logits, call, context);
    }
    said.push_back(choose_token(logits.select(0, 0), options.sampling, step));
    if (std::ranges::find(options.stop_ids, said.back()) != options.stop_ids.end()) break;
  }
  return said;
}

}  // namespace attn
