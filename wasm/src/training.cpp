// Learning: tapes with their variables, and optimisers.

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "arguments.hpp"
#include "attn/io/safetensors.hpp"
#include "attn/io/state_dict.hpp"
#include "attn/layers/add_norm.hpp"
#include "attn/layers/bahdanau_decoder.hpp"
#include "attn/layers/conv1d.hpp"
#include "attn/layers/embedding.hpp"
#include "attn/layers/feed_forward.hpp"
#include "attn/layers/gated_feed_forward.hpp"
#include "attn/layers/gru.hpp"
#include "attn/layers/layer_norm.hpp"
#include "attn/layers/linear.hpp"
#include "attn/layers/multi_head_attention.hpp"
#include "attn/layers/rms_norm.hpp"
#include "attn/layers/rnn.hpp"
#include "attn/layers/transformer_decoder.hpp"
#include "attn/layers/transformer_encoder.hpp"
#include "attn/pooling/attention_pooling.hpp"
#include "attn/positions/learned_positional_encoding.hpp"
#include "attn/positions/positional_encoding.hpp"
#include "attn/positions/rotary_embedding.hpp"
#include "attn/training/attention.hpp"
#include "attn/training/functions.hpp"
#include "attn/training/losses.hpp"
#include "attn/training/optimizers.hpp"
#include "attn/training/pooling.hpp"
#include "attn/training/schedules.hpp"
#include "attn/training/tape.hpp"

namespace attn::wasm {
namespace {

/// A tape with the variables that JavaScript knows, by their places.
struct RecordedTape {
  Tape tape{context()};
  std::vector<Variable> variables = {};
  std::vector<Variable> parts = {};  ///< of a call, whose memory is kept for the next
};

/// Reads a call's tape, which comes first, and variables on it; gives variables.
class Recorder {
 public:
  explicit Recorder(Arguments& arguments)
      : arguments_(arguments), recorded_(arguments.object<RecordedTape>()) {}

  Tape& tape() const noexcept { return recorded_.tape; }

  /// −1 stands for none.
  Variable variable() const {
    const auto place = arguments_.integer();
    return place < 0 ? Variable() : recorded_.variables[static_cast<std::size_t>(place)];
  }

  /// As many as the number before them says.
  std::span<const Variable> parts() const {
    std::vector<Variable>& parts = recorded_.parts;
    parts.resize(static_cast<std::size_t>(arguments_.integer()));
    for (Variable& part : parts) part = variable();
    return parts;
  }

  /// As wasm/js/attentionOfVariables.js writes them.
  AttentionVariables terms() const {
    AttentionVariables terms;
    terms.bias = variable();
    terms.alibi_slopes = variable();
    terms.t5_table = variable();
    terms.relative_keys = variable();
    terms.relative_values = variable();
    terms.sinks = variable();
    return terms;
  }

  /// Gives place, address, rank and sizes.
  void give(const Variable& variable) const {
    recorded_.variables.push_back(variable);
    arguments_.give(static_cast<double>(recorded_.variables.size() - 1));
    arguments_.give(variable.value());
  }

 private:
  Arguments& arguments_;
  RecordedTape& recorded_;
};

/// Address, rank and sizes of a gradient; a rank of −1 stands for none.
void give_gradient(Arguments& a, const ConstTensor& gradient) {
  if (!gradient.is_none()) return a.give(gradient);
  a.give(0.0);
  a.give(-1.0);
}

std::vector<std::string> names(Arguments& a) {
  std::vector<std::string> result(static_cast<std::size_t>(a.integer()));
  for (std::string& name : result) name = a.text();
  return result;
}

// Tapes

void make_tape(Arguments& a) { a.give(static_cast<const void*>(new RecordedTape)); }

void delete_tape(Arguments& a) { delete &a.object<RecordedTape>(); }

void clear_tape(Arguments& a) {
  auto& recorded = a.object<RecordedTape>();
  if (a.flag()) {
    recorded.tape.clear_keeping_gradients();
  } else {
    recorded.tape.clear();
  }
  recorded.variables.clear();
}

void make_variable(Arguments& a) {
  const Recorder record(a);
  const bool is_constant = a.flag();
  const ConstTensor values = a.floats();
  record.give(is_constant ? record.tape().constant(values) : record.tape().variable(values));
}

void make_parameter(Arguments& a) {
  const Recorder record(a);
  const auto& layer = a.object<Module>();
  record.give(record.tape().parameter(layer, a.text()));
}

void watch(Arguments& a) {
  const Recorder record(a);
  const auto& layer = a.object<Module>();
  record.tape().watch(layer, names(a));
}

void find_intermediate(Arguments& a) {
  const Recorder record(a);
  const auto& layer = a.object<Module>();
  record.give(record.tape().intermediate(layer, a.text()));
}

void run_backward(Arguments& a) {
  const Recorder record(a);
  const Variable output = record.variable();
  const ConstTensor gradient = a.floats();
  if (gradient.is_none()) return record.tape().backward(output);
  record.tape().backward(output, gradient);
}

void get_gradient(Arguments& a) {
  const Recorder record(a);
  give_gradient(a, record.variable().gradient());
}

void get_parameter_gradient(Arguments& a) {
  const Recorder record(a);
  const auto& layer = a.object<Module>();
  give_gradient(a, record.tape().gradient(layer, a.text()));
}

// Functions

void add(Arguments& a) {
  const Recorder record(a);
  const Variable left = record.variable();
  record.give(left + record.variable());
}

void multiply(Arguments& a) {
  const Recorder record(a);
  const Variable left = record.variable();
  record.give(left * record.variable());
}

void scale(Arguments& a) {
  const Recorder record(a);
  const Variable x = record.variable();
  record.give(x * a.real());
}

void run_linear(Arguments& a) {
  const Recorder record(a);
  const Variable x = record.variable(), weight = record.variable();
  record.give(linear(x, weight, record.variable()));
}

void run_reshape(Arguments& a) {
  const Recorder record(a);
  const Variable x = record.variable();
  std::int64_t sizes[ConstTensor::kMaxRank];
  const std::span shape(sizes, static_cast<std::size_t>(a.integer()));
  for (std::int64_t& size : shape) size = a.integer();
  record.give(reshape(x, shape));
}

void run_slice(Arguments& a) {
  const Recorder record(a);
  const Variable x = record.variable();
  const int dim = a.integer<int>();
  const std::int64_t begin = a.integer();
  record.give(slice(x, dim, begin, a.integer()));
}

void run_select(Arguments& a) {
  const Recorder record(a);
  const Variable x = record.variable();
  const int dim = a.integer<int>();
  record.give(select(x, dim, a.integer()));
}

void run_concatenate(Arguments& a) {
  const Recorder record(a);
  const int dim = a.integer<int>();
  record.give(concatenate(record.parts(), dim));
}

void run_activation(Arguments& a) {
  const Recorder record(a);
  const Variable x = record.variable();
  record.give(apply_activation(x, a.choice<Activation>()));
}

void run_dropout(Arguments& a) {
  const Recorder record(a);
  const Variable x = record.variable();
  record.give(apply_dropout(x, a.dropout()));
}

/// Gives the output, and what is to be shown.
void run_attention(Arguments& a) {
  const Recorder record(a);
  const Variable query = record.variable(), key = record.variable(), value = record.variable();
  const AttentionOptions options = attention_options(a);
  const AttentionVariables terms = record.terms();
  Variable scores, weights, log_sum_exp;
  AttentionShown shown;
  if (a.flag()) shown.scores = &scores;
  if (a.flag()) shown.weights = &weights;
  if (a.flag()) shown.log_sum_exp = &log_sum_exp;
  record.give(scaled_dot_product_attention(query, key, value, options, terms, shown));
  for (const Variable* further : {shown.scores, shown.weights, shown.log_sum_exp}) {
    if (further) record.give(*further);
  }
}

void run_attention_pooling(Arguments& a) {
  const Recorder record(a);
  const Variable query = record.variable(), key = record.variable(), value = record.variable();
  const ScoringFunction scoring = scoring_function(a);
  const AttentionPoolingOptions options = pooling_options(a);
  record.give(attention_pooling(query, key, value, scoring, options, record.variable()));
}

void run_masked_softmax(Arguments& a) {
  const Recorder record(a);
  const Variable x = record.variable();
  record.give(masked_softmax(x, softmax_options(a)));
}

void run_merge_attention(Arguments& a) {
  const Recorder record(a);
  const Variable output_a = record.variable(), log_sum_exp_a = record.variable();
  const Variable output_b = record.variable(), log_sum_exp_b = record.variable();
  const AttentionPart merged =
      merge_attention({output_a, log_sum_exp_a}, {output_b, log_sum_exp_b});
  record.give(merged.output);
  record.give(merged.log_sum_exp);
}

void run_rotary_embedding(Arguments& a) {
  const Recorder record(a);
  const Variable x = record.variable();
  const auto& rotary = a.object<RotaryEmbedding>();
  const RotaryPositions positions = rotary_positions(a);
  record.give(rotary.forward(x, positions, a.integer()));
}

void run_positional_encoding(Arguments& a) {
  const Recorder record(a);
  const Variable x = record.variable();
  PositionalEncodingOptions options;
  options.base = a.number();
  options.layout = a.choice<SinusoidalLayout>();
  const double start = a.number();
  record.give(PositionalEncoding(options).forward(x, start, a.dropout()));
}

CrossEntropyOptions cross_entropy_options(Arguments& a) {
  CrossEntropyOptions options;
  options.ignore_index = a.integer();
  options.label_smoothing = a.real();
  options.reduction = a.choice<LossReduction>();
  return options;
}

void run_cross_entropy(Arguments& a) {
  const Recorder record(a);
  const Variable logits = record.variable();
  const IdView targets = a.lengths();
  record.give(cross_entropy(logits, targets, cross_entropy_options(a)));
}

/// Without a tape: gives the loss.
void plain_cross_entropy(Arguments& a) {
  const ConstTensor logits = a.floats();
  const IdView targets = a.lengths();
  const CrossEntropyOptions options = cross_entropy_options(a);
  const Tensor gradient = a.result();
  a.give(gradient.is_none()
             ? cross_entropy(logits, targets, options, context())
             : cross_entropy_with_gradient(logits, targets, gradient, options, context()));
}

void run_mse_loss(Arguments& a) {
  const Recorder record(a);
  const Variable prediction = record.variable(), target = record.variable();
  record.give(mse_loss(prediction, target, a.choice<LossReduction>()));
}

/// Without a tape: gives the loss.
void plain_mse_loss(Arguments& a) {
  const ConstTensor prediction = a.floats(), target = a.floats();
  const auto reduction = a.choice<LossReduction>();
  const Tensor gradient = a.result();
  a.give(gradient.is_none()
             ? mse_loss(prediction, target, reduction, context())
             : mse_loss_with_gradient(prediction, target, gradient, reduction, context()));
}

// Layers

/// Of layers with one input.
template <class L>
void run(Arguments& a) {
  const Recorder record(a);
  const auto& layer = a.layer<L>();
  record.give(layer.forward(record.variable()));
}

/// Gives the output, and the last states.
template <class L>
void run_recurrent(Arguments& a) {
  const Recorder record(a);
  const auto& layer = a.layer<L>();
  const Variable x = record.variable(), h_0 = record.variable();
  Variable h_n;
  record.give(layer.forward(x, h_0, &h_n));
  record.give(h_n);
}

/// Gives the logits, and the last hidden state.
void run_bahdanau(Arguments& a) {
  const Recorder record(a);
  const auto& decoder = a.layer<BahdanauDecoder>();
  const Variable encoder_outputs = record.variable();
  Variable hidden = record.variable();
  const ConstLengths encoder_lens = a.lengths();
  const IdView tokens = a.lengths();
  record.give(
      decoder.forward(record.tape(), tokens, encoder_outputs, hidden, encoder_lens, &hidden));
  record.give(hidden);
}

void run_embedding(Arguments& a) {
  const Recorder record(a);
  const auto& embedding = a.layer<Embedding>();
  record.give(embedding.forward(record.tape(), a.lengths()));
}

void run_learned_positional_encoding(Arguments& a) {
  const Recorder record(a);
  const auto& encoding = a.layer<LearnedPositionalEncoding>();
  const Variable x = record.variable();
  const std::int64_t start = a.integer();
  record.give(encoding.forward(x, start, a.dropout()));
}

void run_layer_norm_of_sum(Arguments& a) {
  const Recorder record(a);
  const auto& norm = a.layer<LayerNorm>();
  const Variable x = record.variable();
  record.give(norm.forward_sum(x, record.variable()));
}

void run_add_norm(Arguments& a) {
  const Recorder record(a);
  const auto& norm = a.layer<AddNorm>();
  const Variable x = record.variable(), y = record.variable();
  record.give(norm.forward(x, y, a.dropout()));
}

template <class L>
void run_feed_forward(Arguments& a) {
  const Recorder record(a);
  const auto& layer = a.layer<L>();
  const Variable x = record.variable();
  record.give(layer.forward(x, a.dropout()));
}

void run_multi_head_attention(Arguments& a) {
  const Recorder record(a);
  const auto& attention = a.layer<MultiHeadAttention>();
  const Variable query = record.variable(), key = record.variable(), value = record.variable();
  const MultiHeadAttentionCall call{.attention = attention_options(a),
                                    .positions = a.positions(),
                                    .key_positions = a.positions()};
  record.give(attention.forward(query, key, value, call, record.terms()));
}

void run_additive_attention(Arguments& a) {
  const Recorder record(a);
  const auto& attention = a.layer<AdditiveAttention>();
  const bool projected = a.flag();
  const Variable query = record.variable(), key = record.variable(), value = record.variable();
  const AttentionPoolingOptions options = pooling_options(a);
  record.give(projected ? attention.forward_projected(query, key, value, options)
                        : attention.forward(query, key, value, options));
}

void run_project_keys(Arguments& a) {
  const Recorder record(a);
  const auto& attention = a.layer<AdditiveAttention>();
  record.give(attention.project_keys(record.variable()));
}

template <class L, class Call>
void run_encoder(Arguments& a) {
  const Recorder record(a);
  const auto& encoder = a.layer<L>();
  const Variable x = record.variable();
  const Call call{
      .attention = attention_options(a), .positions = a.positions(), .dropout = a.dropout()};
  record.give(encoder.forward(x, call, record.terms()));
}

template <class L, class Call>
void run_decoder(Arguments& a) {
  const Recorder record(a);
  const auto& decoder = a.layer<L>();
  const Variable x = record.variable(), memory = record.variable();
  const Call call{.self_attention = attention_options(a),
                  .cross_attention = attention_options(a),
                  .positions = a.positions(),
                  .dropout = a.dropout()};
  const AttentionVariables self_terms = record.terms(), cross_terms = record.terms();
  record.give(decoder.forward(x, memory, call, self_terms, cross_terms));
}

// Optimisers

/// Parts of a model, by name.
struct Parts {
  explicit Parts(Arguments& a) {
    const auto count = static_cast<std::size_t>(a.integer());
    for (std::size_t i = 0; i < count; ++i) {
      const std::string_view name = a.text();
      modules.push_back({name, a.object<Module>()});
    }
  }

  std::vector<NamedModule> modules = {};
};

/// Groups, whose parameters JavaScript has selected by name.
std::vector<ParameterGroup> groups(Arguments& a) {
  std::vector<ParameterGroup> result(static_cast<std::size_t>(a.integer()));
  for (ParameterGroup& group : result) {
    std::vector<std::string_view> names(static_cast<std::size_t>(a.integer()));
    for (std::string_view& name : names) name = a.text();
    group.params = [names = std::move(names)](std::string_view name, auto) {
      return std::ranges::find(names, name) != names.end();
    };
    group.learning_rate = a.optional_number();
    group.weight_decay = a.optional_number();
  }
  return result;
}

void give_optimizer(Arguments& a, const Optimizer* optimizer) {
  a.give(static_cast<const void*>(optimizer));
}

void make_sgd(Arguments& a) {
  const Parts parts(a);
  SgdOptions options;
  options.learning_rate = a.number();
  options.momentum = a.number();
  options.dampening = a.number();
  options.weight_decay = a.number();
  options.nesterov = a.flag();
  options.groups = groups(a);
  give_optimizer(a, new Sgd(parts.modules, options));
}

template <class O, class Options>
void make_adam(Arguments& a) {
  const Parts parts(a);
  Options options;
  options.learning_rate = a.number();
  options.beta1 = a.number();
  options.beta2 = a.number();
  options.eps = a.number();
  options.weight_decay = a.number();
  options.groups = groups(a);
  give_optimizer(a, new O(parts.modules, options));
}

void delete_optimizer(Arguments& a) { delete &a.object<Optimizer>(); }

void step(Arguments& a) {
  auto& optimizer = a.object<Optimizer>();
  optimizer.step(a.object<RecordedTape>().tape);
}

/// Of a group, or of all parameters in none.
void learning_rate(Arguments& a) {
  const auto& optimizer = a.object<Optimizer>();
  const auto group = a.optional_integer();
  a.give(group ? optimizer.learning_rate(static_cast<std::size_t>(*group))
               : optimizer.learning_rate());
}

void set_learning_rate(Arguments& a) {
  auto& optimizer = a.object<Optimizer>();
  const double rate = a.number();
  const auto group = a.optional_integer();
  if (group) {
    optimizer.set_learning_rate(rate, static_cast<std::size_t>(*group));
  } else {
    optimizer.set_learning_rate(rate);
  }
}

void state_names(Arguments& a) {
  std::vector<std::string> result;
  for (const NamedTensor& tensor : state_dict(a.object<Optimizer>())) result.push_back(tensor.name);
  a.give(std::move(result));
}

void get_state(Arguments& a) {
  const auto& optimizer = a.object<Optimizer>();
  const auto place = static_cast<std::size_t>(a.integer());
  a.give(state_dict(optimizer)[place].values.as<float>());
}

/// Gives the names that are missing, then those that are unexpected; and how many are missing.
void load_state(Arguments& a) {
  auto& optimizer = a.object<Optimizer>();
  const auto& file = a.object<Safetensors>();
  const std::string_view prefix = a.text();
  IncompatibleKeys keys = load_state_dict(optimizer, file, prefix, a.flag());
  std::vector<std::string>& names = keys.missing_keys;
  const auto missing = static_cast<double>(names.size());
  names.insert(names.end(), keys.unexpected_keys.begin(), keys.unexpected_keys.end());
  a.give(std::move(names));
  a.give(missing);
}

void clip(Arguments& a) {
  auto& recorded = a.object<RecordedTape>();
  a.give(clip_grad_norm(recorded.tape, a.number()));
}

// Schedules

void constant_rate(Arguments& a) {
  const std::int64_t step = a.integer();
  const double peak = a.number();
  a.give(constant_learning_rate(step, peak, a.integer()));
}

void cosine_rate(Arguments& a) {
  const std::int64_t step = a.integer();
  const double peak = a.number();
  const std::int64_t warmup_steps = a.integer(), total_steps = a.integer();
  a.give(cosine_learning_rate(step, peak, warmup_steps, total_steps, a.number()));
}

void inverse_sqrt_rate(Arguments& a) {
  const std::int64_t step = a.integer(), d_model = a.integer(), warmup_steps = a.integer();
  a.give(inverse_sqrt_learning_rate(step, d_model, warmup_steps, a.number()));
}

}  // namespace

EMSCRIPTEN_BINDINGS(training) {
  operation("makeTape", &make_tape);
  operation("deleteTape", &delete_tape);
  operation("clearTape", &clear_tape);
  operation("makeVariable", &make_variable);
  operation("makeParameter", &make_parameter);
  operation("watch", &watch);
  operation("findIntermediate", &find_intermediate);
  operation("backward", &run_backward);
  operation("gradient", &get_gradient);
  operation("parameterGradient", &get_parameter_gradient);

  operation("recordAdd", &add);
  operation("recordMultiply", &multiply);
  operation("recordScale", &scale);
  operation("recordLinearFunction", &run_linear);
  operation("recordReshape", &run_reshape);
  operation("recordSlice", &run_slice);
  operation("recordSelect", &run_select);
  operation("recordConcatenate", &run_concatenate);
  operation("recordActivation", &run_activation);
  operation("recordDropout", &run_dropout);
  operation("recordAttention", &run_attention);
  operation("recordAttentionPooling", &run_attention_pooling);
  operation("recordMaskedSoftmax", &run_masked_softmax);
  operation("recordMergeAttention", &run_merge_attention);
  operation("recordRotaryEmbedding", &run_rotary_embedding);
  operation("recordPositionalEncoding", &run_positional_encoding);
  operation("recordCrossEntropy", &run_cross_entropy);
  operation("recordMseLoss", &run_mse_loss);
  operation("crossEntropy", &plain_cross_entropy);
  operation("mseLoss", &plain_mse_loss);

  operation("recordLinear", &run<Linear>);
  operation("recordEmbedding", &run_embedding);
  operation("recordLearnedPositionalEncoding", &run_learned_positional_encoding);
  operation("recordLayerNorm", &run<LayerNorm>);
  operation("recordLayerNormOfSum", &run_layer_norm_of_sum);
  operation("recordAddNorm", &run_add_norm);
  operation("recordFeedForward", &run_feed_forward<FeedForward>);
  operation("recordGatedFeedForward", &run_feed_forward<GatedFeedForward>);
  operation("recordRMSNorm", &run<RmsNorm>);
  operation("recordConv1d", &run<Conv1d>);
  operation("recordGRU", &run_recurrent<GRU>);
  operation("recordRNN", &run_recurrent<RNN>);
  operation("recordBahdanauDecoder", &run_bahdanau);
  operation("recordAdditiveAttention", &run_additive_attention);
  operation("recordProjectKeys", &run_project_keys);
  operation("recordMultiHeadAttention", &run_multi_head_attention);
  operation("recordTransformerEncoderLayer",
            &run_encoder<TransformerEncoderLayer, TransformerEncoderLayerCall>);
  operation("recordTransformerEncoder", &run_encoder<TransformerEncoder, TransformerEncoderCall>);
  operation("recordTransformerDecoderLayer",
            &run_decoder<TransformerDecoderLayer, TransformerDecoderLayerCall>);
  operation("recordTransformerDecoder", &run_decoder<TransformerDecoder, TransformerDecoderCall>);

  operation("makeSgd", &make_sgd);
  operation("makeAdam", &make_adam<Adam, AdamOptions>);
  operation("makeAdamW", &make_adam<AdamW, AdamWOptions>);
  operation("deleteOptimizer", &delete_optimizer);
  operation("stepOptimizer", &step);
  operation("learningRate", &learning_rate);
  operation("setLearningRate", &set_learning_rate);
  operation("optimizerStateNames", &state_names);
  operation("optimizerState", &get_state);
  operation("loadOptimizerState", &load_state);
  operation("clipGradNorm", &clip);

  operation("constantLearningRate", &constant_rate);
  operation("cosineLearningRate", &cosine_rate);
  operation("inverseSqrtLearningRate", &inverse_sqrt_rate);
}

}  // namespace attn::wasm
