#include <cmath>
#include <span>

#include "accuracy/accuracy.hpp"
#include "attn/linear.hpp"
#include "attn/multi_head_attention.hpp"
#include "reference/linear.hpp"
#include "reference/multi_head_attention.hpp"

namespace accuracy {
namespace {

using reference::Array;

void measure_linear(Case& c, std::int64_t rows, std::int64_t in, std::int64_t out) {
  attn::Linear layer(in, out);
  const std::vector<float> x = c.normals(rows * in);
  const std::vector<float> weight = c.normals(out * in);
  const std::vector<float> bias = c.normals(out);
  layer.set_parameter("weight", {weight.data(), {out, in}});
  layer.set_parameter("bias", {bias.data(), {out}});
  std::vector<float> y(static_cast<std::size_t>(rows * out));
  layer.forward({x.data(), {rows, in}}, {y.data(), {rows, out}}, c.context());
  const auto [exact, bounds] =
      reference::linear({Array({rows, in}, x), {}}, Array({out, in}, weight), Array({out}, bias));
  c.add(y, exact, bounds);
}

const char* const kLinearBound = "(n + 1) · 6e-8 · (Σ|x·w| + |b|)";
const Row kLinear("Linear", "(33, 257) to 65, normal", kLinearBound,
                  [](Case& c) { measure_linear(c, 33, 257, 65); });
const Row kLinearRow("Linear", "(1, 1024) to 65, normal", kLinearBound,
                     [](Case& c) { measure_linear(c, 1, 1024, 65); });

const Row kMultiHead(
    "MultiHeadAttention", "(1, 20, 32), 4 heads, bias", "first-order bound of every stage",
    [](Case& c) {
      constexpr std::int64_t kModel = 32;
      attn::MultiHeadAttention layer({.d_model = kModel, .num_heads = 4, .bias = true});
      const std::vector<float> in_weight = c.normals(3 * kModel * kModel, 0.2F);
      const std::vector<float> in_bias = c.normals(3 * kModel, 0.2F);
      const std::vector<float> out_weight = c.normals(kModel * kModel, 0.2F);
      const std::vector<float> out_bias = c.normals(kModel, 0.2F);
      layer.set_parameter("in_proj_weight", {in_weight.data(), {3 * kModel, kModel}});
      layer.set_parameter("in_proj_bias", {in_bias.data(), {3 * kModel}});
      layer.set_parameter("out_proj.weight", {out_weight.data(), {kModel, kModel}});
      layer.set_parameter("out_proj.bias", {out_bias.data(), {kModel}});
      const std::vector<float> x = c.normals(20 * kModel);
      std::vector<float> output(x.size());
      const attn::ConstTensor tokens(x.data(), {1, 20, kModel});
      layer.forward(tokens, tokens, tokens, {output.data(), {1, 20, kModel}}, {}, c.context());

      const auto third = [&](const std::vector<float>& all, std::ptrdiff_t which) {
        const auto size = static_cast<std::ptrdiff_t>(all.size() / 3);
        return std::vector<float>(all.begin() + which * size, all.begin() + (which + 1) * size);
      };
      reference::MultiHeadAttention p;
      p.num_heads = p.num_kv_heads = 4;
      p.query_weight = Array({kModel, kModel}, third(in_weight, 0));
      p.key_weight = Array({kModel, kModel}, third(in_weight, 1));
      p.value_weight = Array({kModel, kModel}, third(in_weight, 2));
      p.output_weight = Array({kModel, kModel}, out_weight);
      p.query_bias = Array({kModel}, third(in_bias, 0));
      p.key_bias = Array({kModel}, third(in_bias, 1));
      p.value_bias = Array({kModel}, third(in_bias, 2));
      p.output_bias = Array({kModel}, out_bias);
      const Array all({1, 20, kModel}, x);
      const auto [exact, bounds] = reference::multi_head_attention(p, all, all, all).output;
      c.add(output, exact, bounds);
    });

}  // namespace
}  // namespace accuracy
