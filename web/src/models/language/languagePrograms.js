import { exclusionCode } from '../../programs/exclusionCode.js';
import { double } from '../../programs/programs.js';

/** @typedef {import('../../core/sentence.js').SentenceSettings} SentenceSettings */

/**
 * Data about the language model for programs: its configuration, token ids, and this module's
 * functions, which are loaded with the model.
 * @typedef {{ config: import('./languageModel.js').Config, ids: number[], tokens: string[] }} Known
 * @typedef {Known & typeof import('./languagePrograms.js')} Learned
 */

/** @param {SentenceSettings} settings @param {Known} learned */
function partsOf(settings, { config }) {
  const { activation, base, dimFeedforward } = config;
  const placed = settings.encoding !== 'none';
  const [adds, turns] = ['sinusoidal', 'rotary'].map((each) => placed && config.positions === each);
  const rotary = `.rotary = attn::RotaryEmbeddingOptions{.base = ${double(base)}}`;
  return {
    ...{ adds, turns, rotary },
    /** Options of a layer in JavaScript and in C++. */
    sizes: `dimFeedforward: ${dimFeedforward}, activation: '${activation}', normFirst: true`,
    block: `{.d_model = d_model,
    .num_heads = num_heads,
    .dim_feedforward = ${dimFeedforward},
    .activation = attn::Activation::k${activation[0].toUpperCase()}${activation.slice(1)},
    .norm_first = true,
    .positions = {${turns ? rotary : ''}}}`,
  };
}

/**
 * The lines of programs that define the model: `ids`, `n`, its sizes, `embedding` and `encoder`.
 * The program expects the model's file next to it.
 * @param {SentenceSettings} settings
 * @param {Known} learned
 */
export function modelCode(settings, learned) {
  const { config, ids, tokens } = learned;
  const { vocabularySize, dModel, numHeads, numLayers, dimFeedforward, activation, base } = config;
  const { adds, turns, sizes, block: blockOptions } = partsOf(settings, learned);
  const scale = config.scaleBySqrtDim;
  const words = tokens.map((token) => (/^[!-~]+$/.test(token) ? token : '·')).join(' ');
  return {
    javascript: `const { readFile } = await import('node:fs/promises');

// ${words}
const ids = ${JSON.stringify(ids)};
const [n, dModel, numHeads] = [ids.length, ${dModel}, ${numHeads}];
const file = new attn.Safetensors(await readFile('model.safetensors'));
const embedding = new attn.Embedding({
  ...{ numEmbeddings: ${vocabularySize}, embeddingDim: dModel, scaleBySqrtDim: ${scale} },
});
embedding.loadStateDict(file, { prefix: 'embedding.' });
const positions = ${turns ? `{ rotary: { base: ${base} } }` : '{}'};
const encoder = new attn.TransformerEncoder({
  ...{ dModel, numHeads, numLayers: ${numLayers}, finalNorm: true, positions },
  ...{ ${sizes} },
});
encoder.loadStateDict(file, { prefix: 'encoder.' });
const embed = (ids) => ${adds ? `attn.positionalEncoding(embedding.forward(ids), { base: ${base} })` : 'embedding.forward(ids)'};`,
    cpp: `// ${words}
const std::vector<std::int64_t> ids{${ids.join(', ')}};
const std::int64_t n = ${ids.length}, d_model = ${dModel}, num_heads = ${numHeads};
const auto view = [&](std::vector<float>& rows) { return attn::Tensor(rows.data(), {n, d_model}); };
const attn::Safetensors file = attn::Safetensors::load("model.safetensors");
attn::Embedding embedding({.num_embeddings = ${vocabularySize},
                           .embedding_dim = d_model,
                           .scale_by_sqrt_dim = ${scale}});
attn::load_state_dict(embedding, file, "embedding.");
attn::TransformerEncoder encoder({.layer = ${blockOptions},
                                  .num_layers = ${numLayers},
                                  .final_norm = true});
attn::load_state_dict(encoder, file, "encoder.");
const auto embed = [&](const std::vector<std::int64_t>& ids) {
  std::vector<float> rows(n * d_model);
  embedding.forward(attn::IdView(ids.data(), {n}), view(rows));${
    adds
      ? `\n  attn::PositionalEncoding({.base = ${double(base)}}).forward(view(rows), view(rows));`
      : ''
  }
  return rows;
};`,
    python: `from safetensors.torch import load_file

torch.set_grad_enabled(False)
# ${words}
ids = torch.tensor(${JSON.stringify(ids)})
n, d_model, num_heads = ${ids.length}, ${dModel}, ${numHeads}
state = {name: values.float() for name, values in load_file("model.safetensors").items()}

class Attention(torch.nn.MultiheadAttention):
    """The same, with pairs of columns of queries and keys turned by their positions."""

    turns = ${turns ? 'True' : 'False'}

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
        weights = (q @ k.mT / q.shape[-1] ** 0.5 + attn_mask).softmax(-1)
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
  };
}

/**
 * The first lines of programs about the language model. They define `embedded`; `read`, which
 * computes a layer's input from such embeddings; `x`, that input for these tokens, all (n, E); and
 * the `layer` (`mha` in Python). The program expects the model's file next to it.
 * @param {SentenceSettings} settings
 * @param {Known} learned
 * @param {'attention' | 'block'} what kind of the layer
 * @param {boolean} [turned] whether rotary positions rotate queries and keys in its attention
 */
export function languageCode(settings, learned, what, turned = true) {
  const { layer } = settings;
  const start = modelCode(settings, learned);
  const { turns, rotary, sizes, block: blockOptions } = partsOf(settings, learned);
  const block = what === 'block';
  const masks = exclusionCode(settings, learned.ids.length);
  const stage = `layers.${layer}.${block ? 'resid_pre' : 'norm1.output'}`;
  const prefix = `encoder.layers.${layer}.${block ? '' : 'self_attn.'}`;
  const lines = (/** @type {string[]} */ ...parts) => parts.filter(Boolean).join('\n');
  return {
    javascript: {
      before: lines(
        start.javascript,
        masks.javascript.before,
        `const read = (embedded) => {
  const { intermediates } = encoder.forward(embedded, {
    attention: { ${masks.javascript.options.join(', ')} },
    intermediates: ['${stage}'],
  });
  return intermediates['${stage}'];
};
const embedded = embed(ids);
const x = read(embedded);
${
  block
    ? `const layer = new attn.TransformerEncoderLayer({
  ...{ dModel, numHeads, positions, ${sizes} },
});`
    : `const layer = new attn.MultiHeadAttention({ dModel, numHeads, bias: true${turned ? ', positions' : ''} });`
}
layer.loadStateDict(file, { prefix: '${prefix}' });`,
      ),
      options: masks.javascript.options,
    },
    cpp: {
      before: lines(
        start.cpp,
        masks.cpp.before,
        `const auto read = [&](std::vector<float> rows) {
  attn::Intermediates shown({"${stage}"});
  std::vector<float> last(n * d_model);
  encoder.forward(view(rows), view(last), {.attention = {${masks.cpp.options.join(', ')}}, .intermediates = &shown});
  const float* const begin = shown["${stage}"].data();
  return std::vector<float>(begin, begin + n * d_model);
};
const std::vector<float> embedded = embed(ids);
std::vector<float> x = read(embedded);
${
  block
    ? `attn::TransformerEncoderLayer layer(${blockOptions});`
    : `attn::MultiHeadAttention layer({.d_model = d_model,
                                .num_heads = num_heads,
                                .bias = true,
                                .positions = {${turns && turned ? rotary : ''}}});`
}
attn::load_state_dict(layer, file, "${prefix}");`,
      ),
      options: masks.cpp.options,
    },
    python: {
      before: lines(
        start.python,
        masks.python.before,
        `
def read(x):
    for each in encoder[:${layer}]:
        x = each(x[None], src_mask=${masks.python.options.join(', ')})[0]
    return ${block ? 'x' : `encoder[${layer}].norm1(x)`}

embedded = embed(ids)
x = read(embedded)
${block ? `layer = encoder[${layer}]` : `mha = encoder[${layer}].self_attn`}${turned ? '' : '\nmha.turns = False'}`,
      ),
      options: masks.python.options,
    },
  };
}
