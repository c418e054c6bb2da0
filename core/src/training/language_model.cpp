// Records language models on a tape. No steps are defined here, because the layers and functions
// used here record their own steps.

#include "attn/models/language_model.hpp"

#include <cstdint>
#include <span>

#include "attn/training/functions.hpp"
#include "training/recording.hpp"
#include "validation.hpp"

namespace attn {
namespace {

/// Throws if the ids contain the padding token of a model whose positions do not count that token.
void require_no_padding(const IdView& ids, std::int64_t padding_id) {
  const std::int64_t length = ids.size(-1);
  const std::int64_t count = ids.rank() == 2 ? ids.size(0) * length : length;
  for (std::int64_t t = 0; t < count; ++t) {
    const std::int64_t id = ids.rank() == 2 ? ids(t / length, t % length) : ids(t);
    if (id != padding_id) continue;
    validation::fail_value("ids", id,
                           {"no padding tokens when a tape records a model whose positions do not "
                            "count them"});
  }
}

}  // namespace

Variable LanguageModel::forward(Tape& tape, const IdView& ids,
                                const LanguageModelCall& call) const {
  using training::require_none;
  check_ids(ids);
  check_call(ids.shape(), call);
  if (!output_) {
    validation::fail(ErrorCode::kUnsupported, "logits", {"a model without an output layer"},
                     {"a model with one"});
  }
  const bool adds_positions = positions_ || sinusoidal_;
  require_none("positions", adds_positions && !call.positions.is_none());
  require_none("caches", !call.caches.empty());
  require_none("hidden", !call.hidden.is_none());
  require_none("pooled", !call.pooled.is_none());
  require_none("intermediates", call.intermediates);
  require_none("interventions", call.interventions);
  if (options_.padding_id) require_no_padding(ids, *options_.padding_id);

  Variable x = embedding_->forward(tape, ids);
  if (project_in_) x = project_in_->forward(x);
  if (positions_) x = positions_->forward(x, options_.first_position);
  if (sinusoidal_) x = sinusoidal_->forward(x);
  if (token_types_) {
    const std::int64_t zero = 0;
    const std::int64_t none[] = {0, 0};
    const IdView all_zero(TensorView<const std::int64_t>(
        &zero, ids.shape(), std::span(none).first(ids.shape().size())));
    x = x + token_types_->forward(tape, call.token_types.rank() == 0 ? all_zero : call.token_types);
  }
  if (embedding_norm_) x = embedding_norm_->forward(x);
  training::record_intermediate(*this, "embedded", x);

  AttentionOptions attention = call.attention;
  attention.causal = attention.causal || options_.causal;
  x = stack_.forward(x, {.attention = attention, .positions = call.positions});

  if (transform_) {
    x = apply_activation(transform_->forward(x), *options_.transform);
    x = transform_norm_->forward(x);
  }
  if (project_out_) x = project_out_->forward(x);
  const Variable logits = output_->forward(x);
  const float c = options_.final_softcap;
  return c > 0 ? c * apply_activation(1 / c * logits, Activation::kTanh) : logits;
}

}  // namespace attn
