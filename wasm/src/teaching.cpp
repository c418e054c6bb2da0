// Costs of architectures, and n-gram embeddings of tokens.

#include <emscripten/bind.h>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "attn/teaching/architecture_costs.hpp"
#include "attn/teaching/ngram_embedding.hpp"
#include "context.hpp"
#include "fields.hpp"
#include "guarded.hpp"
#include "tensor_argument.hpp"

namespace attn::wasm {
namespace {

std::int64_t whole(double number) { return static_cast<std::int64_t>(number); }

ArchitectureCosts costs_of_convolution(double n, double d, double k) {
  return convolution_costs(whole(n), whole(d), whole(k));
}

ArchitectureCosts costs_of_dilated_convolution(double n, double d, double k) {
  return dilated_convolution_costs(whole(n), whole(d), whole(k));
}

ArchitectureCosts costs_of_recurrence(double n, double d, double gates) {
  return recurrent_costs(whole(n), whole(d), whole(gates));
}

ArchitectureCosts costs_of_self_attention(double n, double d, bool projections) {
  return self_attention_costs(whole(n), whole(d), projections);
}

ArchitectureCosts costs_of_window_attention(double n, double d, double left, double right,
                                            bool projections) {
  return window_attention_costs(whole(n), whole(d), whole(left), whole(right), projections);
}

/// `texts` is the UTF-8 of all tokens, concatenated.
void embed_ngrams(const TensorArgument& texts, const TensorArgument& lengths,
                  const TensorArgument& output, const NgramEmbeddingOptions& options) {
  const char* text = texts.as<const char>().data();
  const auto sizes = lengths.as<const std::int32_t>();
  std::vector<std::string_view> tokens;
  for (std::int64_t i = 0; i < sizes.size(0); ++i) {
    const auto size = static_cast<std::size_t>(sizes(i));
    tokens.emplace_back(text, size);
    text += size;
  }
  ngram_embedding(tokens, output.result(), options, context());
}

}  // namespace

EMSCRIPTEN_BINDINGS(teaching) {
  using emscripten::function, emscripten::value_object;
  using Costs = ArchitectureCosts;
  // `maxPathLength` is NaN if no path connects the two most distant tokens.
  value_object<Costs>("ArchitectureCosts")
      .field("multiplyAdds", get_number<&Costs::multiply_adds>, set_number<&Costs::multiply_adds>)
      .field("sequentialOperations", get_number<&Costs::sequential_operations>,
             set_number<&Costs::sequential_operations>)
      .field("maxPathLength", get_number<&Costs::max_path_length>,
             set_number<&Costs::max_path_length>);
  function("convolutionCosts", guarded<&costs_of_convolution>);
  function("dilatedConvolutionCosts", guarded<&costs_of_dilated_convolution>);
  function("recurrentCosts", guarded<&costs_of_recurrence>);
  function("selfAttentionCosts", guarded<&costs_of_self_attention>);
  function("windowAttentionCosts", guarded<&costs_of_window_attention>);

  using N = NgramEmbeddingOptions;
  value_object<N>("NgramEmbeddingOptions")
      .field("minN", get_number<&N::min_n>, set_number<&N::min_n>)
      .field("maxN", get_number<&N::max_n>, set_number<&N::max_n>)
      .field("seed", get_number<&N::seed>, set_number<&N::seed>);
  function("ngramEmbedding", guarded<&embed_ngrams>);
}

}  // namespace attn::wasm
