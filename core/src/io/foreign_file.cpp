#include "io/foreign_file.hpp"

namespace attn {
namespace {

constexpr ForeignFile kLfsPointer = {"a Git LFS pointer, which only names the real file",
                                     "the real file: run \"git lfs pull\" or download it again"};
constexpr ForeignFile kWebPage = {
    "a web page", "the file itself: the download saved a page about it, or an error page"};
constexpr ForeignFile kGguf = {"a GGUF file",
                               "the .safetensors files of the same model; attn does not read GGUF"};
constexpr ForeignFile kPickle = {
    "a PyTorch checkpoint (.bin or .pt)",
    "a .safetensors file: load the model with transformers and call save_pretrained(folder)"};
constexpr ForeignFile kHdf5 = {"an HDF5 file", "the .safetensors files of the same model"};
constexpr ForeignFile kJsonText = {"JSON text",
                                   "the .safetensors file itself, which begins with a length"};

struct Signature {
  std::string_view beginning;
  const ForeignFile* file;
};
constexpr Signature kSignatures[] = {
    {"version ", &kLfsPointer}, {"<!", &kWebPage},      {"<html", &kWebPage},
    {"<HTML", &kWebPage},       {"<?xml", &kWebPage},   {"GGUF", &kGguf},
    {"PK\x03\x04", &kPickle},   {"\x80\x02", &kPickle}, {"\x80\x03", &kPickle},
    {"\x80\x04", &kPickle},     {"\x80\x05", &kPickle}, {"\x89HDF", &kHdf5},
    {"{\"", &kJsonText},        {"{\n", &kJsonText},    {"{ ", &kJsonText},
};

}  // namespace

const ForeignFile* recognize_foreign_file(std::string_view beginning) noexcept {
  while (!beginning.empty() &&
         std::string_view(" \t\r\n").find(beginning.front()) != std::string_view::npos) {
    beginning.remove_prefix(1);
  }
  for (const Signature& signature : kSignatures) {
    if (beginning.starts_with(signature.beginning)) return signature.file;
  }
  return nullptr;
}

}  // namespace attn
