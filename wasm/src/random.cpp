// Random numbers and dropout.

#include "attn/random.hpp"

#include <emscripten/bind.h>

#include "attn/layers/dropout.hpp"
#include "attn/layers/initialization.hpp"
#include "context.hpp"
#include "fields.hpp"
#include "guarded.hpp"
#include "tensor_argument.hpp"

namespace attn::wasm {
namespace {

void draw_uniform(const TensorArgument& output, const RandomStream& random, float low, float high) {
  fill_uniform(output.result(), random, low, high, context());
}

void draw_normal(const TensorArgument& output, const RandomStream& random, float mean,
                 float deviation) {
  fill_normal(output.result(), random, mean, deviation, context());
}

void draw_xavier(const TensorArgument& weight, const RandomStream& random, float gain) {
  xavier_uniform(weight.result(), random, gain, context());
}

void drop_out(const TensorArgument& x, const TensorArgument& output, const Dropout& dropout) {
  apply_dropout(x.floats(), output.result(), dropout, context());
}

}  // namespace

EMSCRIPTEN_BINDINGS(random) {
  using emscripten::function;
  emscripten::value_object<RandomStream>("RandomStream")
      .field("seed", get_number<&RandomStream::seed>, set_number<&RandomStream::seed>)
      .field("stream", get_number<&RandomStream::stream>, set_number<&RandomStream::stream>);
  emscripten::value_object<Dropout>("Dropout")
      .field("training", &Dropout::training)
      .field("probability", &Dropout::probability)
      .field("random", &Dropout::random);
  function("fillUniform", guarded<&draw_uniform>);
  function("fillNormal", guarded<&draw_normal>);
  function("xavierUniform", guarded<&draw_xavier>);
  function("applyDropout", guarded<&drop_out>);
}

}  // namespace attn::wasm
