#include "layers/eager_flow.hpp"

namespace attn {
namespace {

Tensor take_like(const ConstAnyTensor& x, runtime::Execution& run) {
  return Tensor(run.floats(validation::product("x", x.shape()), "transformer layer"), x.shape());
}

/// The layer's input as float32: `x` itself, or a copy in `memory`, which interventions may change.
ConstTensor as_floats(const ConstAnyTensor& x, const Tensor& memory, IntermediateWriter& writer,
                      runtime::Execution& run) {
  const bool changes = writer.changes("resid_pre");
  if (x.type() == ElementType::kFloat32 && !changes) return x.as<float>();
  widen(x, memory, run);
  writer.change("resid_pre", memory, run);
  return memory;
}

}  // namespace

EagerFlow::EagerFlow(const Module& layer, const TransformerLayerOptions& options,
                     const ConstAnyTensor& x, const AnyTensor& output, Intermediates* intermediates,
                     Context& context)
    : norm_first_(options.norm_first),
      parallel_(options.parallel_residual),
      output_(output),
      context_(context),
      writer_(layer, intermediates),
      run_(context),
      result_(take_like(x, run_)),
      sum_(take_like(x, run_)),
      x_(as_floats(x, parallel_ ? take_like(x, run_) : sum_, writer_, run_)),
      stream_(x_) {
  writer_.copy("resid_pre", stream_, run_);
}

void EagerFlow::attend(const Sublayer& sublayer, const MultiHeadAttention& attention,
                       MultiHeadAttentionCall call, const Terms&) {
  const ConstTensor x = input_of(sublayer);
  {
    const IntermediateWriter::Scope intermediates = writer_.enter("self_attn");
    call.intermediates = intermediates;
    attention.forward(x, x, x, result_, call, context_);
  }
  add_result(sublayer, sum_);
}

void EagerFlow::attend_to(const ConstAnyTensor& memory, const KeyValueCache* cache,
                          const Sublayer& sublayer, const MultiHeadAttention& attention,
                          const AttentionOptions& options, const Terms&) {
  const ConstTensor x = input_of(sublayer);
  if (cache) {
    attention.attend(x, *cache, result_, options, context_, writer_.enter("multihead_attn"));
  } else {
    attention.forward(x, memory, memory, result_,
                      {.attention = options, .intermediates = writer_.enter("multihead_attn")},
                      context_);
  }
  add_result(sublayer, sum_);
}

void EagerFlow::feed_forward(const Sublayer& sublayer, const AnyFeedForward& network,
                             const Dropout& dropout) {
  const ConstTensor x = input_of(sublayer);
  const auto run = [&](const auto& layer) {
    layer.forward(x, result_, dropout, context_, writer_.enter(""));
  };
  std::visit(run, network);
  const bool rounds = output_.type() != ElementType::kFloat32;
  const Tensor sum = rounds ? sum_ : output_.as<float>();
  const Tensor intermediate = writer_.prepare("output", sum);
  add_result(sublayer, sum);
  writer_.change_prepared("output", sum, run_);
  if (rounds) narrow(sum, output_, run_);
  writer_.fill(intermediate, output_, run_);
  writer_.finish();
}

ConstTensor EagerFlow::input_of(const Sublayer& sublayer) {
  if (!norm_first_) return stream_;
  normalize(*sublayer.norms.norm, parallel_ ? x_ : stream_, result_, context_,
            writer_.enter(sublayer.norm_name));
  return result_;
}

void EagerFlow::add_result(const Sublayer& sublayer, const Tensor& sum) {
  const auto& [norm, output_norm] = sublayer.norms;
  const Tensor& y = result_;
  if (output_norm) {
    normalize(*output_norm, y, y, context_, writer_.enter(sublayer.output_norm_name));
  }
  apply_dropout(y, y, sublayer.dropout, context_);
  writer_.pass(sublayer.result_name, y, run_);
  const Tensor intermediate = writer_.prepare(sublayer.sum_name, y);
  if (norm_first_ || !norm) {
    add(stream_, y, sum, run_);
    writer_.finish_value(sublayer.sum_name, intermediate, sum, run_);
  } else if (!intermediate.is_none() || writer_.changes(sublayer.sum_name)) {
    add(stream_, y, y, run_);
    writer_.finish_value(sublayer.sum_name, intermediate, y, run_);
    normalize(*norm, y, sum, context_, writer_.enter(sublayer.norm_name));
  } else {
    const auto add_norm = [&](const auto& n) {
      n.forward_sum(stream_, y, sum, context_, writer_.enter(sublayer.norm_name));
    };
    std::visit(add_norm, *norm);
  }
  stream_ = sum;
}

}  // namespace attn
