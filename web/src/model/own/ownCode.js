import { cppProgram, javascriptProgram } from '../../frame/programs.js';

/** @typedef {Pick<import('../sentence.js').Given, 'ids' | 'tokens' | 'layer' | 'head' | 'heads' | 'causal'>} Given */

/**
 * In a comment; a backslash at its end would make the next line one, too.
 * @param {readonly string[]} tokens
 */
const words = (tokens) =>
  tokens.map((token) => (/^[!-[\]-~]+$/.test(token) ? token : '·')).join(' ');

/**
 * Programs for the weights of a head of a reader's model, whose files lie beside them.
 * @param {Given} given
 */
export function ownAttentionCode({ ids, tokens, layer, head, heads }) {
  const stage = `encoder.layers.${layer}.self_attn.weights`;
  return {
    javascript: javascriptProgram({
      models: true,
      body: `const { openAsBlob } = await import('node:fs');
const files = {};
for (const name of ['model.safetensors', 'config.json']) files[name] = await openAsBlob(name);
const model = await attn.loadModel(files);

// ${words(tokens)}
const ids = ${JSON.stringify(ids)};
const n = ids.length;
const name = '${stage}';
const { intermediates } = model.forward(ids, { needLogits: false, intermediates: [name] });
// Head ${head + 1} of ${heads}.
const head = { data: intermediates[name].data.subarray(${head} * n * n, ${head + 1} * n * n), shape: [n, n] };`,
      result: 'head',
    }),
    cpp: cppProgram({
      body: `const attn::LanguageModel model = attn::load_language_model(".");

// ${words(tokens)}
const std::vector<std::int64_t> ids{${ids.join(', ')}};
const std::int64_t n = ${ids.length};
attn::Intermediates shown({"${stage}"});
model.forward(attn::IdView(ids.data(), {n}), {}, {.intermediates = &shown});
const float* const head = shown["${stage}"].data() + ${head} * n * n;  // head ${head + 1} of ${heads}`,
      ...{ result: 'head', rows: 'n', columns: 'n' },
    }),
  };
}
