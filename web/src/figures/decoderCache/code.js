import { printMatrix } from '../../programs/print.js';
import { blockCalls } from '../encoderBlock/code.js';

/**
 * Programs that decode token by token. PyTorch's layer has no cache, so its program computes all
 * tokens in a single pass, which gives the same results.
 * @param {import('../../core/sentence.js').Given} given
 * @param {import('../../models/language/languagePrograms.js').Learned | null} learned the
 *   language model that the layer belongs to, if any
 */
export const decoderCacheCode = (given, learned) =>
  printMatrix('y', 'n', 'dModel', [
    ...blockCalls(given, learned),
    {
      python: `
# PyTorch's layer has no cache, so this is one causal pass over all tokens.
causal = torch.nn.Transformer.generate_square_subsequent_mask(n)
with torch.no_grad():
    y = layer(x[None], src_mask=causal, is_causal=True)[0]`,
      cpp: `
std::vector<float> y(n * d_model);
attn::KeyValueCache cache = layer.self_attention().make_cache(1);
for (std::int64_t t = 0; t < n; ++t) {
  layer.forward(view(x).slice(0, t, t + 1), view(y).slice(0, t, t + 1),
                {.attention = {.causal = true}, .cache = &cache});
}`,
      javascript: `
const cache = layer.makeCache();
const y = { data: new Float32Array(n * dModel), shape: [n, dModel] };
for (let t = 0; t < n; t++) {
  const token = { data: x.data.subarray(t * dModel, (t + 1) * dModel), shape: [1, dModel] };
  const { output } = layer.forward(token, { attention: { causal: true }, cache });
  y.data.set(output.data, t * dModel);
}`,
    },
  ]);
