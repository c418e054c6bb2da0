// Reads any bytes as a .safetensors file. attn must either reject them as an invalid format, or
// read and rewrite all tensors whose dtype and rank it supports.

#include "attn/io/safetensors.hpp"

#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include "attn/error.hpp"

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

void read_all(const attn::Safetensors& file) {
  std::vector<std::vector<float>> values;
  std::vector<attn::NamedTensor> tensors;
  for (const attn::SafetensorsEntry& entry : file.tensors()) {
    require(file.contains(entry.name));
    require(file.entry(entry.name).begin == entry.begin);
    try {
      values.push_back(file.read(entry.name));
    } catch (const attn::Error& error) {
      // The tensor has a dtype that attn lists but does not read, or a rank that views do not
      // support.
      require(error.code() == attn::ErrorCode::kUnsupported);
      continue;
    }
    if (entry.shape.size() > attn::Tensor::kMaxRank || values.back().empty()) continue;
    tensors.push_back({entry.name, attn::ConstTensor(values.back().data(), entry.shape)});
  }
  const std::vector<std::byte> bytes = attn::to_safetensors(tensors, file.metadata());
  const attn::Safetensors again = attn::Safetensors::view(bytes);
  require(again.tensors().size() == tensors.size());
  require(again.metadata().size() == file.metadata().size());
  for (const attn::NamedTensor& tensor : tensors) {
    require(again.entry(tensor.name).dtype == "F32");
    require(again.entry(tensor.name).shape == file.entry(tensor.name).shape);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  try {
    read_all(attn::Safetensors::view(bytes));
  } catch (const attn::Error& error) {
    require(error.code() == attn::ErrorCode::kInvalidFormat);
    require(!std::string(error.what()).empty());
  }
  return 0;
}
