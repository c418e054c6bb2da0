#include "attn/layers/intermediates.hpp"

#include <algorithm>
#include <utility>

#include "validation.hpp"

namespace attn {

Intermediates::Intermediates(std::vector<std::string> names) {
  entries_.reserve(names.size());
  for (std::string& name : names) {
    if (!find(name)) entries_.push_back({.name = std::move(name)});
  }
}

std::vector<std::string> Intermediates::names() const {
  std::vector<std::string> result;
  result.reserve(entries_.size());
  for (const Entry& entry : entries_) result.push_back(entry.name);
  return result;
}

const Intermediates::Entry* Intermediates::find(std::string_view name) const noexcept {
  const auto found = std::ranges::find(entries_, name, &Entry::name);
  return found == entries_.end() ? nullptr : &*found;
}

bool Intermediates::contains(std::string_view name) const noexcept {
  const Entry* entry = find(name);
  return entry && entry->computed && !running_;
}

ConstTensor Intermediates::operator[](std::string_view name) const {
  if (!contains(name)) {
    validation::fail(
        ErrorCode::kNotFound, "name", {"\"", name, "\""},
        {"an intermediate that the last call ", find(name) ? "computed" : "requested"});
  }
  const Entry& entry = *find(name);
  return ConstTensor(entry.values.data(), entry.shape);
}

}  // namespace attn
