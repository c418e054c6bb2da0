// Writes a Transformer encoder to a file. The file has the names and layouts
// that `safetensors.torch.save_file(model.state_dict(), path)` writes for PyTorch's
// torch.nn.TransformerEncoder.

#include <attn/attn.hpp>
#include <cstdio>

int main(int argc, char** argv) {
  if (argc != 2) {
    std::puts("usage: save_encoder <file.safetensors>");
    return 2;
  }
  try {
    attn::TransformerEncoder encoder(
        {.layer = {.d_model = 32, .num_heads = 4, .dim_feedforward = 64}, .num_layers = 2});
    encoder.initialize_xavier(/*seed=*/7);
    attn::save_safetensors(argv[1], attn::state_dict(encoder), {{"format", "pt"}});
  } catch (const attn::Error& error) {
    std::printf("%s: %s\n", attn::to_string(error.code()), error.what());
    return 1;
  }
}
