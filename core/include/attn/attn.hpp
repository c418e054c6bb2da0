#pragma once

/// Everything that attn offers.

#include "attn/alibi.hpp"
#include "attn/context.hpp"
#include "attn/dropout.hpp"
#include "attn/error.hpp"
#include "attn/initialization.hpp"
#include "attn/instruction_set.hpp"
#include "attn/key_value_cache.hpp"
#include "attn/linear.hpp"
#include "attn/module.hpp"
#include "attn/multi_head_attention.hpp"
#include "attn/ngram_embedding.hpp"
#include "attn/parameters.hpp"
#include "attn/positional_encoding.hpp"
#include "attn/random.hpp"
#include "attn/scaled_dot_product_attention.hpp"
#include "attn/shift_matrix.hpp"
#include "attn/sinusoidal_encoding.hpp"
#include "attn/t5_bias.hpp"
#include "attn/tensor_view.hpp"
#include "attn/version.hpp"
