#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attn/export.hpp"
#include "attn/layers/module.hpp"
#include "attn/tensor_view.hpp"

namespace attn {

/// The numbers that replace an ablated value.
enum class Ablation {
  kZero,
  /// The mean over all N tokens of the value's batch entry, for each column. Padding counts, so
  /// pass a padded sentence on its own. The sum is computed in float64 and the mean is rounded
  /// once.
  kMean,
};

/// The part of a value that an intervention changes; by default, the whole value.
struct ValuePart {
  /// One head, counted from 0, of a value with heads such as "head_output" or "q".
  std::optional<std::int64_t> head = {};
  /// Index of a token, which is a row of the value.
  std::optional<std::int64_t> position = {};
};

/// Changes that a call makes to its own intermediate values. They show which values a result
/// depends on. A value has the same name here as in Intermediates.
///
///   Interventions cut;
///   cut.ablate("layers.1.self_attn.head_output", Ablation::kZero, {.head = 3});
///   cut.knock_out("layers.0.self_attn", {}, 5, 2);  // query 5 ignores key 2 in all heads
///   encoder.forward(x, output, {.interventions = &cut});
///
/// MultiHeadAttention, TransformerEncoderLayer, TransformerEncoder and LanguageModel accept
/// interventions. They compute all later values from the changed value, and intermediates show
/// changed values. Several changes to one value are made in the order in which you add them. A call
/// only reads this object, so several threads can pass it at the same time. An object without
/// interventions leaves every bit of the results as it is.
///
/// Ablating a head of "head_output" has the same effect as setting the head's D columns of
/// out_proj.weight to 0. "attn_out" and "mlp_out" are the values that a layer adds to the residual
/// stream; to silence the layer, ablate both.
///
/// Sources: causal mediation (Vig et al. 2020, arXiv:2004.12265); causal tracing (Meng et al. 2022,
/// arXiv:2202.05262); activation patching (Wang et al. 2022, arXiv:2211.00593; Heimersheim and
/// Nanda 2024, arXiv:2404.15255); attention knockout (Geva et al. 2023, arXiv:2304.14767).
///
/// forward() throws kNotFound for an unknown name and lists valid names. It throws kInvalidArgument
/// for a head, position, query or key out of range, with a message that gives the valid range. It
/// also throws kInvalidArgument if pairs are knocked out in a call with packed sequences
/// (cu_seqlens). It throws kShapeMismatch for values of a wrong shape, and kUnsupported if the call
/// has a cache, or if the changed value is an output that is not float32. After an error, outputs
/// and caches are unchanged. Calls on a tape do not accept interventions.
class ATTN_API Interventions {
 public:
  /// Replaces the value by zeros or by its mean over the tokens.
  void ablate(std::string name, Ablation ablation = Ablation::kZero, const ValuePart& part = {});

  /// Replaces the value by `values`, which are copied. Their shape is the shape of the
  /// intermediate, e.g. (B, N, E) or, if the call has no batch, (N, E). A part lacks the dimension
  /// of its head or position, e.g. (B, E) for one position.
  void patch(std::string name, const ConstTensor& values, const ValuePart& part = {});

  /// Excludes a key from the softmax of a query, in one head or, without `head`, in all heads. The
  /// query's other weights are normalised again:
  ///
  ///   weights'[j] = weights[j] / (1 − weights[key]) for j ≠ key,  weights'[key] = 0
  ///
  /// With attention sinks, the share of the sink grows by the same factor. The result has the same
  /// bits as with AttentionOptions::mask. A query without keys gets zeros. `attention` is the path
  /// of the attention, e.g. "layers.0.self_attn", or "" for MultiHeadAttention itself. Queries and
  /// keys are counted from 0.
  void knock_out(std::string attention, std::optional<std::int64_t> head, std::int64_t query,
                 std::int64_t key);

  bool empty() const noexcept { return edits_.empty() && knockouts_.empty(); }

  /// Returns the names that ablate() and patch() accept for `layer`. They are the names that
  /// Module::intermediate_names() returns, without the scores, weights and log-sum-exps of
  /// attention. To change these, use knock_out().
  static std::vector<std::string> names_of(const Module& layer);

 private:
  friend class IntermediateWriter;
  struct Edit {
    std::string name;
    ValuePart part;
    std::optional<Ablation> ablation;  ///< how to ablate the value; if none, the value is patched
    std::vector<float> values = {};
    std::vector<std::int64_t> shape = {};
  };
  struct Knockout {
    std::string attention;
    std::optional<std::int64_t> head;
    std::int64_t query, key;
  };
  std::vector<Edit> edits_;
  std::vector<Knockout> knockouts_;
};

}  // namespace attn
