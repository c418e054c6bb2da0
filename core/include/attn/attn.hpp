#pragma once

/// Everything that attn offers. Requires C++20 and either GCC or Clang.

#include "attn/any_tensor.hpp"
#include "attn/context.hpp"
#include "attn/element_type.hpp"
#include "attn/error.hpp"
#include "attn/id_view.hpp"
#include "attn/instruction_set.hpp"
#include "attn/lengths_view.hpp"
#include "attn/matmul.hpp"
#include "attn/owned_tensor.hpp"
#include "attn/random.hpp"
#include "attn/tensor_view.hpp"
#include "attn/version.hpp"

// Attention
#include "attn/attention/key_value_cache.hpp"
#include "attn/attention/masked_softmax.hpp"
#include "attn/attention/merge_attention.hpp"
#include "attn/attention/scaled_dot_product_attention.hpp"

// Positions
#include "attn/positions/alibi.hpp"
#include "attn/positions/learned_positional_encoding.hpp"
#include "attn/positions/positional_encoding.hpp"
#include "attn/positions/rotary_embedding.hpp"
#include "attn/positions/sinusoidal_encoding.hpp"
#include "attn/positions/t5_bias.hpp"

// Layers
#include "attn/layers/activation.hpp"
#include "attn/layers/add_norm.hpp"
#include "attn/layers/bahdanau_decoder.hpp"
#include "attn/layers/contributions.hpp"
#include "attn/layers/conv1d.hpp"
#include "attn/layers/dropout.hpp"
#include "attn/layers/embedding.hpp"
#include "attn/layers/feed_forward.hpp"
#include "attn/layers/gated_feed_forward.hpp"
#include "attn/layers/gru.hpp"
#include "attn/layers/initialization.hpp"
#include "attn/layers/intermediates.hpp"
#include "attn/layers/interventions.hpp"
#include "attn/layers/layer_norm.hpp"
#include "attn/layers/linear.hpp"
#include "attn/layers/module.hpp"
#include "attn/layers/multi_head_attention.hpp"
#include "attn/layers/rms_norm.hpp"
#include "attn/layers/rnn.hpp"
#include "attn/layers/transformer_decoder.hpp"
#include "attn/layers/transformer_encoder.hpp"

// Pooling
#include "attn/pooling/attention_pooling.hpp"

// Files
#include "attn/io/safetensors.hpp"
#include "attn/io/state_dict.hpp"

// Whole models
#include "attn/models/encoder_decoder_model.hpp"
#include "attn/models/language_model.hpp"
#include "attn/models/load_encoder_decoder.hpp"
#include "attn/models/load_language_model.hpp"

// Training
#include "attn/training/attention.hpp"
#include "attn/training/attention_backward.hpp"
#include "attn/training/functions.hpp"
#include "attn/training/losses.hpp"
#include "attn/training/optimizers.hpp"
#include "attn/training/pooling.hpp"
#include "attn/training/schedules.hpp"
#include "attn/training/tape.hpp"

// For teaching only
#include "attn/teaching/architecture_costs.hpp"
#include "attn/teaching/ngram_embedding.hpp"
#include "attn/teaching/relative_skew.hpp"
#include "attn/teaching/shift_matrix.hpp"
