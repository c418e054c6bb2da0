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

/// What is to be said of a model beside its files. Of what they say themselves, they count first.
struct LanguageModelHints {
  /// Attention heads: shapes do not show them.
  std::optional<std::int64_t> num_heads = {};
  // Of a torch.nn.TransformerEncoder, whose file has nothing but weights.
  std::optional<Activation> activation = {};  ///< kRelu by default
  bool norm_first = false;
  bool causal = false;
  /// How the embedding and the matrices that products read are kept; the rest is float32. By
  /// default as the files have them, all of F16 or all of BF16, without rounding of inputs, or else
  /// as float32: results are those of float32 bit for bit, on every instruction set. Training needs
  /// float32. With kBFloat16 given here inputs are rounded, see WeightFormat.
  std::optional<WeightFormat> weights = {};
};

/// Where weights come from, and where they belong.
struct WeightSource {
  std::string tensor;  ///< in the file
  std::string dtype;
  std::vector<std::int64_t> shape;
  std::size_t file = 0;    ///< which of the files, from 0 on
  std::int64_t begin = 0;  ///< its bytes in the file, from the file's beginning on
  std::int64_t end = 0;
  std::string parameter;       ///< of the LanguageModel
  std::int64_t first_row = 0;  ///< of the parameter, where its other rows come from other tensors
  bool transposed = false;     ///< (in, out) in the file, as GPT-2 has it
};

/// What files say of a model.
struct LanguageModelDescription {
  std::string family;  ///< "gpt2", "llama" and so on, as "model_type" in config.json
  LanguageModelOptions options = {};
  std::vector<WeightSource> weights = {};  ///< in the order of the files and their bytes
  std::int64_t num_parameters = 0;
  /// Bytes of memory for the weights: of float32, 4 for each as they are set and read, and 4 more
  /// for each of a matrix that products read, in their order; of 16 bits, 2 for each. Caches and
  /// the numbers of a call come on top.
  std::int64_t memory = 0;
  std::vector<std::string> unused_tensors = {};  ///< that the model has no part in
  std::vector<std::string> unused_fields = {};   ///< of the configuration, that nothing depends on
  /// What to know about the files, in sentences: a flag that they contradict, say.
  std::vector<std::string> warnings = {};
};

/// Recognises a model by its configuration, or where that is missing by the names of its tensors,
/// and checks that names and shapes are all that the model needs.
///
/// | family | its tensors, after any prefix | without config.json |
/// | --- | --- | --- |
/// | GPT-2 | `wte.weight`, `h.0.attn.c_attn.weight` | with num_heads |
/// | BERT, RoBERTa, DistilBERT | `embeddings.word_embeddings.weight` | with num_heads |
/// | Llama, SmolLM, SmolLM 3, Mistral, Qwen 2 and 3, Gemma 1 to 3, gpt-oss without experts, OLMo 2
///   | `embed_tokens.weight`, `layers.0.self_attn.q_proj.weight` | no |
/// | torch.nn.TransformerEncoder | `layers.0.self_attn.in_proj_weight` | with num_heads |
/// | attn's own | the same, beside `embedding.weight` | what it is made of is in the file's
/// metadata |
///
/// Parts of names that wrappers add are left out: "module.", "_orig_mod." and those of FSDP and
/// DeepSpeed. nanoGPT's models have GPT-2's names and matrices as nn.Linear has them, with or
/// without biases.
///
/// Fields of config.json mean what they mean in Hugging Face's Transformers 5, whose defaults apply
/// to those that are left out; sizes come from shapes then. A field that a family's class does not
/// have is without effect, unless it is listed as rejected.
///
/// - Numbers of layers, heads and key/value heads, sizes, `head_dim`, epsilon and activation are
///   used. In GPT-2 also `n_inner`, `scale_attn_weights` and `scale_attn_by_inverse_layer_idx`, in
///   BERT and RoBERTa `type_vocab_size` and `is_decoder`, in the Llama family `is_causal`.
/// - `tie_word_embeddings`: an output layer in the files counts in any case, and without one an
///   untied model has no logits. Files that contradict the flag are a warning.
/// - `rope_theta`, `rope_scaling`, `rope_parameters` and both maxima of positions are used, with
///   the rules default, linear, dynamic, yarn, longrope, llama3 and proportional; other rules are
///   rejected.
///   `rope_scaling` replaces `rope_parameters`. Rules for each kind of layer and
///   `rope_local_base_freq` are Gemma 3's, and rejected elsewhere. `mrope_section` has no effect on
///   a text. `partial_rotary_factor` is used by proportional; elsewhere 1 is required.
/// - `attention_bias` and `mlp_bias` are used, or rejected if a family has no such biases.
/// - `sliding_window`, `use_sliding_window`, `max_window_layers`, `sliding_window_pattern` and
///   `layer_types` are used in families with windows, `no_rope_layers` in SmolLM 3. Types other
///   than full and sliding attention are rejected.
/// - `query_pre_attn_scalar` and `final_logit_softcapping` are used in Gemma 2 and 3, and
///   `attn_logit_softcapping` in Gemma 2. Gemma 1 uses `hidden_act`, with a warning for "gelu"
///   and for a `hidden_activation` that differs.
/// - `pad_token_id` is used in RoBERTa, which does not count padding.
/// - Rejected in all families: experts, `quantization_config`, `pruned_heads`, `per_layer_config`,
///   cross attention, `use_bidirectional_attention`, a `position_embedding_type` other than
///   absolute, multipliers other than 1, `clip_qkv`, `attention_chunk_size`, `swiglu_limit`.
/// - Without effect, and in `unused_fields`: dropout, initialization, special tokens, `use_cache`,
///   `dtype`, labels, `summary_…`, `reorder_and_upcast_attn`, `pretraining_tp`, `architectures` and
///   all others.
///
/// `files` are the headers of a model's .safetensors files, `config` is the text of its config.json
/// or empty. `index` is the text of its model.safetensors.index.json or empty; it decides which of
/// several files has a tensor, and `files` are then those of safetensors_index_files(), in that
/// order. Throws, with the tensor or the field as the argument: kUnsupported for an architecture
/// or a field that attn cannot compute; kInvalidFormat for text that is no configuration, for a
/// field that is missing or out of range, and for a tensor that is there twice; kNotFound for
/// tensors that are missing or that a layer has no use for; kShapeMismatch for one of another shape
/// than the configuration says; kInvalidArgument for heads that nothing gives. Options that layers
/// do not take together LanguageModelLoader refuses.
ATTN_API LanguageModelDescription describe_language_model(std::span<const SafetensorsHeader> files,
                                                          std::string_view config,
                                                          const LanguageModelHints& hints = {},
                                                          std::string_view index = {});

/// The files that a model.safetensors.index.json names, each once, in their order there. Throws
/// kInvalidFormat, also for a name that leads into another folder.
ATTN_API std::vector<std::string> safetensors_index_files(std::string_view index);

/// Puts a model together from the bytes of its files, which may come in slices: nothing is kept
/// twice. For files on a disk load_language_model() does it.
class ATTN_API LanguageModelLoader {
 public:
  /// Takes the memory for the weights. Throws what LanguageModel does; and kUnsupported, before it
  /// takes any, where the weights need more than max_memory bytes.
  explicit LanguageModelLoader(const LanguageModelDescription& description,
                               std::optional<std::int64_t> max_memory = {},
                               Context& context = Context::default_context());
  ~LanguageModelLoader();
  LanguageModelLoader(LanguageModelLoader&&) noexcept;
  LanguageModelLoader& operator=(LanguageModelLoader&&) noexcept;

  /// The next bytes of description.weights[source], whole numbers from begin on. Throws
  /// kInvalidArgument for a source that does not exist and for bytes beyond its end, and
  /// kInvalidFormat with name and index for a number that is not finite.
  void write(std::size_t source, std::span<const std::byte> bytes,
             Context& context = Context::default_context());

  /// The model, once all bytes have been written. Throws kInvalidFormat for the first tensor that
  /// is not whole.
  LanguageModel finish();

 private:
  struct ATTN_LOCAL Impl;
  std::unique_ptr<Impl> impl_;
};

struct LoadLanguageModelOptions {
  LanguageModelHints hints = {};
  /// Weights that need more bytes are refused before any is read; the memory of the machine by
  /// default.
  std::optional<std::int64_t> max_memory = {};
  /// Called as bytes are read, with how many of how many there are.
  std::function<void(std::int64_t done, std::int64_t all)> on_progress = {};
};

/// Loads a model from one .safetensors file, with the config.json in the same folder, or from a
/// folder: with model.safetensors, or with model.safetensors.index.json and the files that it
/// names, or with other .safetensors files, which are then all parts of one model. The folder may
/// also be that of a model in the Hugging Face cache, which has snapshots in it. Files are read in
/// slices of a megabyte. A tokenizer is not part of it.
///
///   const LanguageModel model = load_language_model("SmolLM-135M");
///   const std::vector<std::int64_t> next = model.generate(ids);
///
/// Throws what describe_language_model() and LanguageModelLoader do, and kFileError. Files that are
/// not a whole model, such as adapters, Git LFS pointers and PyTorch checkpoints, are named in the
/// error.
ATTN_API LanguageModel load_language_model(const std::string& path,
                                           const LoadLanguageModelOptions& options = {},
                                           Context& context = Context::default_context());

/// What load_language_model() would load: reads no weights. Throws the same.
ATTN_API LanguageModelDescription describe_language_model(const std::string& path,
                                                          const LanguageModelHints& hints = {});

}  // namespace attn
