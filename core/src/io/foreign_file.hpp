#pragma once

#include <string_view>

namespace attn {

/// A kind of file that people pass instead of .safetensors or JSON.
struct ForeignFile {
  std::string_view kind;    ///< e.g. "a Git LFS pointer"
  std::string_view remedy;  ///< the file to pass instead, and how to get it
};

/// The end of an error message about a PyTorch checkpoint: names the files to convert it to, and
/// gives the Python code that converts it.
inline constexpr const char* kConvertCheckpoint =
    "a .safetensors file and tokenizer.json, which this Python code saves in the folder "
    "\"converted\"; for BERT, use AutoModelForMaskedLM\n\n"
    "from transformers import AutoModelForCausalLM, AutoTokenizer\n"
    "AutoModelForCausalLM.from_pretrained(\"folder\").save_pretrained(\"converted\")\n"
    "AutoTokenizer.from_pretrained(\"folder\").save_pretrained(\"converted\")";

/// Recognises a foreign file by its `beginning`, which must have at least eight bytes. Returns null
/// for any other file.
const ForeignFile* recognize_foreign_file(std::string_view beginning) noexcept;

}  // namespace attn
