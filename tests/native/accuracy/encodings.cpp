#include <algorithm>
#include <cmath>
#include <span>

#include "accuracy/accuracy.hpp"
#include "attn/positions/alibi.hpp"
#include "attn/positions/learned_positional_encoding.hpp"
#include "attn/positions/positional_encoding.hpp"
#include "attn/positions/rotary_embedding.hpp"
#include "attn/positions/sinusoidal_encoding.hpp"
#include "attn/teaching/relative_skew.hpp"
#include "attn/teaching/shift_matrix.hpp"
#include "reference/relative_skew.hpp"
#include "reference/rotary_embedding.hpp"
#include "reference/sinusoidal_encoding.hpp"

namespace accuracy {
namespace {

using reference::Array;

constexpr double k2To24 = 16777216;
constexpr std::int64_t kWidth = 64;

double sinusoidal_bound(double position) { return 3.1e-8 + 4.5e-16 * std::abs(position); }

std::vector<double> positions_from(double start, std::int64_t rows) {
  std::vector<double> positions;
  for (std::int64_t i = 0; i < rows; ++i) positions.push_back(start + static_cast<double>(i));
  return positions;
}

/// Fractional positions of both signs and of all magnitudes up to 2^24.
std::vector<double> positions_of_every_size(Case& c, std::int64_t count) {
  std::vector<double> positions;
  for (const float exponent : c.uniforms(count, -1, 24)) {
    positions.push_back((positions.size() % 2 == 0 ? 1 : -1) * std::exp2(double{exponent}));
  }
  positions.front() = k2To24;
  positions.back() = -k2To24;
  return positions;
}

void measure_table(Case& c, double start, std::int64_t rows) {
  std::vector<float> table(static_cast<std::size_t>(rows * kWidth));
  attn::sinusoidal_encoding({table.data(), {rows, kWidth}}, {.start = start}, c.context());
  const double farthest = std::max(std::abs(start), std::abs(start + static_cast<double>(rows)));
  c.add(table, reference::sinusoidal_encoding({positions_from(start, rows), kWidth}),
        sinusoidal_bound(farthest + 64));
}

const char* const kSinusoidalBound = "3.1e-8 + 4.5e-16·|p|";

const Row kNear("sinusoidal_encoding", "p = 0 … 1023, d 64", kSinusoidalBound,
                [](Case& c) { measure_table(c, 0, 1024); });
const Row kFar("sinusoidal_encoding", "256 p up to 2^24, d 64", kSinusoidalBound,
               [](Case& c) { measure_table(c, k2To24 - 255, 256); });
const Row kFarBack("sinusoidal_encoding", "256 p from −2^24, d 64", kSinusoidalBound,
                   [](Case& c) { measure_table(c, -k2To24, 256); });
const Row kFarther("sinusoidal_encoding", "64 p from 2^31, d 64", kSinusoidalBound,
                   [](Case& c) { measure_table(c, 0x1p31, 64); });

const Row kAt("sinusoidal_encoding_at", "fractional |p| ≤ 2^24, d 33", kSinusoidalBound,
              [](Case& c) {
                const std::vector<double> positions = positions_of_every_size(c, 128);
                std::vector<float> table(128 * 33);
                attn::sinusoidal_encoding_at(positions, {table.data(), {128, 33}}, {}, c.context());
                const Array exact = reference::sinusoidal_encoding({positions, 33});
                for (std::size_t i = 0; i < table.size(); ++i) {
                  c.add(table[i], exact.values[i], sinusoidal_bound(positions[i / 33]));
                }
              });

const Row kFloat32Error("sinusoidal_encoding_in_float32, error", "p = 1e6 … 1e6 + 127, d 64",
                        "6e-8·|error| + 4.5e-16·|p|", [](Case& c) {
                          constexpr std::int64_t kRows = 128;
                          std::vector<float> encoding(kRows * kWidth), error(kRows * kWidth);
                          attn::sinusoidal_encoding_in_float32({encoding.data(), {kRows, kWidth}},
                                                               {error.data(), {kRows, kWidth}},
                                                               {.start = 1e6}, c.context());
                          const Array exact =
                              reference::sinusoidal_encoding({positions_from(1e6, kRows), kWidth});
                          for (std::size_t i = 0; i < error.size(); ++i) {
                            const double difference = encoding[i] - exact.values[i];
                            c.add(error[i], difference,
                                  6e-8 * std::abs(difference) + 4.5e-16 * (1e6 + kRows));
                          }
                        });

const Row kPositionalEncoding("PositionalEncoding", "(2, 200, 48), start 1000",
                              "3.2e-8 + 6e-8·|x + P|", [](Case& c) {
                                const std::vector<float> x = c.normals(2 * 200 * 48);
                                std::vector<float> output(x.size());
                                attn::PositionalEncoding().forward({x.data(), {2, 200, 48}},
                                                                   {output.data(), {2, 200, 48}},
                                                                   1000, {}, c.context());
                                const Array table =
                                    reference::sinusoidal_encoding({positions_from(1000, 200), 48});
                                for (std::size_t i = 0; i < x.size(); ++i) {
                                  const double exact = x[i] + table.values[i % table.values.size()];
                                  c.add(output[i], exact, 3.2e-8 + 6e-8 * std::abs(exact));
                                }
                              });

const Row kLearned("LearnedPositionalEncoding", "(2, 200, 48), start 7", "6e-8·|x + weight|",
                   [](Case& c) {
                     attn::LearnedPositionalEncoding layer(256, 48);
                     layer.initialize_normal(3, 1, c.context());
                     const std::vector<float> x = c.normals(2 * 200 * 48);
                     std::vector<float> output(x.size());
                     layer.forward({x.data(), {2, 200, 48}}, {output.data(), {2, 200, 48}}, 7, {},
                                   c.context());
                     const float* row = layer.parameter("weight").data() + 7 * 48;
                     for (std::size_t i = 0; i < x.size(); ++i) {
                       const double exact = double{x[i]} + row[i % (200 * 48)];
                       c.add(output[i], exact, 6e-8 * std::abs(exact));
                     }
                   });

/// cos(δ·ω_j) or sin(δ·ω_j).
long double shifted(double delta, std::int64_t j, bool cosine) {
  const long double angle = delta * reference::sinusoidal_frequency(10000, j, kWidth);
  return cosine ? std::cos(angle) : std::sin(angle);
}

const Row kShiftMatrix("shift_matrix", "|δ| ≤ 2^24, d 64", "3.1e-8 + 4.5e-16·|δ|", [](Case& c) {
  for (const double delta : positions_of_every_size(c, 16)) {
    std::vector<float> matrix(kWidth * kWidth);
    attn::shift_matrix({matrix.data(), {kWidth, kWidth}}, delta, {}, c.context());
    for (std::int64_t r = 0; r < kWidth; ++r) {
      for (std::int64_t col = 0; col < kWidth; ++col) {
        long double exact = 0;
        if (r == col) exact = shifted(delta, r / 2, true);
        if (r == (col ^ 1)) exact = shifted(delta, r / 2, false) * (r % 2 == 0 ? 1 : -1);
        c.add(matrix[static_cast<std::size_t>(r * kWidth + col)], exact, sinusoidal_bound(delta));
      }
    }
  }
});

const Row kApplyShift("apply_shift", "P at |p| ≤ 2^24, |δ| ≤ 2^24, d 64", "2.7e-7", [](Case& c) {
  const std::vector<double> positions = positions_of_every_size(c, 64);
  std::vector<float> table(64 * kWidth);
  attn::sinusoidal_encoding_at(positions, {table.data(), {64, kWidth}}, {}, c.context());
  for (const double delta : positions_of_every_size(c, 8)) {
    std::vector<double> later = positions;
    for (double& position : later) position += delta;
    std::vector<float> output(table.size());
    attn::apply_shift({table.data(), {64, kWidth}}, delta, {output.data(), {64, kWidth}}, {},
                      c.context());
    c.add(output, reference::sinusoidal_encoding({later, kWidth}), 2.7e-7);
  }
});

void measure_tables(Case& c, const attn::RotaryEmbeddingOptions& options,
                    const reference::RotaryFrequencies& frequencies, double per_position) {
  const attn::RotaryEmbedding rotary(options);
  const std::int64_t half = options.rotary_dim / 2;
  const std::vector<double> positions = positions_of_every_size(c, 64);
  std::vector<float> cos(static_cast<std::size_t>(64 * half));
  std::vector<float> sin(cos.size());
  rotary.tables({cos.data(), {64, half}}, {sin.data(), {64, half}},
                {.positions = {positions.data(), {64}}}, c.context());
  const double a = rotary.attention_factor();
  const std::vector<long double> exact = reference::rotary_frequencies(frequencies);
  for (std::size_t i = 0; i < cos.size(); ++i) {
    const double position = positions[i / exact.size()];
    const long double angle = position * exact[i % exact.size()];
    const double bound = a * ((a == 1 ? 3.1e-8 : 6e-8) + per_position * std::abs(position));
    c.add(cos[i], a * std::cos(angle), bound);
    c.add(sin[i], a * std::sin(angle), bound);
  }
}

const Row kRotaryTables("RotaryEmbedding, tables", "fractional |p| ≤ 2^24, d 64", kSinusoidalBound,
                        [](Case& c) {
                          measure_tables(c, {.rotary_dim = 64}, {.dim = 64}, 4.5e-16);
                        });
const Row kRotaryLlama3(
    "RotaryEmbedding, tables, Llama 3", "|p| ≤ 2^24, d 128, base 5e5", "3.1e-8 + 1e-15·|p|",
    [](Case& c) {
      measure_tables(c, {.rotary_dim = 128, .base = 500000, .scaling = attn::Llama3RotaryScaling{}},
                     {.dim = 128,
                      .base = 500000,
                      .type = reference::RotaryFrequencies::Type::kLlama3,
                      .factor = 8,
                      .max_position_embeddings = 8192},
                     1e-15);
    });
const Row kRotaryYarn("RotaryEmbedding, tables, YaRN", "|p| ≤ 2^24, d 128, factor 4",
                      "a·(6e-8 + 1e-15·|p|)", [](Case& c) {
                        measure_tables(
                            c,
                            {.rotary_dim = 128,
                             .scaling =
                                 attn::YarnRotaryScaling{
                                     .factor = 4, .original_max_position_embeddings = 32768}},
                            {.dim = 128,
                             .type = reference::RotaryFrequencies::Type::kYarn,
                             .factor = 4,
                             .max_position_embeddings = 32768},
                            1e-15);
                      });

void measure_rotation(Case& c, bool interleaved) {
  const attn::RotaryEmbedding rotary({.rotary_dim = 64,
                                      .pairing = interleaved ? attn::RotaryPairing::kInterleaved
                                                             : attn::RotaryPairing::kHalfSplit});
  const std::vector<double> positions = positions_of_every_size(c, 64);
  const std::vector<float> x = c.normals(2 * 64 * 70);
  std::vector<float> output(x.size());
  rotary.forward({x.data(), {1, 2, 64, 70}}, {output.data(), {1, 2, 64, 70}},
                 {.positions = {positions.data(), {64}}}, c.context());
  auto [exact, bounds] = reference::rotary_embedding(
      reference::RotaryEmbedding{Array({1, 2, 64, 70}, x), positions,
                                 reference::rotary_frequencies({.dim = 64}), interleaved});
  for (double& bound : bounds.values) bound *= 1.7e-7;
  c.add(output, exact, bounds);
}

const Row kRotary("RotaryEmbedding", "(1, 2, 64, 70), d 64, |p| ≤ 2^24", "1.7e-7·(|x| + |y|)",
                  [](Case& c) { measure_rotation(c, false); });
const Row kRotaryInterleaved("RotaryEmbedding, interleaved", "(1, 2, 64, 70), d 64, |p| ≤ 2^24",
                             "1.7e-7·(|x| + |y|)", [](Case& c) { measure_rotation(c, true); });

const Row kOnnx("apply_rotary_embedding", "(2, 3, 40, 64), given caches",
                "1.2e-7·(|x·cos| + |y·sin|)", [](Case& c) {
                  reference::OnnxRotaryEmbedding p;
                  const std::vector<float> x = c.normals(2 * 3 * 40 * 64);
                  const std::vector<float> cos = c.uniforms(2 * 40 * 32, -1, 1);
                  const std::vector<float> sin = c.uniforms(2 * 40 * 32, -1, 1);
                  p.input = Array({2, 3, 40, 64}, x);
                  p.cos_cache = Array({2, 40, 32}, cos);
                  p.sin_cache = Array({2, 40, 32}, sin);
                  auto [exact, bounds] = reference::onnx_rotary_embedding(p);
                  for (double& bound : bounds.values) bound *= 1.2e-7;
                  std::vector<float> output(x.size());
                  attn::apply_rotary_embedding({x.data(), {2, 3, 40, 64}},
                                               {cos.data(), {2, 40, 32}}, {sin.data(), {2, 40, 32}},
                                               {output.data(), {2, 3, 40, 64}}, {}, c.context());
                  c.add(output, exact, bounds);
                });

const Row kAlibi("alibi_slopes", "1 … 130 heads", "6e-8·slope", [](Case& c) {
  for (std::size_t heads = 1; heads <= 130; ++heads) {
    std::vector<float> slopes(heads);
    attn::alibi_slopes(slopes);
    std::size_t power = 1;
    while (2 * power <= heads) power *= 2;
    for (std::size_t h = 0; h < heads; ++h) {
      const auto exponent =
          h < power
              ? static_cast<long double>(h + 1) / static_cast<long double>(power)
              : static_cast<long double>(2 * (h - power) + 1) / static_cast<long double>(2 * power);
      const long double exact = std::exp2(-8 * exponent);
      c.add(slopes[h], exact, 6e-8 * static_cast<double>(exact));
    }
  }
});

const Row kSkew("relative_skew", "N 65, D 64", "(D + 2) · 6e-8 · Σ|q·e|", [](Case& c) {
  const std::vector<float> q = c.normals(65 * 64);
  const std::vector<float> table = c.normals(129 * 64);
  std::vector<float> output(65 * 65);
  attn::relative_skew({q.data(), {65, 64}}, {table.data(), {129, 64}}, {output.data(), {65, 65}},
                      {.bidirectional = true}, c.context());
  auto [exact, bounds] = reference::shaw_logits(Array({65, 64}, q), Array({129, 64}, table));
  for (double& bound : bounds.values) bound *= 66 * 6e-8;
  c.add(output, exact, bounds);
});

}  // namespace
}  // namespace accuracy
