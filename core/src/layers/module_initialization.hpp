#pragma once

#include "attn/context.hpp"
#include "attn/layers/module.hpp"
#include "attn/random.hpp"

namespace attn {

/// Draws the parameters of a layer: those of rank 2 and more by xavier_uniform, each from a stream
/// of its own, first.stream, first.stream + 1 … in the order of their names; vectors become zero.
/// Of (out, in, k) the fans are in·k and out·k, as in torch.nn.init. The table of an embedding, by
/// the name of "embedding.weight", is drawn by fill_normal instead, as torch.nn.Embedding's.
void initialize_parameters(Module& module, const RandomStream& first, Context& context);

}  // namespace attn
