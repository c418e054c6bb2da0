#include "pieces/places.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <span>

#include "reference/rotary_embedding.hpp"

namespace attn_fuzz {

Rotation choose_rotation(Choices& choices, std::int64_t head_dim) {
  Rotation rotation;
  const std::int64_t pairs = choices.one_in(2) ? choices.integer(1, head_dim / 2) : head_dim / 2;
  rotation.options.rotary_dim = 2 * pairs;
  rotation.options.base = 100;
  rotation.axes.assign(static_cast<std::size_t>(pairs), 0);
  std::vector<std::int64_t>& sections = rotation.options.sections;
  const std::int64_t axes = choices.integer(0, 3);
  if (axes > 0) {
    const std::int64_t order = choices.integer(0, 2);
    rotation.options.axes = static_cast<attn::RotaryAxes>(order);
    sections.assign(static_cast<std::size_t>(axes), 0);
    std::int64_t left = pairs;
    for (std::int64_t axis = axes - 1; axis > 0; --axis) {
      // Pair j belongs to axis j modulo the number of axes.
      const bool in_turns = rotation.options.axes == attn::RotaryAxes::kInterleaved;
      const std::int64_t most = in_turns ? (pairs - axis + axes - 1) / axes : left;
      std::int64_t& section = sections[static_cast<std::size_t>(axis)];
      section = choices.integer(0, std::max<std::int64_t>(most, 0));
      left -= section;
    }
    sections[0] = left;
    std::size_t pair = 0;
    for (std::size_t axis = 0; axis < sections.size(); ++axis) {
      for (std::int64_t i = 0; i < sections[axis]; ++i, ++pair) {
        if (rotation.options.axes != attn::RotaryAxes::kInterleaved) {
          rotation.axes[pair] = axis;
        } else if (axis > 0) {
          rotation.axes[sections.size() * static_cast<std::size_t>(i) + axis] = axis;
        }
      }
    }
  }
  rotation.is_dynamic = rotation.options.axes != attn::RotaryAxes::kAxial && choices.one_in(4);
  if (rotation.is_dynamic) {
    rotation.options.scaling =
        attn::DynamicNtkRotaryScaling{.factor = 4, .max_position_embeddings = 5};
  }
  return rotation;
}

std::vector<long double> Rotation::frequencies(std::int64_t num_keys) const {
  using reference::RotaryFrequencies;
  if (!options.sections.empty() && options.axes == attn::RotaryAxes::kAxial) {
    std::vector<long double> result;
    for (const std::int64_t section : options.sections) {
      for (std::int64_t i = 0; i < section; ++i) {
        result.push_back(
            std::pow(static_cast<long double>(options.base),
                     -static_cast<long double>(i) / static_cast<long double>(section)));
      }
    }
    return result;
  }
  RotaryFrequencies rule{.dim = options.rotary_dim, .base = options.base};
  if (is_dynamic) {
    rule.type = RotaryFrequencies::Type::kDynamic;
    rule.factor = 4;
    rule.max_position_embeddings = 5;
    rule.sequence_length = static_cast<double>(num_keys);
  }
  return reference::rotary_frequencies(rule);
}

attn::TensorView<const double> GivenPositions::view() const {
  if (!given()) return {};
  return {values.data(), std::span<const std::int64_t>(shape)};
}

GivenPositions choose_positions(Choices& choices, const Rotation& rotation, std::int64_t batch,
                                std::int64_t rows) {
  GivenPositions result;
  const auto axes = static_cast<std::int64_t>(rotation.options.sections.size());
  switch (choices.integer(0, axes > 0 ? 5 : 2)) {
    case 0:
      return result;
    case 1:
      result.shape = {rows};
      break;
    case 2:
      result.shape = {batch, rows};
      break;
    case 3:
      result.shape = {axes, 1, rows};
      break;
    default:
      result.shape = {axes, batch, rows};
  }
  std::int64_t count = 1;
  for (const std::int64_t size : result.shape) count *= size;
  constexpr std::int64_t kEnds[] = {3, 20, 1000};
  const std::int64_t end = kEnds[choices.integer(0, 2)];
  const std::int64_t begin = choices.one_in(4) ? -end : 0;
  const double step = choices.one_in(4) ? 0.25 : 1;
  std::mt19937_64 engine(choices.bits<std::uint16_t>());
  for (std::int64_t i = 0; i < count; ++i) {
    const auto drawn =
        static_cast<std::int64_t>(engine() % static_cast<std::uint64_t>(end - begin));
    result.values.push_back(step * static_cast<double>(begin + drawn));
  }
  return result;
}

std::vector<double> places_of(const GivenPositions& positions, const Rotation& rotation,
                              std::int64_t batch, std::int64_t rows,
                              const std::vector<double>& first) {
  const std::size_t used = 1 + *std::max_element(rotation.axes.begin(), rotation.axes.end());
  const bool per_axis = positions.shape.size() == 3;
  const bool per_entry = positions.shape.size() > 1 && positions.shape.end()[-2] == batch;
  std::vector<double> result;
  for (std::size_t axis = 0; axis < used; ++axis) {
    for (std::int64_t b = 0; b < batch; ++b) {
      for (std::int64_t i = 0; i < rows; ++i) {
        if (!positions.given()) {
          result.push_back(first[static_cast<std::size_t>(b)] + static_cast<double>(i));
          continue;
        }
        const std::int64_t entries = per_entry ? batch : 1;
        const std::int64_t row =
            (per_axis ? static_cast<std::int64_t>(axis) : 0) * entries + (per_entry ? b : 0);
        result.push_back(positions.values[static_cast<std::size_t>(row * rows + i)]);
      }
    }
  }
  return result;
}

}  // namespace attn_fuzz
