// Layers that are called with positions and with terms that have gradients. The results of every
// call must be bit-identical with and without a tape. They must not depend on whether the keys are
// in a cache or passed as arguments.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "attn/layers/multi_head_attention.hpp"
#include "attn/layers/transformer_decoder.hpp"
#include "attn/layers/transformer_encoder.hpp"
#include "attn/owned_tensor.hpp"
#include "attn/training/functions.hpp"
#include "pieces/attention_call.hpp"
#include "pieces/kinds.hpp"
#include "pieces/places.hpp"
#include "pieces/transformer.hpp"

namespace attn_fuzz {

using attn::ConstTensor;
using attn::OwnedTensor;
using attn::Variable;
using reference::Scalar;

namespace {

void expect_same_bits(const ConstTensor& got, const ConstTensor& wanted, const char* of) {
  std::size_t count = 1;
  for (const std::int64_t size : wanted.shape()) count *= static_cast<std::size_t>(size);
  if (count == 0 || std::memcmp(got.data(), wanted.data(), count * sizeof(float)) == 0) return;
  ADD_FAILURE() << of << " differs in some bits";
}

/// A range of rows of x, used as keys and values.
struct Rows {
  std::int64_t begin, end;

  std::int64_t count() const { return end - begin; }
  Variable of(const Variable& x) const { return attn::slice(x, 1, begin, end); }
  Scalars of(const Scalars& x) const {
    Scalars result;
    result.shape = {x.size(0), count(), x.size(2)};
    const auto row = [&](std::int64_t b, std::int64_t i) {
      return x.values.begin() + (b * x.size(1) + i) * x.size(2);
    };
    for (std::int64_t b = 0; b < x.size(0); ++b) {
      result.values.insert(result.values.end(), row(b, begin), row(b, end));
    }
    return result;
  }
};

Rows choose_rows(Choices& choices, std::int64_t length) {
  const std::int64_t begin = choices.integer(0, length - 1);
  return {begin, choices.integer(begin + 1, length)};
}

Scalars halved(Scalars x) {
  for (Scalar& value : x.values) value = value * Scalar(0.5);
  return x;
}

template <class Options>
void set_own_terms(Options& options, const OwnTerms& own) {
  options.scale = own.scale;
  options.softcap = own.softcap;
  options.window = own.window;
  options.positions = own.positions;
  options.sinks = own.sinks;
}

/// Returns true if the layer should get its tokens without a batch dimension.
bool choose_flat(Choices& choices, const Sizes& sizes) {
  return sizes.batch == 1 && choices.one_in(2);
}

Variable without_batch(const Variable& x) { return attn::reshape(x, {x.size(1), x.size(2)}); }

/// Number of distinct variables passed as queries, keys and values: one, two (keys and values share
/// a variable) or three.
enum class Inputs { kSelf, kMemory, kThree };

Piece attention_of_call(Choices& choices, const Sizes& sizes, const std::shared_ptr<Terms>& terms) {
  constexpr float kEps = 1e-3F;
  attn::MultiHeadAttentionOptions options{.d_model = sizes.width,
                                          .num_heads = choose_heads(choices, sizes.width)};
  if (options.num_heads % 2 == 0 && choices.one_in(2)) {
    options.num_kv_heads = choices.integer(1, 2);
  }
  if (choices.one_in(3)) options.head_dim = choices.integer(1, 8);
  options.bias = choices.one_in(2);
  if (choices.one_in(4)) options.output_bias = !options.bias;
  if (choices.one_in(3)) {
    options.qk_norm = attn::RmsNormOptions{.eps = kEps, .zero_centred_weight = choices.one_in(2)};
    options.qk_norm_all_heads = choices.one_in(2);
  }
  set_own_terms(options, choose_own_terms(choices));
  const std::int64_t head = options.head_dim.value_or(sizes.width / options.num_heads);
  Rotation rotation;
  const bool rotates = head > 1 && !choices.one_in(4);
  if (rotates) {
    rotation = choose_rotation(choices, head);
    options.positions.rotary = rotation.options;
  }
  const auto inputs = static_cast<Inputs>(choices.integer(0, 2));
  const Rows rows =
      inputs == Inputs::kSelf ? Rows{0, sizes.length} : choose_rows(choices, sizes.length);
  const ScoreSizes scores{sizes.batch, options.num_heads, sizes.length, rows.count(), head};
  const auto call = std::make_shared<AttentionCall>(choices, scores, terms,
                                                    AttentionCall::Kinds{.dropout = true});
  GivenPositions positions, key_positions;
  if (rotates) {
    positions = choose_positions(choices, rotation, sizes.batch, sizes.length);
    if (choices.one_in(2)) {
      key_positions = choose_positions(choices, rotation, sizes.batch, rows.count());
    }
    // Without key positions, the positions of the queries also apply to the keys, so there must be
    // as many queries as keys.
    if (!key_positions.given() && positions.given() && rows.count() != sizes.length) positions = {};
    // If the call has key lengths, dynamic scaling would give each batch entry different
    // frequencies.
    if (rotation.is_dynamic && call->has_key_lens() && !positions.given()) {
      options.positions.rotary->scaling = {};
      rotation.is_dynamic = false;
    }
  }
  const bool flat = choose_flat(choices, sizes);
  const auto layer = std::make_shared<attn::MultiHeadAttention>(options);
  const GivenPositions of_keys = key_positions.given() ? key_positions : positions;
  const auto record = [=](attn::Tape& tape, const Variable& x) {
    const Variable query = flat ? without_batch(x) : x;
    const auto rows_of_x = [&] { return flat ? without_batch(rows.of(x)) : rows.of(x); };
    const Variable key = inputs == Inputs::kSelf ? query : rows_of_x();
    const Variable value = inputs == Inputs::kThree ? key * 0.5F : key;
    attn::MultiHeadAttentionCall given{.attention = call->options(),
                                       .positions = positions.view(),
                                       .key_positions = key_positions.view()};
    const attn::AttentionVariables variables = call->variables(tape);
    const Variable y = layer->forward(query, key, value, given, variables);

    attn::Context& context = tape.context();
    given.attention = AttentionCall::all_options(given.attention, variables);
    OwnedTensor output(query.shape());
    layer->forward(query.value(), key.value(), value.value(), output, given, context);
    expect_same_bits(output, y.value(), "MultiHeadAttention without a tape");
    attn::KeyValueCache cache = layer->make_cache(x.size(0));
    layer->append(key.value(), value.value(), cache, context, of_keys.view());
    layer->attend(query.value(), cache, output, given.attention, context, nullptr, given.positions);
    expect_same_bits(output, y.value(), "MultiHeadAttention with a cache");
    return flat ? attn::reshape(y, x.shape()) : y;
  };
  const auto exact = [=](const Scalars& x, const Parameters& p) {
    const Scalars key = rows.of(x);
    const Scalars value = inputs == Inputs::kThree ? halved(key) : key;
    reference::AttentionOf<Scalar> attention = call->exact();
    add_own_terms(attention, own_terms(options), scores, p, "");
    auto m = exact_heads(p, options.num_heads, options.num_kv_heads.value_or(0));
    m.norm_eps = static_cast<double>(kEps);
    m.norms_add_one = options.qk_norm && options.qk_norm->zero_centred_weight;
    if (rotates) {
      const std::vector<double> zeros(static_cast<std::size_t>(scores.batch), 0.0);
      m.rotary_frequencies = rotation.frequencies(scores.keys);
      m.places = {places_of(positions, rotation, scores.batch, scores.queries, call->first()),
                  places_of(of_keys, rotation, scores.batch, scores.keys, zeros), rotation.axes};
    }
    return reference::multi_head_attention<Scalar>(m, x, key, value, attention).output.exact;
  };
  return {"MultiHeadAttention of a call", layer, record, exact};
}

/// Returns the parameters whose names begin with `prefix`, and removes the prefix from the names.
Parameters within(const Parameters& parameters, const std::string& prefix) {
  Parameters result;
  for (const auto& [name, values] : parameters) {
    if (name.starts_with(prefix)) result[name.substr(prefix.size())] = values;
  }
  return result;
}

/// Processes x in two pieces, tokens [0, first) and the rest, and compares the result with
/// `wanted`. `run` receives a piece, its positions and its output.
template <class F>
void expect_in_pieces(const ConstTensor& x, const ConstTensor& wanted,
                      const attn::TensorView<const double>& positions, std::int64_t first,
                      F&& run) {
  OwnedTensor output(x.shape());
  const attn::Tensor to = output;
  for (const auto& [begin, end] : {std::pair(std::int64_t{0}, first), {first, x.size(-2)}}) {
    run(x.slice(-2, begin, end), positions.is_none() ? positions : positions.slice(-1, begin, end),
        to.slice(-2, begin, end));
  }
  float largest = 1;
  for (std::size_t i = 0; i < output.values().size(); ++i) {
    largest = std::max(largest, std::abs(wanted.data()[i]));
  }
  for (std::size_t i = 0; i < output.values().size(); ++i) {
    const float got = output.values()[i];
    if (std::abs(got - wanted.data()[i]) <= 2e-3F * largest) continue;
    ADD_FAILURE() << "in two pieces, " << i << " is " << got << " instead of " << wanted.data()[i];
    return;
  }
}

/// An encoder or a decoder of one or two layers. The decoder's memory consists of rows of x / 2.
/// All layers get the same terms.
template <class Stack, class Call>
Piece stack_of_call(const char* name, Choices& choices, const Sizes& sizes,
                    const std::shared_ptr<Terms>& terms) {
  constexpr bool kDecodes = std::is_same_v<Stack, attn::TransformerDecoder>;
  attn::TransformerEncoderOptions options{.final_norm = choices.one_in(4)};
  LayerChoice choice = choose_layer(choices, sizes.width);
  const attn::Dropout dropout = choose_dropout(choices, choice.options);
  const std::int64_t head = choice.head_dim();
  Rotation rotation;
  const bool rotates = head > 1 && !choices.one_in(4);
  if (rotates) rotation = choose_rotation(choices, head);
  const std::int64_t count = choices.integer(1, 2);
  for (std::int64_t l = 0; l < count; ++l) {
    set_own_terms(choice.options, choose_own_terms(choices));
    // Some layers of a stack have no positions.
    if (rotates && !(l > 0 && choices.one_in(3))) {
      choice.options.positions.rotary = rotation.options;
    }
    options.layers.push_back(choice.options);
  }
  const AttentionCall::Kinds kinds{.of_each_token = choices.one_in(3)};
  const ScoreSizes scores{sizes.batch, choice.options.num_heads, sizes.length, sizes.length, head};
  const auto self = std::make_shared<AttentionCall>(choices, scores, terms, kinds);
  const Rows rows = kDecodes ? choose_rows(choices, sizes.length) : Rows{0, sizes.length};
  ScoreSizes cross_scores = scores;
  cross_scores.keys = rows.count();
  const auto cross =
      kDecodes ? std::make_shared<AttentionCall>(choices, cross_scores, terms, kinds) : nullptr;
  GivenPositions positions;
  if (rotates) positions = choose_positions(choices, rotation, sizes.batch, sizes.length);
  if (rotation.is_dynamic && self->has_key_lens() && !positions.given()) {
    rotation.is_dynamic = false;
    for (attn::TransformerLayerOptions& each : options.layers) {
      if (each.positions.rotary) each.positions.rotary->scaling = {};
    }
  }
  const bool in_pieces = self->is_of_each_token() && self->is_of_the_past() &&
                         (!kDecodes || cross->is_of_each_token()) && !rotation.is_dynamic &&
                         !dropout.training;
  // The number of tokens in the first piece.
  const std::int64_t first = sizes.length > 1 ? choices.integer(1, sizes.length - 1) : 0;
  const bool flat = choose_flat(choices, sizes);
  const auto layer = std::make_shared<Stack>(options);
  const auto record = [=](attn::Tape& tape, const Variable& input) {
    const Variable x = flat ? without_batch(input) : input;
    attn::Context& context = tape.context();
    Call call;
    call.positions = positions.view();
    call.dropout = dropout;
    const attn::AttentionVariables variables = self->variables(tape);
    const attn::AttentionOptions all = AttentionCall::all_options(self->options(), variables);
    OwnedTensor output(x.shape());
    Variable y;
    if constexpr (kDecodes) {
      const attn::AttentionVariables cross_variables = cross->variables(tape);
      const Variable rows_of_x = flat ? without_batch(rows.of(input)) : rows.of(input);
      const Variable memory = 0.5F * rows_of_x;
      call.self_attention = self->options();
      call.cross_attention = cross->options();
      y = layer->forward(x, memory, call, variables, cross_variables);
      call.self_attention = all;
      call.cross_attention = AttentionCall::all_options(call.cross_attention, cross_variables);
      layer->forward(x.value(), memory.value(), output, call, context);
      if (in_pieces && first > 0) {
        attn::TransformerDecoderState state = layer->start(memory.value(), 0, context);
        expect_in_pieces(x.value(), y.value(), call.positions, first,
                         [&](const ConstTensor& piece, const auto& at, const attn::Tensor& to) {
                           Call of_piece = call;
                           of_piece.positions = at;
                           of_piece.state = &state;
                           layer->forward(piece, ConstTensor(), to, of_piece, context);
                         });
      }
    } else {
      call.attention = self->options();
      y = layer->forward(x, call, variables);
      call.attention = all;
      layer->forward(x.value(), output, call, context);
      if (in_pieces && first > 0) {
        std::vector<attn::KeyValueCache> caches = layer->make_caches(sizes.batch);
        expect_in_pieces(x.value(), y.value(), call.positions, first,
                         [&](const ConstTensor& piece, const auto& at, const attn::Tensor& to) {
                           Call of_piece = call;
                           of_piece.positions = at;
                           of_piece.caches = caches;
                           layer->forward(piece, to, of_piece, context);
                         });
      }
    }
    expect_same_bits(output, y.value(), "a stack without a tape");
    return flat ? attn::reshape(y, input.shape()) : y;
  };
  const auto exact = [=](const Scalars& x, const Parameters& p) {
    Scalars y = x;
    const Scalars memory = kDecodes ? halved(rows.of(x)) : Scalars();
    const std::vector<double> zeros(static_cast<std::size_t>(sizes.batch), 0.0);
    attn::Dropout of_layer = dropout;
    for (std::size_t i = 0; i < options.layers.size(); ++i) {
      LayerChoice one = choice;
      one.options = options.layers[i];
      auto l = exact_layer(one, within(p, "layers." + std::to_string(i) + "."));
      if (one.options.positions.rotary) {
        l.rotary_frequencies = rotation.frequencies(sizes.length);
        l.places = {places_of(positions, rotation, sizes.batch, sizes.length, self->first()),
                    places_of(positions, rotation, sizes.batch, sizes.length, zeros),
                    rotation.axes};
      }
      reference::AttentionOf<Scalar> attention = self->exact();
      add_own_terms(attention, own_terms(one.options), scores, l.weights, "self_attn.");
      if constexpr (kDecodes) {
        reference::AttentionOf<Scalar> cross_attention = cross->exact();
        add_own_terms(cross_attention, {.scale = one.options.scale, .softcap = one.options.softcap},
                      cross_scores, l.weights, "multihead_attn.");
        drop_in_places(l, attention, &cross_attention, one, of_layer, sizes, rows.count());
        y = reference::decoder_layer<Scalar>(l, y, memory, attention, cross_attention);
      } else {
        drop_in_places(l, attention, nullptr, one, of_layer, sizes, sizes.length);
        y = reference::encoder_layer<Scalar>(l, y, attention);
      }
      of_layer.random.stream += kDecodes ? 6 : 4;
    }
    if (options.final_norm) y = reference::norm<Scalar>(exact_layer(choice, p), "norm", y);
    return y;
  };
  return {name, layer, record, exact};
}

}  // namespace

Piece choose_piece_of_call(Choices& choices, const Sizes& sizes,
                           const std::shared_ptr<Terms>& terms) {
  switch (choices.integer(0, 3)) {
    case 0:
    case 1:
      return attention_of_call(choices, sizes, terms);
    case 2:
      return stack_of_call<attn::TransformerEncoder, attn::TransformerEncoderCall>(
          "TransformerEncoder of a call", choices, sizes, terms);
    default:
      return stack_of_call<attn::TransformerDecoder, attn::TransformerDecoderCall>(
          "TransformerDecoder of a call", choices, sizes, terms);
  }
}

}  // namespace attn_fuzz
