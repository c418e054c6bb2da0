#include "pieces/pieces.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "attn/training/functions.hpp"
#include "pieces/kinds.hpp"

namespace attn_fuzz {

using attn::Variable;
using reference::Scalar;

Scalars reshaped(Scalars x, std::vector<std::int64_t> shape) {
  x.shape = std::move(shape);
  return x;
}

Scalars given(const Parameters& parameters, const std::string& name) {
  const auto found = parameters.find(name);
  return found == parameters.end() ? Scalars() : found->second;
}

Scalars rows_of(const Scalars& x, std::int64_t begin, std::int64_t end) {
  if (!x.given()) return {};
  std::vector<std::int64_t> shape = x.shape;
  const auto row = static_cast<std::int64_t>(x.values.size()) / shape[0];
  shape[0] = end - begin;
  return Scalars(shape,
                 std::vector<Scalar>(x.values.begin() + begin * row, x.values.begin() + end * row));
}

attn::RandomStream choose_stream(Choices& choices) {
  return {.seed = choices.bits<std::uint16_t>(), .stream = choices.bits<std::uint8_t>()};
}

namespace {

/// x + f(x), or x and f(x) concatenated. Requires that both have the same shape.
Piece with_residual(Choices& choices, const Piece& inner, Sizes& sizes) {
  if (choices.one_in(2)) {
    return {inner.name + " + x", inner.module,
            [f = inner.record](attn::Tape& tape, const Variable& x) { return x + f(tape, x); },
            [f = inner.exact](const Scalars& x, const Parameters& p) {
              Scalars y = f(x, p);
              for (std::size_t i = 0; i < y.values.size(); ++i) y.values[i] += x.values[i];
              return y;
            }};
  }
  sizes.length *= 2;
  return {"x and " + inner.name, inner.module,
          [f = inner.record](attn::Tape& tape, const Variable& x) {
            return attn::concatenate({x, f(tape, x)}, 1);
          },
          [f = inner.exact](const Scalars& x, const Parameters& p) {
            const Scalars y = f(x, p);
            Scalars all;
            all.shape = {x.size(0), 2 * x.size(1), x.size(2)};
            const std::int64_t count = x.size(1) * x.size(2);
            for (std::int64_t b = 0; b < x.size(0); ++b) {
              for (const Scalars* part : {&x, &y}) {
                all.values.insert(all.values.end(), part->values.begin() + b * count,
                                  part->values.begin() + (b + 1) * count);
              }
            }
            return all;
          }};
}

}  // namespace

Piece choose_piece(Choices& choices, Sizes& sizes) {
  const Sizes before = sizes;
  const auto chosen = [&] {
    switch (choices.integer(0, 14)) {
      case 0:
        return linear(choices, sizes);
      case 1:
        return norm(choices, sizes);
      case 2:
        return feed_forward(choices, sizes);
      case 3:
        return activation(choices);
      case 4:
        return square();
      case 5:
        return recurrent(choices, sizes);
      case 6:
        return convolution(choices, sizes);
      case 7:
        return pooling(choices, sizes);
      case 8:
        return decoder(choices, sizes);
      case 9:
        return slice(choices, sizes);
      case 10:
        return sizes.width > 1 ? rotary(choices, sizes) : norm(choices, sizes);
      case 11:
        return dropout(choices);
      case 12:
        return encoder_layer(choices, sizes);
      case 13:
        return decoder_layer(choices, sizes);
      default:
        return attention(choices, sizes);
    }
  };
  Piece piece = chosen();
  const bool same = sizes.length == before.length && sizes.width == before.width;
  if (!same || sizes.length > 30 || !choices.one_in(3)) return piece;
  return with_residual(choices, piece, sizes);
}

}  // namespace attn_fuzz
