// Loads language models and encoder–decoder models from their files.

#include <emscripten/bind.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "arrays.hpp"
#include "attention_layers.hpp"
#include "attn/layers/activation.hpp"
#include "attn/models/encoder_decoder_model.hpp"
#include "attn/models/language_model.hpp"
#include "attn/models/load_encoder_decoder.hpp"
#include "attn/models/load_language_model.hpp"
#include "attn/positions/rotary_embedding.hpp"
#include "context.hpp"
#include "contributions.hpp"
#include "fields.hpp"
#include "guarded.hpp"
#include "models/weight_files.hpp"
#include "tensor_argument.hpp"

namespace attn::wasm {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

template <class T>
double number(const std::optional<T>& value) {
  return value ? static_cast<double>(*value) : kNone;
}

// Descriptions of models

/// Description of a layer. In optional fields, NaN means that there is no value. `rotary_scaling`
/// is an index into the list of scaling rules.
struct LayerFacts {
  double d_model;
  double num_heads;
  double num_kv_heads;
  double head_dim;
  double dim_feedforward;
  Activation activation;
  bool gated_feed_forward;
  bool norm_first;
  bool norm_outputs;
  bool parallel_residual;
  bool qk_norm;
  bool sinks;
  float softcap;
  double scale;
  double window_left;
  bool rms_norm;
  bool zero_centred_norm;
  float norm_eps;
  double rotary_dim = kNone;
  double rotary_base = kNone;
  double rotary_scaling = kNone;
};

/// A range of weights in a file.
struct WeightRange {
  double file;
  double begin;
  double end;
};

struct ModelFacts {
  std::string family;
  double num_parameters;
  double memory;
  std::string weight_type;
  double vocab_size;
  double max_positions;
  bool sinusoidal;
  double num_token_types;
  bool causal;
  bool has_logits;
  bool tied;
  bool has_pooler;
  float final_softcap;
  ArrayOf<LayerFacts> layers;
  ArrayOf<WeightRange> weights;
  Texts unused_tensors;
  Texts unused_fields;
  Texts warnings;
};

struct EncoderDecoderFacts {
  std::string family;
  double num_parameters;
  double memory;
  std::string weight_type;
  double vocab_size;
  double max_positions;
  bool sinusoidal;
  bool t5_bias;
  double start_id;
  bool tied;
  ArrayOf<LayerFacts> encoder_layers;
  ArrayOf<LayerFacts> decoder_layers;
  ArrayOf<WeightRange> weights;
  Texts unused_tensors;
  Texts unused_fields;
  Texts warnings;
};

std::int64_t head_dim_of(const TransformerLayerOptions& layer) {
  return layer.head_dim.value_or(layer.d_model / layer.num_heads);
}

/// Returns the rotary options of a layer that has them, with `rotary_dim` filled in.
RotaryEmbeddingOptions rotary_options_of(const TransformerLayerOptions& layer) {
  RotaryEmbeddingOptions options = *layer.positions.rotary;
  if (options.rotary_dim == 0) options.rotary_dim = head_dim_of(layer);
  return options;
}

LayerFacts layer_facts(const TransformerLayerOptions& layer) {
  LayerFacts facts{
      .d_model = static_cast<double>(layer.d_model),
      .num_heads = static_cast<double>(layer.num_heads),
      .num_kv_heads = static_cast<double>(layer.num_kv_heads.value_or(layer.num_heads)),
      .head_dim = static_cast<double>(head_dim_of(layer)),
      .dim_feedforward = static_cast<double>(layer.dim_feedforward),
      .activation = layer.activation,
      .gated_feed_forward = layer.gated_feed_forward,
      .norm_first = layer.norm_first,
      .norm_outputs = layer.norm_outputs,
      .parallel_residual = layer.parallel_residual,
      .qk_norm = layer.qk_norm.has_value(),
      .sinks = layer.sinks,
      .softcap = layer.softcap,
      .scale = number(layer.scale),
      .window_left = number(layer.window ? layer.window->left : std::nullopt),
      .rms_norm = layer.rms_norm.has_value(),
      .zero_centred_norm = layer.rms_norm && layer.rms_norm->zero_centred_weight,
      .norm_eps = layer.rms_norm ? layer.rms_norm->eps : layer.layer_norm_eps,
  };
  if (!layer.positions.rotary) return facts;
  const RotaryEmbeddingOptions rotary = rotary_options_of(layer);
  facts.rotary_dim = static_cast<double>(rotary.rotary_dim);
  facts.rotary_base = rotary.base;
  // The first alternative of the variant means no scaling.
  if (const std::size_t rule = rotary.scaling.index()) {
    facts.rotary_scaling = static_cast<double>(rule - 1);
  }
  return facts;
}

ArrayOf<LayerFacts> layers_of(const TransformerEncoderOptions& stack) {
  std::vector<LayerFacts> layers;
  for (const TransformerLayerOptions& layer : stack.layers) layers.push_back(layer_facts(layer));
  if (layers.empty()) {
    layers.assign(static_cast<std::size_t>(stack.num_layers), layer_facts(stack.layer));
  }
  return ArrayOf<LayerFacts>(layers);
}

ArrayOf<WeightRange> ranges_of(const ModelFilesDescription& description) {
  std::vector<WeightRange> weights;
  for (const WeightSource& weight : description.weights) {
    weights.push_back({static_cast<double>(weight.file), static_cast<double>(weight.begin),
                       static_cast<double>(weight.end)});
  }
  return ArrayOf<WeightRange>(weights);
}

ModelFacts model_facts(const LanguageModelDescription& description) {
  const LanguageModelOptions& options = description.options;
  const std::int64_t positions = options.max_positions - options.first_position;
  return {
      .family = description.family,
      .num_parameters = static_cast<double>(description.num_parameters),
      .memory = static_cast<double>(description.memory),
      .weight_type = to_string(options.weights.type),
      .vocab_size = static_cast<double>(options.vocab_size),
      .max_positions = static_cast<double>(std::max<std::int64_t>(positions, 0)),
      .sinusoidal = options.sinusoidal.has_value(),
      .num_token_types = static_cast<double>(options.num_token_types),
      .causal = options.causal,
      .has_logits = options.output && options.vocab_size > 0,
      .tied = options.tied,
      .has_pooler = options.pooler,
      .final_softcap = options.final_softcap,
      .layers = layers_of(options.stack),
      .weights = ranges_of(description),
      .unused_tensors = texts(description.unused_tensors),
      .unused_fields = texts(description.unused_fields),
      .warnings = texts(description.warnings),
  };
}

EncoderDecoderFacts encoder_decoder_facts(const EncoderDecoderDescription& description) {
  const EncoderDecoderOptions& options = description.options;
  return {
      .family = description.family,
      .num_parameters = static_cast<double>(description.num_parameters),
      .memory = static_cast<double>(description.memory),
      .weight_type = to_string(options.weights.type),
      .vocab_size = static_cast<double>(options.vocab_size),
      .max_positions = static_cast<double>(options.max_positions),
      .sinusoidal = options.sinusoidal.has_value(),
      .t5_bias = options.encoder.shared_t5_bias,
      .start_id = static_cast<double>(options.start_id),
      .tied = options.tied,
      .encoder_layers = layers_of(options.encoder),
      .decoder_layers = layers_of(options.decoder),
      .weights = ranges_of(description),
      .unused_tensors = texts(description.unused_tensors),
      .unused_fields = texts(description.unused_fields),
      .warnings = texts(description.warnings),
  };
}

// Files

/// Size of a file's header in bytes.
double header_size(const TensorArgument& beginning, double file_size) {
  const auto size = static_cast<std::int64_t>(file_size);
  return static_cast<double>(safetensors_header_size(beginning.bytes(), size));
}

Texts index_files(const TensorArgument& index) {
  return texts(safetensors_index_files(index.text()));
}

/// Given the names of all files in a folder without an index, returns the names of the weight
/// files.
Texts weight_files(const Texts& names) {
  return texts(choose_weight_files(emscripten::vecFromJSArray<std::string>(names)));
}

/// The parts of a model's files that are read before its weights.
struct ModelFiles {
  std::vector<SafetensorsHeader> headers;
  LanguageModelHints hints;
};

void add_header(ModelFiles& files, const TensorArgument& beginning, double file_size) {
  const auto size = static_cast<std::int64_t>(file_size);
  files.headers.push_back(read_safetensors_header(beginning.bytes(), size));
}

void set_num_heads(ModelFiles& files, double num_heads) {
  files.hints.num_heads = static_cast<std::int64_t>(num_heads);
}

void set_activation(ModelFiles& files, Activation activation) {
  files.hints.activation = activation;
}

void set_norm_first(ModelFiles& files, bool norm_first) { files.hints.norm_first = norm_first; }

void set_causal(ModelFiles& files, bool causal) { files.hints.causal = causal; }

void set_weight_type(ModelFiles& files, ElementType type) { files.hints.weights = type; }

LanguageModelDescription* describe(const ModelFiles& files, const TensorArgument& config,
                                   const TensorArgument& index) {
  return new LanguageModelDescription(
      describe_language_model(files.headers, config.text(), files.hints, index.text()));
}

EncoderDecoderDescription* describe_pair(const ModelFiles& files, const TensorArgument& config,
                                         const TensorArgument& index) {
  return new EncoderDecoderDescription(
      describe_encoder_decoder(files.headers, config.text(), files.hints.weights, index.text()));
}

// Weights

/// If `max_memory` is infinity, the limit is the memory that WebAssembly has left.
template <class Loader, class Description>
Loader* make_loader(const Description& description, double max_memory) {
  std::optional<std::int64_t> limit;
  if (!std::isinf(max_memory)) limit = static_cast<std::int64_t>(max_memory);
  return new Loader(description, limit, context());
}

template <class Loader>
void write_weights(Loader& loader, double source, const TensorArgument& bytes) {
  loader.write(static_cast<std::size_t>(source), bytes.bytes(), context());
}

// The models

/// The frequencies of a layer's rotary positions, and the factor that multiplies cosines and sines.
struct RotaryFrequencies {
  Sizes frequencies;
  double attention_factor;
};

template <class Model, class Loader>
Model* finish(Loader& loader) {
  return new Model(loader.finish());
}

const TransformerEncoderLayer& layer_of(const LanguageModel& model, double layer) {
  return model.encoder().layers()[static_cast<std::size_t>(layer)];
}

/// Only some scaling rules depend on `length`.
RotaryFrequencies rotary_frequencies(const LanguageModel& model, double layer, double length) {
  const RotaryEmbedding rotary(rotary_options_of(layer_of(model, layer).options()));
  return {Sizes(rotary.frequencies(length)), rotary.attention_factor()};
}

double choose(const TensorArgument& logits, const SamplingOptions& options, double step) {
  return static_cast<double>(
      choose_token(logits.floats(), options, static_cast<std::int64_t>(step)));
}

template <class Model>
Sizes generate(const Model& model, const TensorArgument& ids, double max_new_tokens,
               const Sizes& stop_ids, const SamplingOptions& sampling) {
  GenerationOptions options;
  options.max_new_tokens = static_cast<std::int64_t>(max_new_tokens);
  options.sampling = sampling;
  for (const double id : emscripten::vecFromJSArray<double>(stop_ids)) {
    options.stop_ids.push_back(static_cast<std::int64_t>(id));
  }
  return sizes(model.generate(ids.as<const std::int32_t>(), options, context()));
}

TransformerEncoderLayer* inner_layer(LanguageModel& model, double layer) {
  return const_cast<TransformerEncoderLayer*>(&layer_of(model, layer));
}

/// Combines the arguments of a call. Leaves out null arguments.
LanguageModelCall model_call(const TensorArgument* token_types, const TensorArgument* hidden,
                             const TensorArgument* pooled, Caches* caches, const LayerCall* call) {
  const LayerCall& options = given(call);
  LanguageModelCall whole;
  whole.attention = options.attention;
  whole.positions = options.positions;
  whole.intermediates = options.intermediates;
  if (!options.interventions.empty()) whole.interventions = &options.interventions;
  if (token_types) whole.token_types = token_types->as<const std::int32_t>();
  if (hidden) whole.hidden = hidden->result();
  if (pooled) whole.pooled = pooled->result();
  if (caches) whole.caches = *caches;
  return whole;
}

void run(const LanguageModel& model, const TensorArgument& ids, const TensorArgument* token_types,
         const TensorArgument* logits, const TensorArgument* hidden, const TensorArgument* pooled,
         Caches* caches, const LayerCall* call) {
  model.forward(IdView(ids.as<const std::int32_t>()), logits ? logits->result() : Tensor(),
                model_call(token_types, hidden, pooled, caches, call), context());
}

void run_on_vectors(const LanguageModel& model, const TensorArgument& x,
                    const TensorArgument* token_types, const TensorArgument* logits,
                    const TensorArgument* hidden, const TensorArgument* pooled, Caches* caches,
                    const LayerCall* call) {
  model.forward(x.floats(), logits ? logits->result() : Tensor(),
                model_call(token_types, hidden, pooled, caches, call), context());
}

void unembed(const LanguageModel& model, const TensorArgument& x, const TensorArgument& logits) {
  model.unembed(x.floats(), logits.result(), context());
}

Sizes contributions(const LanguageModel& model, const TensorArgument& ids, double target,
                    double position, const LayerCall* call) {
  return flat(model.contributions(IdView(ids.as<const std::int32_t>()),
                                  static_cast<std::int64_t>(target),
                                  static_cast<std::int64_t>(position),
                                  model_call(nullptr, nullptr, nullptr, nullptr, call), context()));
}

void encode_source(const EncoderDecoderModel& model, const TensorArgument& ids,
                   const TensorArgument& memory, const LayerCall* call) {
  const LayerCall& options = given(call);
  model.encode(IdView(ids.as<const std::int32_t>()), memory.result(),
               {.attention = options.attention, .intermediates = options.intermediates}, context());
}

/// Attends to `memory` or, if it is null, to the projections in the state.
void decode_target(const EncoderDecoderModel& model, const TensorArgument& ids,
                   const TensorArgument* memory, TransformerDecoderState* state,
                   const TensorArgument* logits, const TensorArgument* hidden,
                   const LayerCall* call) {
  const LayerCall& options = given(call);
  model.decode(IdView(ids.as<const std::int32_t>()), memory ? memory->floats() : ConstTensor(),
               logits ? logits->result() : Tensor(),
               {.self_attention = options.attention,
                .cross_attention = options.cross_attention,
                .state = state,
                .hidden = hidden ? hidden->result() : Tensor(),
                .intermediates = options.intermediates},
               context());
}

TransformerDecoderState* start_target(const EncoderDecoderModel& model,
                                      const TensorArgument& memory, double capacity,
                                      ElementType type) {
  return new TransformerDecoderState(
      model.start(memory.floats(), static_cast<std::int64_t>(capacity), context(), type));
}

}  // namespace

EMSCRIPTEN_BINDINGS(models) {
  using emscripten::allow_raw_pointers;
  using emscripten::class_;
  using emscripten::function;
  using emscripten::register_type;
  using emscripten::value_object;

  register_type<ArrayOf<LayerFacts>>("LanguageModelLayer[]");
  register_type<ArrayOf<WeightRange>>("WeightRange[]");
  value_object<LayerFacts>("LanguageModelLayer")
      .field("dModel", &LayerFacts::d_model)
      .field("numHeads", &LayerFacts::num_heads)
      .field("numKvHeads", &LayerFacts::num_kv_heads)
      .field("headDim", &LayerFacts::head_dim)
      .field("dimFeedforward", &LayerFacts::dim_feedforward)
      .field("activation", &LayerFacts::activation)
      .field("gatedFeedForward", &LayerFacts::gated_feed_forward)
      .field("normFirst", &LayerFacts::norm_first)
      .field("normOutputs", &LayerFacts::norm_outputs)
      .field("parallelResidual", &LayerFacts::parallel_residual)
      .field("qkNorm", &LayerFacts::qk_norm)
      .field("sinks", &LayerFacts::sinks)
      .field("softcap", &LayerFacts::softcap)
      .field("scale", &LayerFacts::scale)
      .field("windowLeft", &LayerFacts::window_left)
      .field("rmsNorm", &LayerFacts::rms_norm)
      .field("zeroCentredNorm", &LayerFacts::zero_centred_norm)
      .field("normEps", &LayerFacts::norm_eps)
      .field("rotaryDim", &LayerFacts::rotary_dim)
      .field("rotaryBase", &LayerFacts::rotary_base)
      .field("rotaryScaling", &LayerFacts::rotary_scaling);
  value_object<WeightRange>("WeightRange")
      .field("file", &WeightRange::file)
      .field("begin", &WeightRange::begin)
      .field("end", &WeightRange::end);
  value_object<ModelFacts>("LanguageModelFacts")
      .field("family", &ModelFacts::family)
      .field("numParameters", &ModelFacts::num_parameters)
      .field("memory", &ModelFacts::memory)
      .field("weightType", &ModelFacts::weight_type)
      .field("vocabSize", &ModelFacts::vocab_size)
      .field("maxPositions", &ModelFacts::max_positions)
      .field("sinusoidal", &ModelFacts::sinusoidal)
      .field("numTokenTypes", &ModelFacts::num_token_types)
      .field("causal", &ModelFacts::causal)
      .field("hasLogits", &ModelFacts::has_logits)
      .field("tied", &ModelFacts::tied)
      .field("hasPooler", &ModelFacts::has_pooler)
      .field("finalSoftcap", &ModelFacts::final_softcap)
      .field("layers", &ModelFacts::layers)
      .field("weights", &ModelFacts::weights)
      .field("unusedTensors", &ModelFacts::unused_tensors)
      .field("unusedFields", &ModelFacts::unused_fields)
      .field("warnings", &ModelFacts::warnings);
  value_object<EncoderDecoderFacts>("EncoderDecoderFacts")
      .field("family", &EncoderDecoderFacts::family)
      .field("numParameters", &EncoderDecoderFacts::num_parameters)
      .field("memory", &EncoderDecoderFacts::memory)
      .field("weightType", &EncoderDecoderFacts::weight_type)
      .field("vocabSize", &EncoderDecoderFacts::vocab_size)
      .field("maxPositions", &EncoderDecoderFacts::max_positions)
      .field("sinusoidal", &EncoderDecoderFacts::sinusoidal)
      .field("t5Bias", &EncoderDecoderFacts::t5_bias)
      .field("startId", &EncoderDecoderFacts::start_id)
      .field("tied", &EncoderDecoderFacts::tied)
      .field("encoderLayers", &EncoderDecoderFacts::encoder_layers)
      .field("decoderLayers", &EncoderDecoderFacts::decoder_layers)
      .field("weights", &EncoderDecoderFacts::weights)
      .field("unusedTensors", &EncoderDecoderFacts::unused_tensors)
      .field("unusedFields", &EncoderDecoderFacts::unused_fields)
      .field("warnings", &EncoderDecoderFacts::warnings);

  function("safetensorsHeaderSize", guarded<&header_size>);
  function("safetensorsIndexFiles", guarded<&index_files>);
  function("chooseWeightFiles", guarded<&weight_files>);
  class_<ModelFiles>("LanguageModelFiles")
      .constructor()
      .function("addHeader", guarded<&add_header>)
      .function("setNumHeads", &set_num_heads)
      .function("setActivation", &set_activation)
      .function("setNormFirst", &set_norm_first)
      .function("setCausal", &set_causal)
      .function("setWeightType", &set_weight_type);
  class_<LanguageModelDescription>("LanguageModelDescription")
      .constructor(guarded<&describe>, allow_raw_pointers())
      .function("facts", guarded<&model_facts>);
  class_<LanguageModelLoader>("LanguageModelLoader")
      .constructor(guarded<&make_loader<LanguageModelLoader, LanguageModelDescription>>,
                   allow_raw_pointers())
      .function("write", guarded<&write_weights<LanguageModelLoader>>);
  class_<EncoderDecoderDescription>("EncoderDecoderDescription")
      .constructor(guarded<&describe_pair>, allow_raw_pointers())
      .function("facts", guarded<&encoder_decoder_facts>);
  class_<EncoderDecoderLoader>("EncoderDecoderLoader")
      .constructor(guarded<&make_loader<EncoderDecoderLoader, EncoderDecoderDescription>>,
                   allow_raw_pointers())
      .function("write", guarded<&write_weights<EncoderDecoderLoader>>);

  value_object<RotaryFrequencies>("RotaryFrequencies")
      .field("frequencies", &RotaryFrequencies::frequencies)
      .field("attentionFactor", &RotaryFrequencies::attention_factor);
  value_object<SamplingOptions>("SamplingOptions")
      .field("temperature", &SamplingOptions::temperature)
      .field("topK", get_number<&SamplingOptions::top_k>, set_number<&SamplingOptions::top_k>)
      .field("random", &SamplingOptions::random);
  class_<LanguageModel, emscripten::base<Module>>("LanguageModel")
      .constructor(guarded<&finish<LanguageModel, LanguageModelLoader>>, allow_raw_pointers())
      .function("rotaryFrequencies", guarded<&rotary_frequencies>)
      .function("layer", guarded<&inner_layer>, allow_raw_pointers())
      .function("makeCaches", guarded<&new_caches<LanguageModel>>, allow_raw_pointers())
      .function("forward", guarded<&run>, allow_raw_pointers())
      .function("forwardVectors", guarded<&run_on_vectors>, allow_raw_pointers())
      .function("unembed", guarded<&unembed>)
      .function("contributions", guarded<&contributions>, allow_raw_pointers())
      .function("generate", guarded<&generate<LanguageModel>>);
  class_<EncoderDecoderModel, emscripten::base<Module>>("EncoderDecoderModel")
      .constructor(guarded<&finish<EncoderDecoderModel, EncoderDecoderLoader>>,
                   allow_raw_pointers())
      .function("encode", guarded<&encode_source>, allow_raw_pointers())
      .function("start", guarded<&start_target>, allow_raw_pointers())
      .function("decode", guarded<&decode_target>, allow_raw_pointers())
      .function("generate", guarded<&generate<EncoderDecoderModel>>);
  function("chooseToken", guarded<&choose>);
}

}  // namespace attn::wasm
