// Pieces of fuzzed models that use rotary positions or multi-head attention.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "attn/layers/multi_head_attention.hpp"
#include "attn/positions/rotary_embedding.hpp"
#include "attn/training/functions.hpp"
#include "pieces/attention_call.hpp"
#include "pieces/kinds.hpp"
#include "reference/multi_head_attention.hpp"
#include "reference/rotary_embedding.hpp"

namespace attn_fuzz {

using attn::Variable;
using reference::Array;
using reference::Scalar;

namespace {

/// Rearranges (B, N, H·D) to (B, H, N, D) if `apart` is true, and back otherwise.
Scalars with_heads(const Scalars& x, std::int64_t heads, bool apart) {
  const std::int64_t batch = x.size(0), length = x.size(apart ? 1 : 2);
  const std::int64_t width = apart ? x.size(2) / heads : x.size(3);
  Scalars result =
      apart ? Scalars({batch, heads, length, width}) : Scalars({batch, length, heads * width});
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t h = 0; h < heads; ++h) {
      for (std::int64_t i = 0; i < length; ++i) {
        for (std::int64_t d = 0; d < width; ++d) {
          if (apart) {
            result.at({b, h, i, d}) = x.at({b, i, h * width + d});
          } else {
            result.at({b, i, h * width + d}) = x.at({b, h, i, d});
          }
        }
      }
    }
  }
  return result;
}

}  // namespace

std::int64_t choose_heads(Choices& choices, std::int64_t width) {
  std::int64_t chosen = 1;
  for (const std::int64_t heads : {2, 3, 4}) {
    if (width % heads == 0 && choices.one_in(2)) chosen = heads;
  }
  return chosen;
}

Piece rotary(Choices& choices, const Sizes& sizes) {
  std::int64_t heads = choose_heads(choices, sizes.width);
  if (sizes.width / heads < 2) heads = 1;
  attn::RotaryEmbeddingOptions options;
  options.rotary_dim = 2 * choices.integer(1, sizes.width / heads / 2);
  if (choices.one_in(2)) options.pairing = attn::RotaryPairing::kInterleaved;
  options.base = choices.one_in(2) ? 10000 : 3;
  reference::RotaryEmbeddingOf<Scalar> exact;
  exact.frequencies =
      reference::rotary_frequencies({.dim = options.rotary_dim, .base = options.base});
  if (choices.one_in(4)) {
    options.scaling = attn::ProportionalRotaryScaling{.partial_rotary_factor = 0.5, .factor = 2};
    for (std::size_t j = 0; j < exact.frequencies.size(); ++j) {
      exact.frequencies[j] *= j < exact.frequencies.size() / 2 ? 0.5L : 0;
    }
  }
  attn::RotaryPositions positions;
  positions.start = static_cast<double>(choices.integer(-20, 1000));
  positions.inverse = choices.one_in(4);
  exact.interleaved = options.pairing == attn::RotaryPairing::kInterleaved;
  exact.inverse = positions.inverse;
  const auto layer = std::make_shared<attn::RotaryEmbedding>(options);
  return {"RotaryEmbedding", nullptr,
          [=](attn::Tape&, const Variable& x) { return layer->forward(x, positions, heads); },
          [=](const Scalars& x, const Parameters&) {
            reference::RotaryEmbeddingOf<Scalar> call = exact;
            call.x = with_heads(x, heads, true);
            for (std::int64_t i = 0; i < x.size(1); ++i) {
              call.positions.push_back(positions.start + static_cast<double>(i));
            }
            return with_heads(reference::rotary_embedding(call).exact, heads, false);
          }};
}

Array kept_weights(const std::vector<std::int64_t>& shape, float probability,
                   const attn::RandomStream& random) {
  Array kept(shape);
  const std::int64_t keys = shape.back(), blocks = (keys + 3) / 4;
  const auto p = static_cast<double>(probability);
  for (std::size_t i = 0; i < kept.values.size(); ++i) {
    const std::int64_t row = static_cast<std::int64_t>(i) / keys;
    const std::int64_t key = static_cast<std::int64_t>(i) % keys;
    const auto words = random.words(static_cast<std::uint64_t>(row * blocks + key / 4));
    const bool dropped = words[static_cast<std::size_t>(key % 4)] * 0x1p-32 < p;
    kept.values[i] = dropped ? 0 : 1 / (1 - p);
  }
  return kept;
}

reference::MultiHeadAttentionOf<Scalar> exact_heads(const Parameters& p, std::int64_t num_heads,
                                                    std::int64_t num_kv_heads) {
  reference::MultiHeadAttentionOf<Scalar> m;
  m.num_heads = num_heads;
  m.num_kv_heads = num_kv_heads == 0 ? num_heads : num_kv_heads;
  m.output_weight = p.at("out_proj.weight");
  const std::int64_t e = m.output_weight.size(1), kv = e / num_heads * m.num_kv_heads;
  const Scalars joined = given(p, "in_proj_weight");
  m.query_weight = joined.given() ? rows_of(joined, 0, e) : p.at("q_proj_weight");
  m.key_weight = joined.given() ? rows_of(joined, e, 2 * e) : p.at("k_proj_weight");
  m.value_weight = joined.given() ? rows_of(joined, 2 * e, 3 * e) : p.at("v_proj_weight");
  const Scalars bias = given(p, "in_proj_bias");
  m.query_bias = rows_of(bias, 0, e);
  m.key_bias = rows_of(bias, e, e + kv);
  m.value_bias = rows_of(bias, e + kv, e + 2 * kv);
  m.output_bias = given(p, "out_proj.bias");
  m.query_norm = given(p, "q_norm.weight");
  m.key_norm = given(p, "k_norm.weight");
  return m;
}

Piece attention(Choices& choices, const Sizes& sizes) {
  attn::MultiHeadAttentionOptions options{.d_model = sizes.width,
                                          .num_heads = choose_heads(choices, sizes.width)};
  if (options.num_heads % 2 == 0 && choices.one_in(2)) options.num_kv_heads = 2;
  options.bias = choices.one_in(2);
  options.sinks = choices.one_in(4);
  options.positions = choose_distances(choices);
  attn::AttentionOptions call;
  reference::AttentionRules rules;
  const std::int64_t offset = choices.integer(-2, 4);
  call.diagonal = attn::Diagonal::offset(offset);
  const auto diagonal = static_cast<double>(offset);
  rules.relative_offset = Array({1}, diagonal);
  if (choices.one_in(2)) {
    call.causal = true;
    rules.causal_offset = Array({1}, diagonal);
  }
  if (choices.one_in(4)) {
    call.window = attn::Window{.left = choices.integer(0, 5), .right = choices.integer(0, 5)};
    rules.window_left = call.window->left;
    rules.window_right = call.window->right;
    rules.window_offset = Array({1}, diagonal);
  }
  if (choices.one_in(4)) {
    call.softcap = 2;
    rules.softcap = 2;
  }
  const auto lens = std::make_shared<std::vector<std::int32_t>>();
  if (choices.one_in(2)) {
    rules.valid_lens = Array({sizes.batch});
    for (std::int64_t b = 0; b < sizes.batch; ++b) {
      lens->push_back(static_cast<std::int32_t>(choices.integer(0, sizes.length)));
      rules.valid_lens.at({b}) = lens->back();
    }
    call.valid_lens = {lens->data(), {sizes.batch}};
  }
  if (choices.one_in(4)) {
    call.dropout = static_cast<float>(choices.integer(1, 6)) / 8;
    call.dropout_random = choose_stream(choices);
    rules.kept = kept_weights({sizes.batch, options.num_heads, sizes.length, sizes.length},
                              call.dropout, call.dropout_random);
  }
  auto layer = std::make_shared<attn::MultiHeadAttention>(options);
  const auto exact = [options, rules](const Scalars& x, const Parameters& p) {
    const ScoreSizes scores{x.size(0), options.num_heads, x.size(1), x.size(1),
                            options.d_model / options.num_heads};
    reference::AttentionOf<Scalar> attention;
    static_cast<reference::AttentionRules&>(attention) = rules;
    add_own_terms(attention, own_terms(options), scores, p, "");
    const auto m = exact_heads(p, options.num_heads, options.num_kv_heads.value_or(0));
    return reference::multi_head_attention<Scalar>(m, x, x, x, attention).output.exact;
  };
  return {"MultiHeadAttention", layer,
          [layer, call, lens](attn::Tape&, const Variable& x) {
            return layer->forward(x, x, x, {.attention = call});
          },
          exact};
}

}  // namespace attn_fuzz
