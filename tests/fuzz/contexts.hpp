#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "attn/context.hpp"
#include "attn/instruction_set.hpp"
#include "choices.hpp"

namespace attn_fuzz {

/// Chooses a context for one of the instruction sets that the machine has.
inline attn::Context& context_of(Choices& choices) {
  using Contexts = std::vector<std::unique_ptr<attn::Context>>;
  const auto of_every_instruction_set = [](int threads) {
    Contexts all;
    for (const attn::InstructionSet isa : attn::supported_instruction_sets()) {
      all.push_back(std::make_unique<attn::Context>(
          attn::ContextOptions{.num_threads = threads, .instruction_set = isa}));
    }
    return all;
  };
  static const Contexts alone = of_every_instruction_set(1);
  static const Contexts together = of_every_instruction_set(2);
  // Few calls use two threads, because waiting for the other thread takes longer than most calls.
  const auto choice = choices.bits<std::uint8_t>();
  const Contexts& contexts = choice < 240 ? alone : together;
  return *contexts[choice % contexts.size()];
}

}  // namespace attn_fuzz
