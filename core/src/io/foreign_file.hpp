#pragma once

#include <string_view>

namespace attn {

/// A kind of file that people pass instead of .safetensors or JSON.
struct ForeignFile {
  std::string_view kind;    ///< e.g. "a Git LFS pointer"
  std::string_view remedy;  ///< the file to pass instead, and how to get it
};

/// The ends of error messages about PyTorch checkpoints and GGUF files: name the files to convert
/// them to, and give the Python code that converts them.
inline constexpr const char* kConvertCheckpoint =
    "a .safetensors file and tokenizer.json, which this Python code saves in the folder "
    "\"converted\"; for BERT, use AutoModelForMaskedLM, and for T5 or Marian, "
    "AutoModelForSeq2SeqLM\n\n"
    "from transformers import AutoModelForCausalLM, AutoTokenizer\n"
    "AutoModelForCausalLM.from_pretrained(\"folder\").save_pretrained(\"converted\")\n"
    "AutoTokenizer.from_pretrained(\"folder\").save_pretrained(\"converted\")";
inline constexpr const char* kConvertGguf =
    "a .safetensors file and tokenizer.json, which this Python code saves in the folder "
    "\"converted\"; it needs the package gguf\n\n"
    "from transformers import AutoModelForCausalLM, AutoTokenizer\n"
    "AutoModelForCausalLM.from_pretrained(\"folder\", gguf_file=\"name.gguf\")"
    ".save_pretrained(\"converted\")\n"
    "AutoTokenizer.from_pretrained(\"folder\", gguf_file=\"name.gguf\")"
    ".save_pretrained(\"converted\")";

/// Recognises a foreign file by its `beginning`, which must have at least eight bytes. Returns null
/// for any other file.
const ForeignFile* recognize_foreign_file(std::string_view beginning) noexcept;

}  // namespace attn
