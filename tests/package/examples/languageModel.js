// Loads a language model, such as GPT-2 or Llama, from its files.
//
//   node languageModel.js <folder> <token ids …>

import { openAsBlob, readdirSync } from 'node:fs';

import { load } from 'attn';

const [folder = '.', ...numbers] = process.argv.slice(2);
const attn = await load({ models: true });

// Blobs let attn read the files from disk in slices.
/** @type {Record<string, Blob>} */
const files = {};
for (const name of readdirSync(folder)) {
  if (/\.safetensors$|\.json$/.test(name)) files[name] = await openAsBlob(`${folder}/${name}`);
}
const model = await attn.loadModel(files);
const { family, layers, vocabSize } = model.description;
console.log('family', family, 'with', layers.length, 'layers');

// Predicts the next token, and shows where the last token attends in the first head of the last
// layer.
const ids = numbers.length ? numbers.map(Number) : [0];
const name = `encoder.layers.${layers.length - 1}.self_attn.weights`;
const { logits, intermediates } = model.forward(ids, { numLogits: 1, intermediates: [name] });
console.log('next', attn.chooseToken({ data: logits.data, shape: [logits.data.length] }));
const n = ids.length;
console.log('looks', intermediates[name].data.subarray((n - 1) * n, n * n));

// Does the prediction depend on the first token? Predicts again without attention from the last token
// to the first.
const knockOut = layers.map((_, l) => ({
  ...{ attention: `encoder.layers.${l}.self_attn`, query: n - 1, key: 0 },
}));
const without = model.forward(ids, { numLogits: 1, knockOut }).logits;
const best = logits.data.indexOf(Math.max(...logits.data));
console.log('logit', logits.data[best], 'without the first token', without.data[best]);

// Does it depend on the first head of the first layer? Silences this head: it gives its mean over all
// tokens at every token.
const ablate = [
  {
    name: 'encoder.layers.0.self_attn.head_output',
    head: 0,
    replacement: /** @type {const} */ ('mean'),
  },
];
const silent = model.forward(ids, { numLogits: 1, ablate }).logits;
console.log('without head 1', silent.data[best]);

// What has the first layer's attention brought to the last token? Reads another sentence, which
// differs in the first token, and patches what this attention adds there into the first sentence.
const added = 'encoder.layers.0.attn_out';
const other = model.forward(ids.with(0, (ids[0] + 1) % vocabSize), {
  numLogits: 1,
  intermediates: [added],
});
const { data, shape } = other.intermediates[added];
const width = shape[shape.length - 1];
const values = { data: data.slice(-width), shape: [width] };
const patch = [{ name: added, position: n - 1, values }];
console.log('patched', model.forward(ids, { numLogits: 1, patch }).logits.data[best]);

console.log('writes', model.generate(ids, { maxNewTokens: 4 }));
model.dispose();
