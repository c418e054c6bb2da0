// What is recorded by the old protocol.

#include <emscripten/bind.h>

#include <cstdint>

#include "arguments.hpp"
#include "attn/io/state_dict.hpp"
#include "attn/pooling/attention_pooling.hpp"
#include "attn/positions/positional_encoding.hpp"
#include "attn/positions/rotary_embedding.hpp"
#include "attn/training/optimizers.hpp"
#include "attn/training/pooling.hpp"
#include "attn/training/tape.hpp"

namespace attn::wasm {
namespace {

/// Reads variables, and gives one.
class Recorder {
 public:
  explicit Recorder(Arguments& arguments) : arguments_(arguments) {}

  Variable variable() const {
    const auto* variable = arguments_.optional_object<Variable>();
    return variable ? *variable : Variable();
  }

  void give(const Variable& variable) const {
    const auto* given = new Variable(variable);
    arguments_.give(static_cast<const void*>(given));
  }

 private:
  Arguments& arguments_;
};

Variable* variable_at(std::uintptr_t address) { return reinterpret_cast<Variable*>(address); }

void run_attention_pooling(Arguments& a) {
  const Recorder record(a);
  const Variable query = record.variable(), key = record.variable(), value = record.variable();
  const ScoringFunction scoring = scoring_function(a);
  const AttentionPoolingOptions options = pooling_options(a);
  record.give(attention_pooling(query, key, value, scoring, options, record.variable()));
}

void run_rotary_embedding(Arguments& a) {
  const Recorder record(a);
  const Variable x = record.variable();
  const auto& rotary = a.object<RotaryEmbedding>();
  const RotaryPositions positions = rotary_positions(a);
  record.give(rotary.forward(x, positions, a.integer()));
}

void run_positional_encoding(Arguments& a) {
  const Recorder record(a);
  const Variable x = record.variable();
  PositionalEncodingOptions options;
  options.base = a.number();
  options.layout = a.choice<SinusoidalLayout>();
  const double start = a.number();
  record.give(PositionalEncoding(options).forward(x, start, a.dropout()));
}

void run_additive_attention(Arguments& a) {
  const auto& attention = a.layer<AdditiveAttention>();
  const Recorder record(a);
  const bool projected = a.flag();
  const Variable query = record.variable(), key = record.variable(), value = record.variable();
  const AttentionPoolingOptions options = pooling_options(a);
  record.give(projected ? attention.forward_projected(query, key, value, options)
                        : attention.forward(query, key, value, options));
}

void run_project_keys(Arguments& a) {
  const auto& attention = a.layer<AdditiveAttention>();
  const Recorder record(a);
  record.give(attention.project_keys(record.variable()));
}

/// Gives the names that are missing, then those that are unexpected; and how many are missing.
void load_state(Arguments& a) {
  auto& optimizer = a.object<Optimizer>();
  const auto& file = a.object<Safetensors>();
  const std::string_view prefix = a.text();
  IncompatibleKeys keys = load_state_dict(optimizer, file, prefix, a.flag());
  std::vector<std::string>& names = keys.missing_keys;
  const auto missing = static_cast<double>(names.size());
  names.insert(names.end(), keys.unexpected_keys.begin(), keys.unexpected_keys.end());
  a.give(std::move(names));
  a.give(missing);
}

}  // namespace

EMSCRIPTEN_BINDINGS(training) {
  emscripten::function("variableAt", &variable_at, emscripten::allow_raw_pointers());
  operation("recordAttentionPooling", &run_attention_pooling);
  operation("recordRotaryEmbedding", &run_rotary_embedding);
  operation("recordPositionalEncoding", &run_positional_encoding);
  operation("recordAdditiveAttention", &run_additive_attention);
  operation("recordProjectKeys", &run_project_keys);
  operation("loadOptimizerState", &load_state);
}

}  // namespace attn::wasm
