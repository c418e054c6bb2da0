#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "attn/context.hpp"
#include "attn/export.hpp"
#include "attn/io/safetensors.hpp"
#include "attn/layers/weight_format.hpp"
#include "attn/models/encoder_decoder_model.hpp"
#include "attn/models/load_language_model.hpp"

namespace attn {

/// An encoder–decoder model as described by its files.
struct EncoderDecoderDescription : ModelFilesDescription {
  EncoderDecoderOptions options = {};
};

/// Recognises an encoder–decoder model by its config.json, and checks that the model's tensors are
/// complete and have the right shapes.
///
/// | family | model_type | its tensors, after any prefix |
/// | --- | --- | --- |
/// | T5, its version 1.1, Flan-T5, ByT5 | t5 | `encoder.block.0.layer.0.SelfAttention.q.weight` |
/// | mT5 | mt5 | as for T5 |
/// | Marian (Opus-MT) | marian | `encoder.layers.0.self_attn.q_proj.weight` |
///
/// Fields of config.json have the same meaning as in Hugging Face's Transformers 5, with its
/// defaults. Missing sizes are taken from shapes.
///
/// - T5: `d_model`, `d_kv`, `d_ff`, `num_heads`, `num_layers`, `num_decoder_layers`,
///   `relative_attention_num_buckets`, `relative_attention_max_distance`, `layer_norm_epsilon` and
///   `decoder_start_token_id` are used. `feed_forward_proj` is the name of an activation, or
///   "gated-" and a name; `dense_act_fn` and `is_gated_act` must agree with it. If the files have
///   an output layer, it is used; otherwise, the embedding gives the logits. The decoder's output
///   is divided by √E unless `tie_word_embeddings` or `scale_decoder_outputs` is false.
/// - Marian: `d_model`, the layers, heads and `ffn_dim` of both stacks, `activation_function`,
///   `scale_embedding`, `tie_word_embeddings` and `decoder_start_token_id` are used. If the files
///   have tables of positions, these tables are used, and a sequence can have only as many tokens
///   as its table has rows. Otherwise, positions are computed for any length, even beyond
///   `max_position_embeddings`. A missing `final_logits_bias` is zero.
/// - Rejected: all other families (e.g. BART, Pegasus, UMT5, LongT5 and Switch Transformers), a
///   Marian model with separate embeddings for source and target, `normalize_before`,
///   `normalize_embedding`, `add_final_layer_norm`, `tie_encoder_decoder`, `is_encoder_decoder` if
///   it is false, and the fields that describe_language_model() rejects in all families, except
///   cross attention.
/// - Without effect, and listed in `unused_fields`: settings of generation, such as `num_beams`,
///   `bad_words_ids` and `forced_eos_token_id`, and all fields that describe_language_model() also
///   ignores. generate() chooses tokens from the logits alone.
///
/// The arguments and errors are the same as for describe_language_model(). `weights` is the format
/// of the matrices, as in LanguageModelHints.
ATTN_API EncoderDecoderDescription describe_encoder_decoder(
    std::span<const SafetensorsHeader> files, std::string_view config,
    const std::optional<WeightFormat>& weights = {}, std::string_view index = {});

/// Builds an encoder–decoder model from the bytes of its files, like LanguageModelLoader.
class ATTN_API EncoderDecoderLoader {
 public:
  /// Works like the constructor of LanguageModelLoader, but throws the errors of
  /// EncoderDecoderModel.
  explicit EncoderDecoderLoader(const EncoderDecoderDescription& description,
                                std::optional<std::int64_t> max_memory = {},
                                Context& context = Context::default_context());
  ~EncoderDecoderLoader();
  EncoderDecoderLoader(EncoderDecoderLoader&&) noexcept;
  EncoderDecoderLoader& operator=(EncoderDecoderLoader&&) noexcept;

  /// Like LanguageModelLoader::write().
  void write(std::size_t source, std::span<const std::byte> bytes,
             Context& context = Context::default_context());

  /// Returns the model after all bytes have been written. Throws kInvalidFormat for the first
  /// incomplete tensor.
  EncoderDecoderModel finish();

 private:
  struct ATTN_LOCAL Impl;
  std::unique_ptr<Impl> impl_;
};

struct LoadEncoderDecoderOptions {
  std::optional<WeightFormat> weights = {};     ///< see LanguageModelHints
  std::optional<std::int64_t> max_memory = {};  ///< see LoadLanguageModelOptions
  /// See LoadLanguageModelOptions.
  std::function<void(std::int64_t done, std::int64_t all)> on_progress = {};
};

/// Loads an encoder–decoder model from the same files as load_language_model(). config.json is
/// required. The tokenizer is not loaded.
///
///   const EncoderDecoderModel model = load_encoder_decoder("opus-mt-en-de");
///   const std::vector<std::int64_t> target = model.generate(ids, {.stop_ids = {0}});
///
/// Throws the same errors as describe_encoder_decoder() and EncoderDecoderLoader, and kFileError.
ATTN_API EncoderDecoderModel load_encoder_decoder(const std::string& path,
                                                  const LoadEncoderDecoderOptions& options = {},
                                                  Context& context = Context::default_context());

/// Describes the model that load_encoder_decoder() would load, without reading weights. Throws the
/// same errors.
ATTN_API EncoderDecoderDescription
describe_encoder_decoder(const std::string& path, const std::optional<WeightFormat>& weights = {});

}  // namespace attn
