#include "attn/layers/parameters.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "validation.hpp"

namespace attn {
namespace {

/// Copies a strided tensor row-major to `target`; returns the place behind it.
float* copy_row_major(const ConstTensor& source, float* target) {
  if (source.rank() == 0) {
    *target = *source.data();
    return target + 1;
  }
  for (std::int64_t i = 0; i < source.size(0); ++i) {
    if (source.rank() == 1) {
      *target++ = source(i);
    } else {
      target = copy_row_major(source.select(0, i), target);
    }
  }
  return target;
}

}  // namespace

void Parameters::add(std::string name, std::span<const std::int64_t> shape) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) {
    validation::require_at_least(name, size, 0);
    count = validation::product(name, {count, size});
  }
  const std::size_t size = validation::allocation(name, count, sizeof(float));
  entries_.push_back({std::move(name), {shape.begin(), shape.end()}, std::vector<float>(size)});
}

std::vector<std::string> Parameters::names() const {
  std::vector<std::string> result;
  result.reserve(entries_.size());
  for (const Entry& entry : entries_) result.push_back(entry.name);
  return result;
}

bool Parameters::contains(std::string_view name) const noexcept {
  return std::ranges::any_of(entries_, [&](const Entry& entry) { return entry.name == name; });
}

const Parameters::Entry& Parameters::find(std::string_view name) const {
  for (const Entry& entry : entries_) {
    if (entry.name == name) return entry;
  }
  std::string known;
  for (const Entry& entry : entries_) known += (known.empty() ? "" : ", ") + entry.name;
  validation::fail(ErrorCode::kNotFound, "name", {"\"", name, "\""}, {"one of: ", known});
}

ConstTensor Parameters::get(std::string_view name) const {
  const Entry& entry = find(name);
  return ConstTensor(entry.values.data(), entry.shape);
}

Tensor Parameters::mutable_view(std::string_view name) {
  auto& entry = const_cast<Entry&>(find(name));
  return Tensor(entry.values.data(), entry.shape);
}

void Parameters::set(std::string_view name, const ConstTensor& values) {
  const Tensor target = mutable_view(name);
  if (!std::ranges::equal(values.shape(), target.shape())) {
    validation::fail_shape(name, values.shape(), {"shape ", target.shape()});
  }
  validation::require_data(name, values);
  copy_row_major(values, target.data());
}

}  // namespace attn
