// Pieces of fuzzed models that compute each row separately or rearrange rows.

#include <cstdint>
#include <iterator>
#include <memory>

#include "attn/layers/feed_forward.hpp"
#include "attn/layers/gated_feed_forward.hpp"
#include "attn/layers/layer_norm.hpp"
#include "attn/layers/linear.hpp"
#include "attn/layers/rms_norm.hpp"
#include "attn/training/functions.hpp"
#include "pieces/kinds.hpp"
#include "reference/activation.hpp"
#include "reference/feed_forward.hpp"
#include "reference/layer_norm.hpp"
#include "reference/linear.hpp"
#include "reference/rms_norm.hpp"

namespace attn_fuzz {

using attn::Variable;
using reference::Scalar;

Piece linear(Choices& choices, Sizes& sizes) {
  const std::int64_t out = choices.size(1, 40);
  auto layer = std::make_shared<attn::Linear>(sizes.width, out, choices.one_in(2));
  sizes.width = out;
  return piece_of("Linear", layer, [](const Scalars& x, const Parameters& p) {
    return reference::linear<Scalar>({x, {}}, p.at("weight"), given(p, "bias")).exact;
  });
}

Piece norm(Choices& choices, const Sizes& sizes) {
  const bool affine = choices.one_in(2);
  if (choices.one_in(2)) {
    auto layer = std::make_shared<attn::RmsNorm>(
        sizes.width, attn::RmsNormOptions{.eps = 1e-3F, .elementwise_affine = affine});
    return piece_of("RmsNorm", layer, [](const Scalars& x, const Parameters& p) {
      return reference::rms_norm(x, given(p, "weight"), static_cast<double>(1e-3F));
    });
  }
  auto layer = std::make_shared<attn::LayerNorm>(
      sizes.width, attn::LayerNormOptions{.eps = 1e-3F, .elementwise_affine = affine});
  return piece_of("LayerNorm", layer, [](const Scalars& x, const Parameters& p) {
    return reference::layer_norm(x, given(p, "weight"), given(p, "bias"),
                                 static_cast<double>(1e-3F));
  });
}

attn::Activation choose_activation(Choices& choices) {
  return reference::kActivations[choices.integer(0, std::ssize(reference::kActivations) - 1)];
}

Piece feed_forward(Choices& choices, const Sizes& sizes) {
  const attn::Activation f = choose_activation(choices);
  const std::int64_t hidden = choices.size(1, 40);
  if (choices.one_in(2)) {
    auto layer = std::make_shared<attn::GatedFeedForward>(attn::GatedFeedForwardOptions{
        .d_model = sizes.width, .dim_feedforward = hidden, .activation = f});
    return piece_of("GatedFeedForward", layer, [f](const Scalars& x, const Parameters& p) {
      return reference::gated_feed_forward<Scalar>(
          {f, p.at("gate_proj.weight"), p.at("up_proj.weight"), p.at("down_proj.weight")}, x);
    });
  }
  auto layer =
      std::make_shared<attn::FeedForward>(attn::FeedForwardOptions{.d_model = sizes.width,
                                                                   .dim_feedforward = hidden,
                                                                   .activation = f,
                                                                   .bias = choices.one_in(2)});
  return piece_of("FeedForward", layer, [f](const Scalars& x, const Parameters& p) {
    return reference::feed_forward<Scalar>({f, p.at("linear1.weight"), given(p, "linear1.bias"),
                                            p.at("linear2.weight"), given(p, "linear2.bias")},
                                           x);
  });
}

Piece activation(Choices& choices) {
  const attn::Activation f = choose_activation(choices);
  return {"apply_activation", nullptr,
          [f](attn::Tape&, const Variable& x) { return attn::apply_activation(x, f); },
          [f](Scalars x, const Parameters&) {
            for (Scalar& value : x.values) value = reference::activate(f, value);
            return x;
          }};
}

Piece square() {
  return {"operator*", nullptr, [](attn::Tape&, const Variable& x) { return x * (0.5F * x); },
          [](Scalars x, const Parameters&) {
            for (Scalar& value : x.values) value = value * (Scalar(0.5) * value);
            return x;
          }};
}

reference::Array kept_elements(const std::vector<std::int64_t>& shape, float probability,
                               const attn::RandomStream& random) {
  reference::Array kept(shape);
  const auto p = static_cast<double>(probability);
  for (std::size_t i = 0; i < kept.values.size(); ++i) {
    const bool dropped = (random.words(i / 4)[i % 4] >> 8) * 0x1p-24 < p;
    kept.values[i] = dropped ? 0 : 1 / (1 - p);
  }
  return kept;
}

Piece dropout(Choices& choices) {
  const attn::Dropout d{.probability = static_cast<float>(choices.integer(0, 7)) / 8,
                        .training = true,
                        .random = choose_stream(choices)};
  return {"apply_dropout", nullptr,
          [d](attn::Tape&, const Variable& x) { return attn::apply_dropout(x, d); },
          [d](Scalars x, const Parameters&) {
            reference::drop(x, kept_elements(x.shape, d.probability, d.random));
            return x;
          }};
}

Piece slice(Choices& choices, Sizes& sizes) {
  const bool tokens = choices.one_in(2);
  std::int64_t& size = tokens ? sizes.length : sizes.width;
  const std::int64_t begin = choices.integer(0, size - 1), end = choices.integer(begin + 1, size);
  size = end - begin;
  return {
      "slice", nullptr,
      [=](attn::Tape&, const Variable& x) { return attn::slice(x, tokens ? 1 : 2, begin, end); },
      [=](const Scalars& x, const Parameters&) {
        Scalars y({x.size(0), tokens ? end - begin : x.size(1), tokens ? x.size(2) : end - begin});
        for (std::int64_t b = 0; b < y.size(0); ++b) {
          for (std::int64_t t = 0; t < y.size(1); ++t) {
            for (std::int64_t c = 0; c < y.size(2); ++c) {
              y.at({b, t, c}) = tokens ? x.at({b, begin + t, c}) : x.at({b, t, begin + c});
            }
          }
        }
        return y;
      }};
}

}  // namespace attn_fuzz
