#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attn/attention/scaled_dot_product_attention.hpp"
#include "attn/layers/multi_head_attention.hpp"
#include "attn/training/attention.hpp"
#include "attn/training/tape.hpp"
#include "choices.hpp"
#include "pieces/pieces.hpp"
#include "pieces/terms.hpp"
#include "reference/attention.hpp"
#include "reference/multi_head_attention.hpp"
#include "reference/scalar.hpp"

namespace attn_fuzz {

/// The sizes of the scores, (B, H, Nq, Nk), and the width of a head.
struct ScoreSizes {
  std::int64_t batch, heads, queries, keys, head_dim;
};

/// Options that a layer applies to the scores of its attention, as opposed to the options of a
/// call.
struct OwnTerms {
  std::optional<float> scale = {};
  float softcap = 0;
  std::optional<attn::Window> window = {};
  attn::AttentionPositions positions = {};
  bool sinks = false;
};

template <class Options>
OwnTerms own_terms(const Options& options) {
  return {options.scale, options.softcap, options.window, options.positions, options.sinks};
}

/// Chooses schemes that depend on distance: slopes, a table, relative keys and values, or none.
attn::AttentionPositions choose_distances(Choices& choices);

/// Chooses sinks, schemes that depend on distance, and options that act on the scores.
OwnTerms choose_own_terms(Choices& choices);

/// Adds the layer's own terms to `attention` wherever the call has none. The tables and sinks are
/// the `parameters` whose names begin with `prefix`.
void add_own_terms(reference::AttentionOf<reference::Scalar>& attention, const OwnTerms& own,
                   const ScoreSizes& sizes, const Parameters& parameters,
                   const std::string& prefix);

/// The options of one call of attention. Some options have no gradient; the others are terms, which
/// may have a gradient.
class AttentionCall {
 public:
  struct Kinds {
    bool dropout = false;        ///< true if dropout may be chosen
    bool of_each_token = false;  ///< true if no shape may depend on the number of queries or keys
  };
  AttentionCall(Choices& choices, const ScoreSizes& sizes, std::shared_ptr<Terms> terms,
                const Kinds& kinds);
  AttentionCall(const AttentionCall&) = delete;
  AttentionCall& operator=(const AttentionCall&) = delete;

  /// The options of the call, including the terms that are plain tensors.
  attn::AttentionOptions options() const;
  attn::AttentionVariables variables(attn::Tape& tape) const;
  /// `options` plus the values of `variables` as tensors.
  static attn::AttentionOptions all_options(attn::AttentionOptions options,
                                            const attn::AttentionVariables& variables);

  reference::AttentionOf<reference::Scalar> exact() const;

  /// For each batch entry, the position of the first query among the keys.
  std::vector<double> first() const { return rules_.causal_offset.values; }
  bool has_key_lens() const { return !key_lens_.empty(); }
  /// True if no option's shape depends on the number of queries or keys.
  bool is_of_each_token() const;
  /// True if every token attends only to itself and to earlier tokens.
  bool is_of_the_past() const;

 private:
  using Use = std::optional<Terms::Use>;

  std::shared_ptr<Terms> terms_;
  attn::AttentionOptions options_;
  reference::AttentionRules rules_;
  bool is_at_the_end_ = false;  ///< Diagonal::bottom_right()
  std::vector<std::int32_t> key_lens_, valid_lens_;
  std::vector<std::uint8_t> mask_;
  Use bias_, alibi_slopes_, t5_table_, relative_keys_, relative_values_, sinks_;
};

}  // namespace attn_fuzz
