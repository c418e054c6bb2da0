// Prints the largest and the mean error of every operation, on every instruction set that this
// machine runs. The errors are differences from a reference in double precision or better, which
// shares no code with the core. Fails if an error exceeds the bound in the operation's header.

#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "accuracy/accuracy.hpp"
#include "attn/instruction_set.hpp"

namespace accuracy {
namespace {

/// Counts the characters, not the bytes, of UTF-8 text.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string padded(const std::string& text, std::size_t width) {
  return text + std::string(width - std::min(width, width_of(text)), ' ');
}

/// Prints the cells of each line in columns, each as wide as its widest cell.
void print_table(const std::vector<std::vector<std::string>>& lines) {
  std::vector<std::size_t> widths(lines[0].size());
  for (const std::vector<std::string>& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i)
      widths[i] = std::max(widths[i], width_of(line[i]));
  }
  for (const std::vector<std::string>& line : lines) {
    std::string text;
    for (std::size_t i = 0; i < line.size(); ++i) text += padded(line[i], widths[i] + 2);
    text.erase(text.find_last_not_of(' ') + 1);
    std::printf("%s\n", text.c_str());
  }
}

int run() {
  std::vector<std::vector<std::string>> lines{{"operation", "shape and range", "stated bound"}};
  for (const attn::InstructionSet isa : attn::supported_instruction_sets()) {
    lines[0].push_back(to_string(isa));
  }
  bool within = true;
  for (const Row& row : rows()) {
    lines.push_back({row.operation(), row.range(), row.bound()});
    for (const attn::InstructionSet isa : attn::supported_instruction_sets()) {
      attn::Context context({.num_threads = 1, .instruction_set = isa});
      Case result(context);
      row.measure(result);
      within = within && result.largest_share() <= 1;
      char cell[64];
      std::snprintf(cell, sizeof cell, "%.1e %.1e %5.2g %%%s", result.largest(), result.mean(),
                    100 * result.largest_share(), result.largest_share() <= 1 ? "" : " !");
      lines.back().push_back(cell);
    }
  }
  std::printf(
      "Largest and mean absolute error against double precision or better, and the largest share\n"
      "of the stated bound that any number reached. N queries, K keys, D head dimension, E model\n"
      "dimension, p position.\n\n");
  print_table(lines);
  if (!within) std::printf("\nA stated bound does not hold: see the rows marked with !\n");
  return within ? 0 : 1;
}

}  // namespace

}  // namespace accuracy

int main() {
  try {
    return accuracy::run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "attn_accuracy: %s\n", error.what());
    return 2;
  }
}
