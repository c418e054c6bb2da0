#pragma once

#include <cstdint>
#include <optional>

#include "attn/export.hpp"

namespace attn {

/// The costs of one layer over a sequence (Vaswani et al. 2017, arXiv:1706.03762, table 1; D2L
/// 11.6.1). The numbers are exact, whereas the sources give orders of magnitude.
struct ArchitectureCosts {
  /// Number of multiply-adds for one sequence, without biases, activations and the softmax.
  std::int64_t multiply_adds = 0;
  /// Number of steps of a layer that must run one after another.
  std::int64_t sequential_operations = 0;
  /// The path length between the two most distant tokens: the number of connections that their
  /// signals pass before one output depends on both tokens. Layers are stacked until this happens.
  /// Empty if no output ever depends on both tokens.
  std::optional<std::int64_t> max_path_length = {};
};

// n is the number of tokens, and d is their width before and after the layer. All functions throw
// kInvalidArgument for a size below 1 (below 0 for the sides of a window) and kSizeOverflow for a
// count beyond 2^63 − 1.

/// A convolution with kernel size k, zero-padded so that the output is as long as the input.
/// It costs n·k·d² multiply-adds, including multiplications by the padding, and 1 sequential
/// operation. L layers see L·(k − 1) + 1 tokens, so the path length is ⌈(n − 1) / (k − 1)⌉, but at
/// least 1.
ATTN_API ArchitectureCosts convolution_costs(std::int64_t n, std::int64_t d, std::int64_t k);

/// Like convolution_costs(), with dilations 1, k, k², … in successive layers. L layers see k^L
/// tokens, so the path length is ⌈log_k n⌉, but at least 1.
ATTN_API ArchitectureCosts dilated_convolution_costs(std::int64_t n, std::int64_t d,
                                                     std::int64_t k);

/// A recurrent layer. It costs 2·gates·n·d² multiply-adds (for the input and the state, in each
/// gate) and n sequential operations. The path length is n: one step into the state, and n − 1
/// steps from state to state. A plain RNN has 1 gate, a GRU 3, an LSTM 4.
ATTN_API ArchitectureCosts recurrent_costs(std::int64_t n, std::int64_t d, std::int64_t gates = 1);

/// Self-attention with any number of heads. It costs 2·n²·d multiply-adds (for the scores and the
/// weighted sum) and 1 sequential operation. The path length is 1. With `projections`, the four
/// projections of a multi-head layer add 4·n·d².
ATTN_API ArchitectureCosts self_attention_costs(std::int64_t n, std::int64_t d,
                                                bool projections = false);

/// Self-attention in a window: query i attends to the keys from i − left to i + right that exist
/// (restricted self-attention; causal with left = n − 1 and right = 0). With l = min(left, n − 1)
/// and r = min(right, n − 1):
///
///   pairs = n·(l + r + 1) − l·(l + 1)/2 − r·(r + 1)/2
///
/// Window attention costs 2·pairs·d multiply-adds (plus 4·n·d² with `projections`) and 1 sequential
/// operation. The path length is ⌈(n − 1) / (l + r)⌉, but at least 1.
ATTN_API ArchitectureCosts window_attention_costs(std::int64_t n, std::int64_t d, std::int64_t left,
                                                  std::int64_t right, bool projections = false);

}  // namespace attn
