// What is recorded by the old protocol.

#include <emscripten/bind.h>

#include <cstdint>

#include "arguments.hpp"
#include "attn/positions/rotary_embedding.hpp"
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

void run_rotary_embedding(Arguments& a) {
  const Recorder record(a);
  const Variable x = record.variable();
  const auto& rotary = a.object<RotaryEmbedding>();
  const RotaryPositions positions = rotary_positions(a);
  record.give(rotary.forward(x, positions, a.integer()));
}

}  // namespace

EMSCRIPTEN_BINDINGS(training) {
  emscripten::function("variableAt", &variable_at, emscripten::allow_raw_pointers());
  operation("recordRotaryEmbedding", &run_rotary_embedding);
}

}  // namespace attn::wasm
