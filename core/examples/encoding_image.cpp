// Draws the sinusoidal positional encoding of 128 positions and 256 columns as a PPM image: blue
// for −1, white for 0, red for 1.

#include <attn/attn.hpp>
#include <cstdio>
#include <fstream>

namespace {

/// Returns the value, from 0 to 255, of a colour channel that is darkened by `fraction`.
char fade(float fraction) {
  return static_cast<char>(static_cast<unsigned char>(255 - 255 * fraction));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::puts("usage: encoding_image <file.ppm>");
    return 2;
  }
  const std::int64_t positions = 128, width = 256;
  attn::OwnedTensor encoding({positions, width});
  attn::sinusoidal_encoding(encoding);

  std::ofstream image(argv[1], std::ios::binary);
  image << "P6 " << width << ' ' << positions << " 255\n";
  for (const float value : encoding.values()) {
    const float above = value > 0 ? value : 0, below = value < 0 ? -value : 0;
    image.put(fade(below)).put(fade(above + below)).put(fade(above));
  }
  image.close();
  return image ? 0 : 1;
}
