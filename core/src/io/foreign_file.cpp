#include "io/foreign_file.hpp"

#include <algorithm>
#include <cstddef>

namespace attn {
namespace {

constexpr ForeignFile kLfsPointer = {"a Git LFS pointer, which only names the real file",
                                     "the real file; run \"git lfs pull\" or download it again"};
constexpr ForeignFile kWebPage = {
    "a web page", "the file itself; the download saved a page about it or an error page"};
constexpr ForeignFile kGguf = {"a GGUF file", kConvertGguf};
constexpr ForeignFile kPickle = {"a PyTorch checkpoint (.bin or .pt)", kConvertCheckpoint};
constexpr ForeignFile kHdf5 = {"an HDF5 file", "the .safetensors files of the same model"};
constexpr ForeignFile kXetPointer = {"a Xet pointer, which only names the real file",
                                     "the real file; download it again"};
constexpr ForeignFile kAnnexPointer = {"a git-annex pointer, which only names the real file",
                                       "the real file; run \"git annex get\""};
constexpr ForeignFile kUtf16 = {"text in UTF-16", "UTF-8; save the file in that encoding"};
constexpr ForeignFile kCompressed = {"a compressed file (gzip)",
                                     "the file inside; unpack it first"};
constexpr ForeignFile kPlainText = {
    "plain text, such as a server's error message",
    "the file itself; check its address and your access to it, and download it again"};
constexpr ForeignFile kJsonText = {"JSON text",
                                   "the .safetensors file itself, which begins with a length"};

struct Signature {
  std::string_view beginning;
  const ForeignFile* file;
};
constexpr Signature kSignatures[] = {
    {"version ", &kLfsPointer}, {"<!", &kWebPage},           {"<html", &kWebPage},
    {"<HTML", &kWebPage},       {"<?xml", &kWebPage},        {"GGUF", &kGguf},
    {"PK\x03\x04", &kPickle},   {"\x80\x02", &kPickle},      {"\x80\x03", &kPickle},
    {"\x80\x04", &kPickle},     {"\x80\x05", &kPickle},      {"\x89HDF", &kHdf5},
    {"{\"", &kJsonText},        {"{\n", &kJsonText},         {"{ ", &kJsonText},
    {"# xet", &kXetPointer},    {"/annex/", &kAnnexPointer}, {"\xFF\xFE", &kUtf16},
    {"\xFE\xFF", &kUtf16},      {"\x1F\x8B", &kCompressed},
};

/// True if the text begins like a sentence, such as "Entry not found".
bool is_sentence(std::string_view beginning) noexcept {
  const auto is_between = [](char c, char first, char last) { return first <= c && c <= last; };
  constexpr std::size_t kEnough = 8;
  const std::string_view word = beginning.substr(0, kEnough);
  return word.size() == kEnough && is_between(word[0], 'A', 'Z') && is_between(word[1], 'a', 'z') &&
         !word.starts_with("NaN") && word != "Infinity" &&
         std::ranges::all_of(word, [&](char c) { return is_between(c, ' ', '~'); });
}

}  // namespace

const ForeignFile* recognize_foreign_file(std::string_view beginning) noexcept {
  while (!beginning.empty() &&
         std::string_view(" \t\r\n").find(beginning.front()) != std::string_view::npos) {
    beginning.remove_prefix(1);
  }
  for (const Signature& signature : kSignatures) {
    if (beginning.starts_with(signature.beginning)) return signature.file;
  }
  return is_sentence(beginning) ? &kPlainText : nullptr;
}

}  // namespace attn
