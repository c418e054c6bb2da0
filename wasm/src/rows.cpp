// Layers that are made of rows.

#include <emscripten/bind.h>

#include <cstdint>
#include <memory>

#include "attn/layers/embedding.hpp"
#include "attn/layers/linear.hpp"
#include "guarded.hpp"
#include "layers.hpp"

namespace attn::wasm {
namespace {

Linear* make_linear(double in_features, double out_features, bool bias,
                    const FirstWeights& weights) {
  return initialized(std::make_unique<Linear>(static_cast<std::int64_t>(in_features),
                                              static_cast<std::int64_t>(out_features), bias),
                     weights);
}

Linear* make_tied_linear(const Module* embedding, bool bias, const FirstWeights& weights) {
  return initialized(
      std::make_unique<Linear>(static_cast<const Embedding&>(*embedding), bias, context()),
      weights);
}

}  // namespace

EMSCRIPTEN_BINDINGS(rows) {
  using emscripten::base;
  using emscripten::class_;
  class_<Linear, base<Module>>("Linear")
      .constructor(guarded<&make_linear>)
      .constructor(guarded<&make_tied_linear>, emscripten::allow_raw_pointers())
      .function("forward", guarded<&forward<Linear>>);
}

}  // namespace attn::wasm
