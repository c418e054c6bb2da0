#include "pieces/terms.hpp"

#include <algorithm>
#include <limits>

#include "attn/training/functions.hpp"

namespace attn_fuzz {

using attn::Variable;
using reference::Array;
using reference::Scalar;

Terms::Use Terms::choose(Choices& choices, const std::vector<std::int64_t>& shape,
                         bool may_exclude) {
  const auto of_shape = [&](const Term& term) {
    return term.shape == shape && term.kind != Kind::kTensor && (may_exclude || !term.excludes);
  };
  const auto found = std::find_if(all_.begin(), all_.end(), of_shape);
  if (found != all_.end() && !choices.one_in(3)) {
    // Uses the first or the last term that has the required shape, with equal probability.
    const auto last = std::find_if(all_.rbegin(), all_.rend(), of_shape);
    const auto index = choices.one_in(2) ? all_.rend() - last - 1 : found - all_.begin();
    const Term& term = all_[static_cast<std::size_t>(index)];
    return {static_cast<std::size_t>(index), !term.excludes && choices.one_in(4)};
  }
  Term term{.shape = shape};
  const std::int64_t kind = choices.integer(0, 7);
  if (kind == 6) term.kind = Kind::kConstant;
  if (kind == 7) term.kind = Kind::kTensor;
  term.excludes = may_exclude && choices.one_in(4);
  const bool halved = !term.excludes && term.kind != Kind::kTensor && choices.one_in(4);
  all_.push_back(std::move(term));
  return {all_.size() - 1, halved};
}

void Terms::offer(const attn::Module& module) {
  for (const std::string& name : module.parameter_names()) {
    const attn::ConstTensor values = module.parameter(name);
    all_.push_back({.shape = {values.shape().begin(), values.shape().end()},
                    .kind = Kind::kParameter,
                    .module = &module,
                    .parameter = name});
  }
}

void Terms::draw(attn::Tape& tape, reference::Tape& exact, std::mt19937_64& engine) {
  for (Term& term : all_) {
    if (term.kind == Kind::kParameter) continue;
    term.values = attn::OwnedTensor(std::span<const std::int64_t>(term.shape));
    for (float& x : term.values.values()) {
      x = static_cast<float>(engine() >> 40) * 0x1p-23F - 1;
      if (term.excludes && engine() % 4 == 0) x = -std::numeric_limits<float>::infinity();
    }
    const Array given(
        term.shape, std::vector<double>(term.values.values().begin(), term.values.values().end()));
    const bool varies = term.kind == Kind::kVariable;
    term.exact = varies ? exact.variables(given) : Scalars(given);
    if (varies) term.variable = tape.variable(term.values);
    if (term.kind == Kind::kConstant) term.variable = tape.constant(term.values);
  }
}

void Terms::set_parameters(const attn::Module& module, const Parameters& parameters) {
  for (Term& term : all_) {
    if (term.module == &module) term.exact = parameters.at(term.parameter);
  }
}

Variable Terms::variable(attn::Tape& tape, const Use& use) const {
  const Term& term = all_[use.index];
  if (term.kind == Kind::kTensor) return {};
  const Variable whole = term.module ? tape.parameter(*term.module, term.parameter) : term.variable;
  return use.halved ? 0.5F * whole : whole;
}

Scalars Terms::exact(const Use& use) const {
  Scalars result = all_[use.index].exact;
  if (use.halved) {
    for (Scalar& x : result.values) x = Scalar(0.5) * x;
  }
  return result;
}

}  // namespace attn_fuzz
