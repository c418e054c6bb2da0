// Loads a torch.nn.TransformerEncoder from a .safetensors file and runs it. All sizes are read from
// the file, except for the number of heads, which cannot be deduced from the weights.

#include <attn/attn.hpp>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

attn::TransformerEncoder load_encoder(const std::string& path, std::int64_t num_heads) {
  const attn::Safetensors file = attn::Safetensors::load(path);
  const attn::SafetensorsEntry& linear = file.entry("layers.0.linear1.weight");
  attn::TransformerEncoderOptions options;
  options.layer.dim_feedforward = linear.shape.at(0);
  options.layer.d_model = linear.shape.at(1);
  options.layer.num_heads = num_heads;
  while (file.contains("layers." + std::to_string(options.num_layers) + ".linear1.weight")) {
    ++options.num_layers;
  }
  options.final_norm = file.contains("norm.weight");

  attn::TransformerEncoder encoder(options);
  attn::load_state_dict(encoder, file);  // throws if a name or a shape does not fit
  return encoder;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::puts("usage: load_encoder <file.safetensors> <number of heads>");
    return 2;
  }
  try {
    const attn::TransformerEncoder encoder = load_encoder(argv[1], std::atoll(argv[2]));
    const attn::TransformerLayerOptions& layer = encoder.options().layer;
    std::printf("%lld layers of width %lld, %zu parameters\n",
                static_cast<long long>(encoder.options().num_layers),
                static_cast<long long>(layer.d_model), encoder.parameter_names().size());

    // Two sentences, the second one shorter and padded.
    const std::int64_t batch = 2, length = 10;
    attn::OwnedTensor tokens({batch, length, layer.d_model}), output(tokens.shape());
    attn::fill_normal(tokens, {.seed = 1});
    const std::vector<std::int32_t> lengths{10, 6};

    attn::TransformerEncoderCall call;
    call.attention.valid_lens = attn::ConstLengths(lengths, {batch});
    encoder.forward(tokens, output, call);

    for (const float value : output.values().first(3)) {
      std::printf("%.6f ", static_cast<double>(value));
    }
    std::puts("…");
  } catch (const attn::Error& error) {
    std::printf("%s: %s\n", attn::to_string(error.code()), error.what());
    return 1;
  }
}
