#include "attn/layers/interventions.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "row_runs.hpp"
#include "validation.hpp"

namespace attn {

void Interventions::ablate(std::string name, Ablation ablation, const ValuePart& part) {
  edits_.push_back({.name = std::move(name), .part = part, .ablation = ablation});
}

void Interventions::patch(std::string name, const ConstTensor& values, const ValuePart& part) {
  validation::require_data(name, values);
  if (values.rank() == 0) validation::fail_shape(name, values.shape(), {"at least one dimension"});
  const std::span<const std::int64_t> shape = values.shape();
  const std::int64_t count = validation::product(name, shape);
  Edit edit{.name = std::move(name), .part = part, .ablation = {}};
  edit.shape.assign(shape.begin(), shape.end());
  edit.values.resize(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    edit.values[static_cast<std::size_t>(i)] = *element(values, i);
  }
  edits_.push_back(std::move(edit));
}

void Interventions::knock_out(std::string attention, std::optional<std::int64_t> head,
                              std::int64_t query, std::int64_t key) {
  knockouts_.push_back({std::move(attention), head, query, key});
}

std::vector<std::string> Interventions::names_of(const Module& layer) {
  constexpr std::array<std::string_view, 5> kStages = {"scaled_scores", "capped_scores",
                                                       "biased_scores", "weights", "log_sum_exp"};
  std::vector<std::string> names = layer.intermediate_names();
  std::erase_if(names, [&](std::string_view name) {
    return std::ranges::find(kStages, name.substr(name.rfind('.') + 1)) != kStages.end();
  });
  return names;
}

}  // namespace attn
