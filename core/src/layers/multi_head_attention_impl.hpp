#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "attention/stored_tensor.hpp"
#include "attn/layers/multi_head_attention.hpp"
#include "layers/intermediate_writer.hpp"
#include "layers/packed_matrix.hpp"
#include "runtime/execution.hpp"

namespace attn {

/// The parameter with a layer's T5 bias.
constexpr const char* kT5Table = "relative_attention_bias.weight";

/// The positions by which rows of queries or keys are rotated.
struct RowPlaces {
  TensorView<const double> positions =
      {};  ///< explicit positions; if none, the following members apply
  Diagonal first = Diagonal::top_left();  ///< position of row 0
  LengthsView key_lens = {};  ///< number of keys in each batch entry, which can affect the position
                              ///< of row 0
  std::int64_t num_keys = 0;  ///< number of keys if there are no `key_lens`, and the length for
                              ///< dynamic NTK
  /// The index of each packed sequence's first row, and of its first key. None if sequences are not
  /// packed.
  LengthsView cu_seqlens = {};
  LengthsView cu_seqlens_k = {};
};

/// Returns the index of each packed sequence's first key. The result is none if sequences are not
/// packed.
inline const LengthsView& key_sequences(const AttentionOptions& attention) {
  return attention.cu_seqlens_k.is_none() ? attention.cu_seqlens : attention.cu_seqlens_k;
}

/// Throws kInvalidArgument because positions were passed although nothing is rotated.
[[noreturn]] void fail_positions(const char* name, const char* needs);

/// Rotates heads (B, ·, N, D) in place, forwards or backwards.
void rotate_heads(const RotaryEmbedding& rotary, const Tensor& heads, const RowPlaces& where,
                  bool inverse, Context& context);

struct MultiHeadAttention::Impl {
  MultiHeadAttentionOptions options;
  std::int64_t head_dim = 0;
  std::int64_t kv_heads = 0;
  std::int64_t key_dim = 0;
  std::int64_t value_dim = 0;
  /// A tensor is empty if the layer does not have this parameter.
  Tensor input_biases, output_bias, relative_keys, relative_values, t5_table, sinks;
  std::shared_ptr<PackedMatrix> query, key, value, output;
  /// The weights of the packed projections; the first three may be parts of `input_weights`.
  Tensor query_weight, key_weight, value_weight, output_weight;
  Tensor input_weights;  ///< the joined parameter; empty if there is none
  std::optional<RmsNorm> query_norm, key_norm;
  std::optional<RotaryEmbedding> rotary;
  std::vector<float> slopes;

  std::int64_t query_width() const { return options.num_heads * head_dim; }
  std::int64_t kv_width() const { return kv_heads * head_dim; }
  /// True if queries and keys change between their projection and the scores.
  bool changes_projected() const { return rotary || query_norm; }
  /// True if the three input projections have the same shape and are therefore joined in one
  /// parameter.
  bool joined() const {
    return key_dim == options.d_model && value_dim == options.d_model &&
           kv_heads == options.num_heads;
  }
  void check_positions();
  void add_parameters(MultiHeadAttention& layer);

  void check_query(const ConstAnyTensor& query, const AnyTensor& output) const;
  void check_keys(const ConstAnyTensor& query, const ConstAnyTensor& key,
                  const ConstAnyTensor& value) const;
  void check_cache(const KeyValueCache& cache, std::int64_t batch) const;
  /// Rejects positions that do not fit `x`, which contains queries or keys.
  void check_positions(const char* name, const TensorView<const double>& positions,
                       const ConstAnyTensor& x) const;
  /// Returns the positions of a call's keys. Rejects positions that do not fit the queries or keys.
  TensorView<const double> check_positions(const MultiHeadAttentionCall& call,
                                           const ConstAnyTensor& query,
                                           const ConstAnyTensor& key) const;

  /// Computes x · Wᵀ + bias, (B, N, ·), in scratch memory.
  Tensor project(const PackedMatrix& weight, std::int64_t bias_offset, const ConstAnyTensor& x,
                 runtime::Execution& run) const;
  /// Returns projected queries or keys as heads (B, ·, N, D), normalised in place. Copies them to
  /// the intermediate `name` before they are normalised.
  Tensor normalized_heads(const Tensor& projected, std::int64_t heads, const char* name,
                          const std::optional<RmsNorm>& norm, const char* norm_name,
                          IntermediateWriter& writer, runtime::Execution& run,
                          Context& context) const;
  /// Returns the projected queries (B, H, Nq, D), normalised and rotated to the given positions, or
  /// to the positions from the options.
  Tensor project_queries(const ConstAnyTensor& x, std::int64_t num_keys,
                         const AttentionOptions& attention,
                         const TensorView<const double>& positions, IntermediateWriter& writer,
                         runtime::Execution& run, Context& context) const;
  /// Returns the projected keys (B, Hkv, N, D), normalised and rotated to the given positions, or
  /// to positions that start at `first` in each packed sequence.
  Tensor project_keys(const ConstAnyTensor& x, std::int64_t first, const LengthsView& sequences,
                      const TensorView<const double>& positions, IntermediateWriter& writer,
                      runtime::Execution& run, Context& context) const;
  /// Returns the projected values (B, Hkv, N, D).
  Tensor project_values(const ConstAnyTensor& x, runtime::Execution& run) const;
  /// Projects the next keys and values into a cache.
  void append(const ConstAnyTensor& key, const ConstAnyTensor& value, KeyValueCache& cache,
              const TensorView<const double>& positions, IntermediateWriter& writer,
              Context& context) const;
  /// Rejects packed sequences in a call with a cache, which contains a single sequence per entry.
  void check_not_packed(const AttentionOptions& attention) const;
  /// The options of a call, completed with the layer's own terms.
  AttentionOptions with_terms(const AttentionOptions& attention) const;
  /// Rejects invalid options before anything is computed.
  void check_options(const AttentionOptions& attention, const ConstAnyTensor& query,
                     std::int64_t num_keys) const;
  /// The steps after the input projections: q attends to k and v, and the result is projected to
  /// the output.
  void attend(const Tensor& q, const StoredTensor& k, const StoredTensor& v,
              const AnyTensor& output, const AttentionOptions& attention,
              IntermediateWriter& writer, runtime::Execution& run, Context& context) const;
};

}  // namespace attn
