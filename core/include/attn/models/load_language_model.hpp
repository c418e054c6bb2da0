#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attn/context.hpp"
#include "attn/export.hpp"
#include "attn/io/safetensors.hpp"
#include "attn/layers/activation.hpp"
#include "attn/layers/weight_format.hpp"
#include "attn/models/language_model.hpp"

namespace attn {

/// Facts about a model that its files may lack, and the format in which to store its weights. Facts
/// in the files take precedence.
struct LanguageModelHints {
  /// The number of attention heads, which the tensors' shapes do not reveal.
  std::optional<std::int64_t> num_heads = {};
  /// The activation of a torch.nn.TransformerEncoder, whose file contains only weights (kRelu by
  /// default), or of a nanoGPT model without config.json (kGelu by default).
  std::optional<Activation> activation = {};
  // These two hints are for a torch.nn.TransformerEncoder.
  bool norm_first = false;
  bool causal = false;
  /// The format of the embedding and of the matrices that are used in products. All other
  /// parameters are float32. By default, these matrices are stored as in the files if all of them
  /// are F16 or all are BF16, and otherwise as float32. Inputs are not rounded by default, so
  /// results are bit-identical to results with float32 weights on every instruction set. Training
  /// requires float32. If you set kBFloat16 here, inputs are rounded; see WeightFormat.
  std::optional<WeightFormat> weights = {};
};

/// A range of weights in a file and its destination in the model.
struct WeightSource {
  std::string tensor;  ///< name of the tensor in the file
  std::string dtype;
  std::vector<std::int64_t> shape;
  std::size_t file = 0;    ///< index of the file, from 0
  std::int64_t begin = 0;  ///< offset of the range's first byte from the beginning of the file
  std::int64_t end = 0;
  std::string parameter;  ///< name of the destination in the model
  /// The row of the parameter at which this range begins. It is 0 unless the rows come from several
  /// tensors.
  std::int64_t first_row = 0;
  bool transposed = false;  ///< true if the file stores the matrix as (in, out), as for GPT-2
};

/// Describes a model's files, apart from the model's options: the family, where the weights are,
/// and what is not used.
struct ModelFilesDescription {
  std::string family;  ///< name such as "gpt2" or "llama", as in "model_type" of config.json
  std::vector<WeightSource> weights = {};  ///< ranges in the order of the files and their bytes
  std::int64_t num_parameters = 0;
  /// Bytes of memory for the weights. A 16-bit weight takes 2 bytes. A float32 weight takes 4, or 8
  /// if it is in a matrix used in products, because such a matrix is stored a second time in the
  /// order in which products read it. Caches and the memory that calls use are not included.
  std::int64_t memory = 0;
  std::vector<std::string> unused_tensors = {};  ///< tensors that the model does not use
  std::vector<std::string> unused_fields = {};  ///< fields of the configuration that have no effect
  /// Warnings about unusual files, such as a flag that contradicts the tensors. Each is a sentence.
  std::vector<std::string> warnings = {};
};

/// A language model as described by its files.
struct LanguageModelDescription : ModelFilesDescription {
  LanguageModelOptions options = {};
};

/// Recognises a model by its configuration or, without one, by the names of its tensors, and checks
/// that the model's tensors are complete and have the right shapes.
///
/// | family | its tensors, after any prefix | loads without config.json |
/// | --- | --- | --- |
/// | GPT-2 | `wte.weight`, `h.0.attn.c_attn.weight` | if num_heads is given |
/// | GPT-NeoX (Pythia) | `embed_in.weight`, `layers.0.attention.query_key_value.weight` | no |
/// | GPT-Neo (TinyStories) | `wte.weight`, `h.0.attn.attention.q_proj.weight` | no |
/// | OPT | `embed_tokens.weight`, `layers.0.self_attn_layer_norm.weight` | no |
/// | BERT, RoBERTa, DistilBERT | `embeddings.word_embeddings.weight` | if num_heads is given |
/// | Llama, SmolLM, SmolLM 3, Mistral, Qwen 2 and 3 | `embed_tokens.weight` and more | no |
/// | Gemma 1 to 3, OLMo 2, gpt-oss without experts | as for Llama | no |
/// | torch.nn.TransformerEncoder | `layers.0.self_attn.in_proj_weight` | if num_heads is given |
/// | attn's own models | `layers.0.self_attn.in_proj_weight`, `embedding.weight` | yes |
///
/// Files of attn's own models contain the model's options in their metadata.
///
/// Name parts that wrappers add are ignored: "module.", "_orig_mod." and the prefixes of FSDP and
/// DeepSpeed. nanoGPT's models have GPT-2's names, but their matrices have the layout of nn.Linear,
/// and biases may be missing.
///
/// Fields of config.json have the same meaning as in Hugging Face's Transformers 5. Transformers'
/// defaults apply to missing fields, except that missing sizes are taken from shapes. Fields that
/// the family's class in Transformers does not have are ignored, unless they are listed as
/// rejected.
///
/// - Numbers of layers, heads and key/value heads, sizes, `head_dim`, epsilon and activation are
///   used. GPT-2 also uses `n_inner`, `scale_attn_weights` and `scale_attn_by_inverse_layer_idx`.
///   BERT and RoBERTa also use `type_vocab_size` and `is_decoder`. The Llama family also uses
///   `is_causal`. GPT-NeoX also uses `use_parallel_residual`, `rotary_pct` and `rotary_emb_base`;
///   `partial_rotary_factor` and `rope_theta` outside `rope_parameters` must agree with them.
///   GPT-Neo also uses `attention_types` and `window_size`; `attention_layers` must agree with
///   `attention_types`. OPT also uses `do_layer_norm_before`, `word_embed_proj_dim` and
///   `_remove_final_layer_norm`; `enable_bias` and `layer_norm_elementwise_affine` must be true.
/// - `tie_word_embeddings`: an output layer in the files is always used; without one, an untied
///   model has no logits. Files that contradict the flag cause a warning.
/// - `rope_theta`, `rope_scaling`, `rope_parameters`, `max_position_embeddings` and
///   `original_max_position_embeddings` are used, with the rules default, linear, dynamic, yarn,
///   longrope, llama3 and proportional; other rules are rejected. `rope_scaling` replaces
///   `rope_parameters`. Separate rules for each kind of layer and `rope_local_base_freq` are
///   accepted for Gemma 3 only. Unlike attn, Transformers ignores `truncate` in these rules, and
///   `type` in Gemma 3's `rope_scaling`. `mrope_section` has no effect on text.
///   `partial_rotary_factor` is used by the rule proportional and by GPT-NeoX, which accepts all
///   rules except proportional; otherwise, it must be 1.
/// - `attention_bias` and `mlp_bias` are used in the Llama family; they are rejected if they are
///   true but a model of the family has no such biases. GPT-NeoX also uses `attention_bias`.
/// - `sliding_window`, `use_sliding_window`, `max_window_layers`, `sliding_window_pattern` and
///   `layer_types` are used in families with windows, and `no_rope_layers` is used in SmolLM 3.
///   Layer types other than full and sliding attention are rejected.
/// - `query_pre_attn_scalar` and `final_logit_softcapping` are used in Gemma 2 and 3.
///   `attn_logit_softcapping` is used in Gemma 2. Gemma 1 uses `hidden_act`, with a warning for
///   "gelu" and for a `hidden_activation` that differs.
/// - `pad_token_id` is used in RoBERTa, which does not count padding.
/// - Rejected in all families: experts, quantised weights, cross attention, `pruned_heads`,
///   `per_layer_config`, `use_bidirectional_attention`, `alibi`, `attn_temperature_tuning`,
///   `attn_output_gate`, `use_mrope`, multipliers other than 1, `clip_qkv`, `attention_chunk_size`
///   and `swiglu_limit`. In BERT and related families, a `position_embedding_type` other than
///   absolute is also rejected.
/// - Without effect, and listed in `unused_fields`: dropout, initialisation, special tokens,
///   `use_cache`, `dtype`, labels, `summary_…`, `reorder_and_upcast_attn`, `pretraining_tp`,
///   `architectures` and all other fields.
///
/// `files` are the headers of a model's .safetensors files. `config` is the text of its
/// config.json, or empty. `index` is the text of its model.safetensors.index.json, or empty. If
/// there is an index, it decides which file provides each tensor, and `files` must be the headers
/// of the files that safetensors_index_files() returns, in the same order.
///
/// The argument of each error is the name of the tensor or the field. Throws kUnsupported for an
/// architecture or a field that attn cannot compute. Throws kInvalidFormat for text that is not a
/// configuration, a field that is missing or out of range, or a tensor that appears twice. Throws
/// kNotFound for missing tensors and for tensors that their layer does not use. Throws
/// kShapeMismatch for a tensor whose shape differs from the configuration. Throws kInvalidArgument
/// if the number of heads is unknown. LanguageModelLoader rejects combinations of options that
/// layers do not support.
ATTN_API LanguageModelDescription describe_language_model(std::span<const SafetensorsHeader> files,
                                                          std::string_view config,
                                                          const LanguageModelHints& hints = {},
                                                          std::string_view index = {});

/// Returns the file names in a model.safetensors.index.json, each once, in the order in which they
/// appear. Throws kInvalidFormat if the text is not such an index, or if a name leads into another
/// folder.
ATTN_API std::vector<std::string> safetensors_index_files(std::string_view index);

/// Builds a model from the bytes of its files, which may arrive in slices. The bytes are written
/// directly to the weights, so no copy of a file is stored. For files on disk, use
/// load_language_model().
class ATTN_API LanguageModelLoader {
 public:
  /// Allocates the memory for the weights. Throws the same errors as LanguageModel. If the weights
  /// need more than `max_memory` bytes, throws kUnsupported before it allocates anything. If you
  /// change a description, its weights must still fill each row of each parameter once; otherwise
  /// the constructor throws kInvalidArgument, kNotFound or kShapeMismatch.
  explicit LanguageModelLoader(const LanguageModelDescription& description,
                               std::optional<std::int64_t> max_memory = {},
                               Context& context = Context::default_context());
  ~LanguageModelLoader();
  LanguageModelLoader(LanguageModelLoader&&) noexcept;
  LanguageModelLoader& operator=(LanguageModelLoader&&) noexcept;

  /// Passes the next bytes of description.weights[source]. The first call for a source starts at
  /// the source's `begin`. Each call must pass complete numbers. Throws kInvalidArgument for a
  /// source that does not exist and for bytes beyond its `end`. Throws kInvalidFormat for a number
  /// that is not finite; the message contains the tensor's name and the number's index.
  void write(std::size_t source, std::span<const std::byte> bytes,
             Context& context = Context::default_context());

  /// Returns the model after all bytes have been written. Throws kInvalidFormat for the first
  /// incomplete tensor.
  LanguageModel finish();

 private:
  struct ATTN_LOCAL Impl;
  std::unique_ptr<Impl> impl_;
};

struct LoadLanguageModelOptions {
  LanguageModelHints hints = {};
  /// The largest number of bytes that the weights may need in memory. A model that needs more is
  /// rejected before any weights are read. The default is the memory of the machine.
  std::optional<std::int64_t> max_memory = {};
  /// Called while bytes are read, with the number of bytes read so far and the total number of
  /// bytes.
  std::function<void(std::int64_t done, std::int64_t all)> on_progress = {};
};

/// Loads a model from one .safetensors file and the config.json in the same folder, or from a
/// folder. The folder contains model.safetensors, or model.safetensors.index.json and the files
/// that it names, or other .safetensors files, which are then the parts of one model. The folder
/// may also be a model's folder in the Hugging Face cache, which contains snapshots. Files are read
/// in slices of a megabyte. The tokenizer is not loaded. The path is in UTF-8 on every system.
///
///   const LanguageModel model = load_language_model("SmolLM-135M");
///   const std::vector<std::int64_t> next = model.generate(ids);
///
/// Throws the same errors as describe_language_model() and LanguageModelLoader, and kFileError. If
/// a file is not a complete model, e.g. an adapter, a Git LFS pointer or a PyTorch checkpoint, the
/// error says so.
ATTN_API LanguageModel load_language_model(const std::string& path,
                                           const LoadLanguageModelOptions& options = {},
                                           Context& context = Context::default_context());

/// Describes the model that load_language_model() would load, without reading weights. Throws the
/// same errors.
ATTN_API LanguageModelDescription describe_language_model(const std::string& path,
                                                          const LanguageModelHints& hints = {});

}  // namespace attn
