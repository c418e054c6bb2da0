#include "pieces/attention_call.hpp"

#include <algorithm>
#include <random>
#include <span>
#include <utility>

#include "attn/positions/alibi.hpp"
#include "pieces/kinds.hpp"

namespace attn_fuzz {

using reference::Array;
using reference::Scalar;

attn::AttentionPositions choose_distances(Choices& choices) {
  attn::AttentionPositions positions;
  positions.alibi = choices.one_in(4);
  if (choices.one_in(4)) positions.max_relative_distance = choices.integer(0, 3);
  if (choices.one_in(4)) {
    positions.t5_bias = attn::T5BiasOptions{
        .num_buckets = 4, .max_distance = 8, .bidirectional = choices.one_in(2)};
  }
  return positions;
}

OwnTerms choose_own_terms(Choices& choices) {
  OwnTerms own;
  own.sinks = choices.one_in(4);
  own.positions = choose_distances(choices);
  if (choices.one_in(4)) own.scale = 0.3F;
  if (choices.one_in(4)) own.softcap = 2;
  if (choices.one_in(4)) {
    own.window = attn::Window{.left = choices.integer(0, 5)};
    if (choices.one_in(2)) own.window->right = choices.integer(0, 5);
  }
  return own;
}

void add_own_terms(reference::AttentionOf<Scalar>& attention, const OwnTerms& own,
                   const ScoreSizes& sizes, const Parameters& parameters,
                   const std::string& prefix) {
  if (!attention.scale && own.scale) attention.scale = static_cast<double>(*own.scale);
  if (attention.softcap == 0) attention.softcap = static_cast<double>(own.softcap);
  if (!attention.window_left && !attention.window_right && own.window) {
    attention.window_left = own.window->left;
    attention.window_right = own.window->right;
  }
  if (own.sinks && !attention.sinks.given()) attention.sinks = parameters.at(prefix + "sinks");
  if (own.positions.alibi && !attention.alibi_slopes.given()) {
    std::vector<float> slopes(static_cast<std::size_t>(sizes.heads));
    attn::alibi_slopes(slopes);
    attention.alibi_slopes = Scalars({sizes.heads}, slopes);
  }
  if (own.positions.t5_bias && !attention.t5_table.given()) {
    attention.t5_table = parameters.at(prefix + "relative_attention_bias.weight");
    attention.t5_bidirectional = own.positions.t5_bias->bidirectional;
    attention.t5_max_distance = own.positions.t5_bias->max_distance;
  }
  const bool relative = attention.relative_keys.given() || attention.relative_values.given();
  if (own.positions.max_relative_distance && !relative) {
    const std::vector<std::int64_t> shape{1, 2 * *own.positions.max_relative_distance + 1,
                                          sizes.head_dim};
    attention.relative_keys = reshaped(parameters.at(prefix + "relative_keys"), shape);
    attention.relative_values = reshaped(parameters.at(prefix + "relative_values"), shape);
  }
}

AttentionCall::AttentionCall(Choices& choices, const ScoreSizes& sizes,
                             std::shared_ptr<Terms> terms, const Kinds& kinds)
    : terms_(std::move(terms)) {
  const auto entries = static_cast<std::size_t>(sizes.batch);
  const bool of_rows = !kinds.of_each_token;
  if (of_rows && choices.one_in(3)) {
    rules_.key_lens = Array({sizes.batch});
    for (std::int64_t b = 0; b < sizes.batch; ++b) {
      key_lens_.push_back(static_cast<std::int32_t>(choices.integer(0, sizes.keys)));
      rules_.key_lens.at({b}) = key_lens_.back();
    }
    options_.key_lens = {key_lens_.data(), {sizes.batch}};
  }
  std::vector<double> offsets(entries, 0.0);
  switch (choices.integer(0, 2)) {
    case 0:
      break;
    case 1:
      offsets.assign(entries, static_cast<double>(choices.integer(-2, 4)));
      options_.diagonal = attn::Diagonal::offset(static_cast<std::int64_t>(offsets[0]));
      break;
    default:
      options_.diagonal = attn::Diagonal::bottom_right();
      is_at_the_end_ = true;
      for (std::size_t b = 0; b < entries; ++b) {
        const std::int64_t keys = key_lens_.empty() ? sizes.keys : key_lens_[b];
        offsets[b] = static_cast<double>(keys - sizes.queries);
      }
  }
  rules_.relative_offset = Array({sizes.batch}, offsets);
  rules_.window_offset = rules_.relative_offset;
  rules_.causal_offset = rules_.relative_offset;
  options_.causal = choices.one_in(2);
  if (choices.one_in(4)) {
    options_.window = attn::Window{.left = choices.integer(0, 5), .right = choices.integer(0, 5)};
    rules_.window_left = options_.window->left;
    rules_.window_right = options_.window->right;
  }
  if (choices.one_in(4)) {
    options_.softcap = 1.5F;
    rules_.softcap = 1.5;
  }
  if (choices.one_in(4)) {
    options_.scale = -0.4F;
    rules_.scale = static_cast<double>(-0.4F);
  }
  if (of_rows && choices.one_in(4)) {
    const bool per_query = choices.one_in(2);
    rules_.valid_lens = per_query ? Array({sizes.batch, sizes.queries}) : Array({sizes.batch});
    std::mt19937_64 engine(choices.bits<std::uint16_t>());
    for (double& length : rules_.valid_lens.values) {
      length = static_cast<double>(engine() % static_cast<std::uint64_t>(sizes.keys + 1));
      valid_lens_.push_back(static_cast<std::int32_t>(length));
    }
    options_.valid_lens = {valid_lens_.data(),
                           std::span<const std::int64_t>(rules_.valid_lens.shape)};
  }
  // A shape of any rank. Any of its sizes may be 1, and the last size may be less than the number
  // of keys.
  const auto broadcast_shape = [&] {
    std::vector<std::int64_t> shape{sizes.batch, sizes.heads, sizes.queries, sizes.keys};
    const std::int64_t ones = choices.integer(0, 15);
    for (std::size_t i = 0; i < 4; ++i) {
      if ((ones >> i & 1) != 0) shape[i] = 1;
    }
    if (shape[3] > 2 && choices.one_in(4)) shape[3] = choices.integer(2, shape[3]);
    std::int64_t first = choices.integer(0, 3);
    for (; first > 0; --first) shape.erase(shape.begin());
    return shape;
  };
  if (of_rows && choices.one_in(4)) {
    rules_.mask = Array(broadcast_shape());
    std::mt19937_64 engine(choices.bits<std::uint16_t>());
    for (double& attends : rules_.mask.values) {
      mask_.push_back(engine() % 4 != 0);
      attends = mask_.back();
    }
    options_.mask = {mask_.data(), std::span<const std::int64_t>(rules_.mask.shape)};
  }
  if (of_rows && !choices.one_in(3)) bias_ = terms_->choose(choices, broadcast_shape(), true);
  if (choices.one_in(3)) alibi_slopes_ = terms_->choose(choices, {sizes.heads});
  if (choices.one_in(3)) {
    const bool bidirectional = choices.one_in(2), wide = choices.one_in(2);
    t5_table_ = terms_->choose(choices, {wide ? 6 : 4, sizes.heads});
    options_.t5_bias.emplace();
    options_.t5_bias->bidirectional = bidirectional;
    options_.t5_bias->max_distance = wide ? 20 : 8;
    rules_.t5_bidirectional = bidirectional;
    rules_.t5_max_distance = options_.t5_bias->max_distance;
  }
  if (choices.one_in(3)) {
    const std::int64_t rows = 2 * choices.integer(0, 3) + 1, which = choices.integer(0, 2);
    const auto table = [&] {
      std::vector<std::int64_t> shape{rows, sizes.head_dim};
      if (choices.one_in(3)) shape.insert(shape.begin(), sizes.heads);
      return terms_->choose(choices, shape);
    };
    if (which != 1) relative_keys_ = table();
    if (which != 2) relative_values_ = table();
  }
  if (choices.one_in(3)) sinks_ = terms_->choose(choices, {sizes.heads});
  if (kinds.dropout && choices.one_in(4)) {
    options_.dropout = static_cast<float>(choices.integer(1, 6)) / 8;
    options_.dropout_random = choose_stream(choices);
    rules_.kept = kept_weights({sizes.batch, sizes.heads, sizes.queries, sizes.keys},
                               options_.dropout, options_.dropout_random);
  }
}

attn::AttentionOptions AttentionCall::options() const {
  attn::AttentionOptions result = options_;
  const auto set = [&](const Use& use, attn::ConstTensor& option) {
    if (use && terms_->is_tensor(*use)) option = terms_->values(*use);
  };
  set(bias_, result.bias);
  set(alibi_slopes_, result.alibi_slopes);
  if (t5_table_) set(t5_table_, result.t5_bias->table);
  set(relative_keys_, result.relative_keys);
  set(relative_values_, result.relative_values);
  set(sinks_, result.sinks);
  return result;
}

attn::AttentionVariables AttentionCall::variables(attn::Tape& tape) const {
  const auto of = [&](const Use& use) {
    return use ? terms_->variable(tape, *use) : attn::Variable();
  };
  return {.bias = of(bias_),
          .alibi_slopes = of(alibi_slopes_),
          .t5_table = of(t5_table_),
          .relative_keys = of(relative_keys_),
          .relative_values = of(relative_values_),
          .sinks = of(sinks_)};
}

attn::AttentionOptions AttentionCall::all_options(attn::AttentionOptions options,
                                                  const attn::AttentionVariables& variables) {
  const auto set = [](const attn::Variable& variable, attn::ConstTensor& option) {
    if (!variable.is_none()) option = variable.value();
  };
  set(variables.bias, options.bias);
  set(variables.alibi_slopes, options.alibi_slopes);
  if (options.t5_bias) set(variables.t5_table, options.t5_bias->table);
  set(variables.relative_keys, options.relative_keys);
  set(variables.relative_values, options.relative_values);
  set(variables.sinks, options.sinks);
  return options;
}

bool AttentionCall::is_of_each_token() const {
  const bool has_rows = !key_lens_.empty() || !valid_lens_.empty() || !mask_.empty() || bias_;
  return !has_rows && !is_at_the_end_;
}

bool AttentionCall::is_of_the_past() const {
  const std::vector<double> at = first();
  return options_.causal && std::all_of(at.begin(), at.end(), [](double x) { return x <= 0; });
}

reference::AttentionOf<Scalar> AttentionCall::exact() const {
  reference::AttentionOf<Scalar> result;
  static_cast<reference::AttentionRules&>(result) = rules_;
  if (!options_.causal) result.causal_offset = {};
  const auto of = [&](const Use& use) { return use ? terms_->exact(*use) : Scalars(); };
  const auto table = [&](const Use& use) {
    Scalars values = of(use);
    if (values.shape.size() == 2) values.shape.insert(values.shape.begin(), 1);
    return values;
  };
  result.bias = of(bias_);
  result.alibi_slopes = of(alibi_slopes_);
  result.t5_table = of(t5_table_);
  result.relative_keys = table(relative_keys_);
  result.relative_values = table(relative_values_);
  result.sinks = of(sinks_);
  return result;
}

}  // namespace attn_fuzz
