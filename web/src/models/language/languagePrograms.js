import { exclusion, layer, loadStateDict } from '../../programs/calls.js';
import { cxx, double, js, py } from '../../programs/writers.js';

/** @typedef {import('../../core/sentence.js').Given} Given */
/** @typedef {import('../../programs/print.js').Call} Call */

/**
 * Data about the language model for programs: its configuration and this module's functions.
 * @typedef {{ config: import('./languageModel.js').Config }} Known
 * @typedef {Known & typeof import('./languagePrograms.js')} Learned
 */

/** @param {Given} given @param {Known} learned */
const positionsOf = ({ encoding }, { config }) => (encoding === 'none' ? '' : config.positions);

/** Options of the layers. @param {Given} given @param {Known} learned */
const blockOptions = (given, learned) => ({
  ...{ dModel: 'dModel', numHeads: 'numHeads', dimFeedforward: learned.config.dimFeedforward },
  ...{ activation: learned.config.activation, normFirst: true },
  positions:
    positionsOf(given, learned) === 'rotary' ? { rotary: { base: learned.config.base } } : {},
});

/** Options of the encoder. @param {Given} given @param {Known} learned */
export const encoderOptions = (given, learned) => ({
  ...blockOptions(given, learned),
  ...{ numLayers: learned.config.numLayers, finalNorm: true },
});

/**
 * The calls with which programs define the model: `ids`, `n`, the model's sizes, `embedding` and
 * `encoder`. The program expects the model's file next to it.
 * @param {Given} given
 * @param {Known} learned
 * @param {boolean} [mayLackKeys] true if all keys of a query may be excluded; the weights of such a
 *   query are 0
 * @returns {Call[]}
 */
export function modelCalls(given, learned, mayLackKeys = false) {
  const { config } = learned;
  const { ids, tokens } = given;
  const { vocabularySize, dModel, numHeads, numLayers, dimFeedforward, activation, base } = config;
  const positions = positionsOf(given, learned);
  const adds = positions === 'sinusoidal';
  const scale = config.scaleBySqrtDim;
  const words = tokens.map((token) => (/^[!-~]+$/.test(token) ? token : '·')).join(' ');
  return [
    {
      python: py`torch.set_grad_enabled(False)
# ${words}
ids = torch.tensor(${ids})
n, d_model, num_heads = ${ids.length}, ${dModel}, ${numHeads}
state = {name: values.float() for name, values in load_file("model.safetensors").items()}

class Attention(torch.nn.MultiheadAttention):
    """Multi-head attention that rotates pairs of columns of queries and keys by position."""

    turns = ${positions === 'rotary'}

    def project(self, x):
        joined = torch.nn.functional.linear(x, self.in_proj_weight, self.in_proj_bias)
        q, k, v = (y.unflatten(-1, (num_heads, -1)).transpose(-2, -3) for y in joined.chunk(3, -1))
        return self.turned(q), self.turned(k), v

    def turned(self, y):
        if not self.turns:
            return y
        half = y.shape[-1] // 2
        angle = torch.arange(n)[:, None] * ${double(base)} ** (-torch.arange(half) / half)
        a, b = y[..., :half], y[..., half:]
        return torch.cat((a * angle.cos() - b * angle.sin(), b * angle.cos() + a * angle.sin()), -1)

    def forward(self, x, *_, attn_mask, **__):
        if attn_mask.dtype == torch.bool:
            attn_mask = torch.zeros(n, n).masked_fill(attn_mask, float("-inf"))
        q, k, v = self.project(x)
        weights = (q @ k.mT / q.shape[-1] ** 0.5 + attn_mask).softmax(-1)${mayLackKeys ? '.nan_to_num()' : ''}
        return self.out_proj((weights @ v).transpose(-2, -3).flatten(-2)), weights

encoder = torch.nn.ModuleList(
    torch.nn.TransformerEncoderLayer(d_model, num_heads, ${dimFeedforward}, dropout=0, activation="${activation}",
                                     norm_first=True, batch_first=True)
    for _ in range(${numLayers}))
for each in encoder:
    each.self_attn = Attention(d_model, num_heads, batch_first=True)
layers = "encoder.layers."
encoder.load_state_dict({name[len(layers):]: values for name, values in state.items()
                         if name.startswith(layers)})

def embed(ids):
    x = state["embedding.weight"][ids]${scale ? ' * d_model ** 0.5' : ''}${
      adds
        ? `
    angle = torch.arange(float(n))[:, None] / ${double(base)} ** (torch.arange(0, d_model, 2) / d_model)
    x = x + torch.stack((angle.sin(), angle.cos()), dim=2).reshape(n, d_model)`
        : ''
    }
    return x`,
      cpp: cxx`// ${words}
const std::vector<std::int64_t> ids${ids};
const std::int64_t n = ${ids.length}, d_model = ${dModel}, num_heads = ${numHeads};
const auto view = [&](std::vector<float>& rows) { return attn::Tensor(rows.data(), {n, d_model}); };
const attn::Safetensors file = attn::Safetensors::load("model.safetensors");`,
      javascript: js`const { readFile } = await import('node:fs/promises');

// ${words}
const ids = ${ids};
const [n, dModel, numHeads] = [ids.length, ${dModel}, ${numHeads}];
const file = new attn.Safetensors(await readFile('model.safetensors'));`,
    },
    layer('embedding', 'Embedding', {
      ...{ numEmbeddings: vocabularySize, embeddingDim: 'dModel', scaleBySqrtDim: scale },
    }),
    loadStateDict('embedding', 'embedding.'),
    layer('encoder', 'TransformerEncoder', encoderOptions(given, learned)),
    loadStateDict('encoder', 'encoder.'),
    {
      cpp: cxx`const auto embed = [&](const std::vector<std::int64_t>& ids) {
  std::vector<float> rows(n * d_model);
  embedding.forward(attn::IdView(ids.data(), {n}), view(rows));${
    adds ? cxx`\n  attn::PositionalEncoding(${{ base }}).forward(view(rows), view(rows));` : ''
  }
  return rows;
};`,
      javascript: `const embed = (ids) => ${adds ? `attn.positionalEncoding(embedding.forward(ids), { base: ${base} })` : 'embedding.forward(ids)'};`,
    },
  ];
}

/**
 * The calls with which each program about the language model begins. They define the embeddings
 * `embedded`, a function `read` that turns embeddings into the layer's input, the layer's input `x`
 * for the given tokens, and the `layer` (`mha` in Python). All these tensors are (n, E). The
 * program expects the model's file next to it.
 * @param {Given} given
 * @param {Known} learned
 * @param {'attention' | 'block'} what kind of the layer
 * @param {boolean} [turned] whether rotary positions rotate queries and keys in its attention
 * @returns {Call[]}
 */
export function languageCalls(given, learned, what, turned = true) {
  const at = given.layer;
  const isBlock = what === 'block';
  const masks = exclusion(given, given.ids.length);
  const stage = `layers.${at}.${isBlock ? 'resid_pre' : 'norm1.output'}`;
  const block = blockOptions(given, learned);
  const { dModel, numHeads } = block;
  const positions = turned ? block.positions : {};
  return [
    ...modelCalls(given, learned),
    masks.lines,
    {
      python: `
def read(x):
    for each in encoder[:${at}]:
        x = each(x[None], src_mask=~attends)[0]
    return ${isBlock ? 'x' : `encoder[${at}].norm1(x)`}

embedded = embed(ids)
x = read(embedded)
${isBlock ? `layer = encoder[${at}]` : `mha = encoder[${at}].self_attn`}${turned ? '' : '\nmha.turns = False'}`,
      cpp: cxx`const auto read = [&](std::vector<float> rows) {
  attn::Intermediates shown({"${stage}"});
  std::vector<float> last(n * d_model);
  encoder.forward(view(rows), view(last), ${{ attention: masks.cpp, intermediates: '&shown' }});
  const float* const begin = shown["${stage}"].data();
  return std::vector<float>(begin, begin + n * d_model);
};
const std::vector<float> embedded = embed(ids);
std::vector<float> x = read(embedded);`,
      javascript: js`const read = (embedded) => {
  const { intermediates } = encoder.forward(embedded, ${{
    attention: masks.javascript,
    intermediates: [`'${stage}'`],
  }});
  return intermediates['${stage}'];
};
const embedded = embed(ids);
const x = read(embedded);`,
    },
    isBlock
      ? layer('layer', 'TransformerEncoderLayer', block)
      : layer('layer', 'MultiHeadAttention', { dModel, numHeads, bias: true, positions }),
    loadStateDict('layer', `encoder.layers.${at}.${isBlock ? '' : 'self_attn.'}`),
  ];
}
