#include "attn/models/encoder_decoder_model.hpp"

#include <algorithm>
#include <cmath>

#include "attn/owned_tensor.hpp"
#include "elementwise.hpp"
#include "layers/intermediate_writer.hpp"
#include "layers/transformer.hpp"
#include "models/model_values.hpp"
#include "rows.hpp"
#include "runtime/execution.hpp"
#include "validation.hpp"

namespace attn {
namespace {

const EncoderDecoderOptions& checked(const EncoderDecoderOptions& options) {
  validation::require_at_least("vocab_size", options.vocab_size, 1);
  validation::require_at_least("max_positions", options.max_positions, 0);
  if (options.start_id < 0 || options.start_id >= options.vocab_size) {
    validation::fail_value("start_id", options.start_id,
                           {"an id from 0 to ", options.vocab_size - 1});
  }
  if (options.max_positions > 0 && options.sinusoidal) {
    validation::fail_value("sinusoidal", "a value", {"none with learned tables of positions"});
  }
  const std::int64_t width = layer_of(options.encoder, 0).d_model;
  if (const std::int64_t other = layer_of(options.decoder, 0).d_model; other != width) {
    validation::fail(ErrorCode::kInvalidArgument, "decoder",
                     {validation::Name("d_model"), " ", other}, {width, ", as in the encoder"});
  }
  return options;
}

void require_ids(const IdView& ids) {
  if (ids.rank() != 1 && ids.rank() != 2) {
    validation::fail_shape("ids", ids.shape(), {"rank 1 (N) or 2 (B, N)"});
  }
  validation::require_data("ids", ids);
}

/// The shape (B, N, width) of rows for `ids`, with batch size 1 if there is no batch.
std::array<std::int64_t, 3> shape_of_rows(const IdView& ids, std::int64_t width) {
  const bool batched = ids.rank() == 2;
  return {batched ? ids.size(0) : 1, ids.size(batched ? 1 : 0), width};
}

/// Requires that `rows` has data, and one row of this width for each of `ids`.
void require_rows_of_ids(const char* name, const Tensor& rows, const IdView& ids,
                         std::int64_t width) {
  const auto shape = shape_of_rows(ids, width);
  validation::require_same_shape(name, rows.shape(),
                                 std::span(shape).subspan(ids.rank() == 2 ? 0 : 1));
  validation::require_data(name, rows);
}

void require_finite(const char* stack, const ConstTensor& output) {
  if (is_finite_tensor(output)) return;
  validation::fail(ErrorCode::kUnsupported, stack, {"an output that is infinite or NaN"},
                   {"numbers within the range of float32"});
}

}  // namespace

EncoderDecoderModel::EncoderDecoderModel(const EncoderDecoderOptions& options, Context& context)
    : options_(checked(options)),
      embedding_({.num_embeddings = options.vocab_size,
                  .embedding_dim = layer_of(options.encoder, 0).d_model,
                  .scale_by_sqrt_dim = options.scale_embedding,
                  .weights = options.weights}),
      encoder_(options.encoder),
      decoder_(options.decoder) {
  const std::int64_t width = d_model();
  add_child("embedding", embedding_);
  if (options.max_positions > 0) {
    add_child("encoder_positions", encoder_positions_.emplace(options.max_positions, width));
    add_child("decoder_positions", decoder_positions_.emplace(options.max_positions, width));
  }
  if (options.sinusoidal) sinusoidal_.emplace(*options.sinusoidal);
  add_child("encoder", encoder_);
  add_child("decoder", decoder_);
  if (options.tied) {
    output_.emplace(embedding_, options.output_bias, context);
  } else {
    output_.emplace(width, options.vocab_size, options.output_bias, options.weights);
  }
  add_child("output", *output_);
  add_intermediates({"encoder_embedded", "decoder_embedded"});
}

void EncoderDecoderModel::embed(const IdView& ids, const Tensor& x,
                                const std::optional<LearnedPositionalEncoding>& positions,
                                std::int64_t past, Context& context) const {
  embedding_.forward(ids, ids.rank() == 2 ? x : x.select(0, 0), context);
  if (positions) positions->forward(x, x, past, {}, context);
  if (sinusoidal_) sinusoidal_->forward(x, x, static_cast<double>(past), {}, context);
}

void EncoderDecoderModel::check_not_packed(const AttentionOptions& attention) const {
  if (attention.cu_seqlens.is_none() || !(encoder_positions_ || sinusoidal_)) return;
  validation::fail_value("cu_seqlens", "some sequences",
                         {"none, because this model adds positions to its tokens; pad a batch "
                          "instead, and set valid_lens"});
}

void EncoderDecoderModel::encode(const IdView& ids, const Tensor& memory, const EncodeCall& call,
                                 Context& context) const {
  require_ids(ids);
  require_rows_of_ids("memory", memory, ids, d_model());
  check_not_packed(call.attention);
  IntermediateWriter writer(*this, call.intermediates, ids.rank() == 2);
  runtime::Execution run(context);
  const auto shape = shape_of_rows(ids, d_model());
  const Tensor x(run.floats(validation::product("ids", shape), "encoder–decoder model"), shape);
  embed(ids, x, encoder_positions_, 0, context);
  writer.copy("encoder_embedded", x, run);
  encoder_.forward(x, x, {.attention = call.attention, .intermediates = writer.enter("encoder")},
                   context);
  require_finite("encoder", x);
  copy(x, attn::with_batch(memory), run);
  writer.finish();
}

void EncoderDecoderModel::decode(const IdView& ids, const ConstTensor& memory, const Tensor& logits,
                                 const DecodeCall& call, Context& context) const {
  require_ids(ids);
  const bool batched = ids.rank() == 2;
  const std::int64_t width = d_model();
  const auto shape = shape_of_rows(ids, width);
  if (!call.hidden.is_none()) require_rows_of_ids("hidden", call.hidden, ids, width);
  std::int64_t rows = 0;
  if (!logits.is_none()) {
    require_rows("logits", logits, "vocab_size", options_.vocab_size);
    rows = logits.size(-2);
    if (logits.rank() != (batched ? 3 : 2) || batch_of(logits) != shape[0] || rows > shape[1]) {
      validation::fail_shape("logits", logits.shape(),
                             {"the same batch as the tokens and at most ", shape[1], " rows"});
    }
  }
  if (!call.state) {
    require_rows("memory", memory, "d_model", width);
    if (memory.rank() != (batched ? 3 : 2) || batch_of(memory) != shape[0]) {
      validation::fail_shape("memory", memory.shape(), {"the same batch as the tokens"});
    }
  }
  check_not_packed(call.self_attention);
  check_not_packed(call.cross_attention);
  IntermediateWriter writer(*this, call.intermediates, batched);
  runtime::Execution run(context);
  const Tensor x(run.floats(validation::product("ids", shape), "encoder–decoder model"), shape);
  const std::int64_t scaled_shape[] = {shape[0], options_.scale_output ? rows : 0, width};
  const Tensor scaled(run.floats(validation::product("ids", scaled_shape), "encoder–decoder model"),
                      scaled_shape);
  const std::int64_t past = call.state ? call.state->length() : 0;
  embed(ids, x, decoder_positions_, past, context);
  writer.copy("decoder_embedded", x, run);
  AttentionOptions self_attention = call.self_attention;
  self_attention.causal = true;
  decoder_.forward(x, memory.is_none() ? memory : attn::with_batch(memory), x,
                   {.self_attention = self_attention,
                    .cross_attention = call.cross_attention,
                    .state = call.state,
                    .intermediates = writer.enter("decoder")},
                   context);
  try {
    require_finite("decoder", x);
    if (rows > 0) {
      Tensor last = x.slice(1, shape[1] - rows, shape[1]);
      if (options_.scale_output) {
        copy(last, scaled, run);
        scale(scaled, static_cast<float>(1 / std::sqrt(static_cast<double>(width))), run);
        last = scaled;
      }
      output_->forward(last, attn::with_batch(logits), context, writer.enter("output"));
    }
  } catch (...) {
    if (call.state) call.state->truncate(past);
    throw;
  }
  if (!call.hidden.is_none()) copy(x, attn::with_batch(call.hidden), run);
  writer.finish();
}

EncoderDecoderModel::State EncoderDecoderModel::start(const ConstTensor& memory,
                                                      std::int64_t capacity, Context& context,
                                                      ElementType type) const {
  return decoder_.start(memory, capacity, context, type);
}

std::vector<std::int64_t> EncoderDecoderModel::generate(const IdView& ids,
                                                        const GenerationOptions& options,
                                                        Context& context) const {
  if (ids.rank() != 1) validation::fail_shape("ids", ids.shape(), {"rank 1 (N)"});
  validation::require_at_least("ids", ids.size(0), 1);
  validation::require_at_least("max_new_tokens", options.max_new_tokens, 0);
  if (options_.max_positions > 0 && options.max_new_tokens > options_.max_positions) {
    validation::fail_value("max_new_tokens", options.max_new_tokens,
                           {"at most ", options_.max_positions, ", the number of positions"});
  }
  OwnedTensor memory({ids.size(0), d_model()}), logits({1, options_.vocab_size});
  encode(ids, memory, {}, context);
  State state = start(memory, 0, context, options.cache_type);
  std::int64_t last = options_.start_id;
  std::vector<std::int64_t> said;
  for (std::int64_t step = 0; step < options.max_new_tokens; ++step) {
    decode(IdView(&last, {1}), {}, logits, {.state = &state}, context);
    last = choose_token(ConstTensor(logits).select(0, 0), options.sampling, step);
    said.push_back(last);
    if (std::ranges::find(options.stop_ids, last) != options.stop_ids.end()) break;
  }
  return said;
}

}  // namespace attn
