#include "attention/staged_outputs.hpp"

#include "attention/attention_options.hpp"
#include "elementwise.hpp"
#include "validation.hpp"

namespace attn {

Tensor staged(const char* name, const Tensor& output, runtime::Execution& run) {
  if (output.is_none()) return {};
  validation::require_data(name, output);
  return Tensor(run.floats(validation::product(name, output.shape()), name), output.shape());
}

AttentionOptions staged(const AttentionOptions& options, runtime::Execution& run) {
  AttentionOptions result = options;
  for (const auto output : kFurtherOutputs) {
    result.*output = staged("attention output", options.*output, run);
  }
  return result;
}

void publish(const Tensor& from, const Tensor& output, runtime::Execution& run) noexcept {
  if (output.is_none()) return;
  copy(from, output, run);
}

void publish(const AttentionOptions& from, const AttentionOptions& options,
             runtime::Execution& run) noexcept {
  for (const auto output : kFurtherOutputs) publish(from.*output, options.*output, run);
}

}  // namespace attn
