// Learning-rate schedules.

#include <emscripten/bind.h>

#include <cstdint>

#include "attn/training/schedules.hpp"
#include "guarded.hpp"

namespace attn::wasm {
namespace {

double constant_rate(double step, double peak, double warmup_steps) {
  return constant_learning_rate(static_cast<std::int64_t>(step), peak,
                                static_cast<std::int64_t>(warmup_steps));
}

double cosine_rate(double step, double peak, double warmup_steps, double total_steps, double last) {
  return cosine_learning_rate(static_cast<std::int64_t>(step), peak,
                              static_cast<std::int64_t>(warmup_steps),
                              static_cast<std::int64_t>(total_steps), last);
}

double inverse_sqrt_rate(double step, double d_model, double warmup_steps, double factor) {
  return inverse_sqrt_learning_rate(static_cast<std::int64_t>(step),
                                    static_cast<std::int64_t>(d_model),
                                    static_cast<std::int64_t>(warmup_steps), factor);
}

}  // namespace

EMSCRIPTEN_BINDINGS(learning_rates) {
  using emscripten::function;
  function("constantLearningRate", guarded<&constant_rate>);
  function("cosineLearningRate", guarded<&cosine_rate>);
  function("inverseSqrtLearningRate", guarded<&inverse_sqrt_rate>);
}

}  // namespace attn::wasm
