// Fine-tunes a Llama model (Llama 2, TinyLlama, SmolLM) on a text, and saves it in the same format.
//
//   node fineTuning.js <folder of the model> <file with token ids> <new folder> [<steps>]

import {
  copyFileSync,
  mkdirSync,
  openAsBlob,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';

import { load } from 'attn';

const [folder = '', text = '', target = '', steps = '40'] = process.argv.slice(2);
const length = 64;

// One module reads the model's files, and the other trains.
const reader = await load({ models: true });
/** @type {Record<string, Blob>} */
const files = {};
for (const name of readdirSync(folder)) {
  if (/\.safetensors$|\.json$/.test(name)) files[name] = await openAsBlob(`${folder}/${name}`);
}
const opened = await reader.loadModel(files, { weightType: 'float32' });
const { family, vocabSize, layers, tied } = opened.description;
const { normEps, rotaryDim, rotaryBase, rotaryScaling, ...sizes } = layers[0];
if (family !== 'llama' || rotaryScaling || !rotaryDim || !rotaryBase) {
  throw new Error('This example needs a Llama model without scaled rotary positions.');
}
const weights = opened.stateDict();
reader.dispose();

// The same layers, in the module that trains.
const attn = await load({ training: true });
const { dModel, numHeads, numKvHeads, headDim, dimFeedforward, activation } = sizes;
const encoder = new attn.TransformerEncoder({
  ...{ numLayers: layers.length, dModel, numHeads, numKvHeads, headDim, dimFeedforward },
  ...{ activation, gatedFeedForward: true, normFirst: true, finalNorm: true, bias: false },
  ...{ rmsNorm: { eps: normEps }, positions: { rotary: { rotaryDim, base: rotaryBase } } },
});
const embedding = new attn.Embedding({ numEmbeddings: vocabSize, embeddingDim: dModel });
const output = new attn.Linear({ inFeatures: dModel, outFeatures: vocabSize, bias: false });
/** @type {Record<string, typeof encoder | typeof embedding | typeof output>} */
const model = tied ? { embedding, encoder } : { embedding, encoder, output };
for (const [name, layer] of Object.entries(model)) {
  layer.loadStateDict(weights, { prefix: `${name}.` });
}

// Each step reads one passage of the text, and predicts each token from the tokens before it.
const all = readFileSync(text, 'utf8').trim().split(/\s+/).map(Number);
const optimizer = new attn.AdamW(model, { lr: 1e-3, weightDecay: 0 });
const tape = new attn.Tape();
for (let step = 0; step < Number(steps); ++step) {
  const most = Math.max(0, all.length - 1 - length);
  const start = Math.min(most, (step * length) % (most + length));
  const ids = all.slice(start, start + length);
  const targets = all.slice(start + 1, start + 1 + length);
  tape.clear();
  const x = embedding.forward(ids.slice(0, targets.length), { tape });
  const y = encoder.forward(x, { attention: { causal: true } });
  const logits = tied ? attn.linear(y, tape.parameter(embedding, 'weight')) : output.forward(y);
  const loss = attn.crossEntropy(logits, targets);
  tape.backward(loss);
  attn.clipGradNorm(tape, 1);
  optimizer.step(tape);
  if (step % 10 === 0 || step === Number(steps) - 1) console.log(step, loss.item());
}

// Saves the weights under the names that Llama's files use, so that other programs can open them.
/** @type {[RegExp, string][]} */
const names = [
  [/^embedding\./, 'model.embed_tokens.'],
  [/^output\./, 'lm_head.'],
  [/^encoder\./, 'model.'],
  [/self_attn\.([qkv]_proj)_weight/, 'self_attn.$1.weight'],
  [/self_attn\.out_proj/, 'self_attn.o_proj'],
  [/(gate|up|down)_proj/, 'mlp.$1_proj'],
  [/norm1/, 'input_layernorm'],
  [/norm2/, 'post_attention_layernorm'],
];
const tensors = Object.entries(model).flatMap(([name, layer]) =>
  Object.entries(layer.stateDict({ prefix: `${name}.` })),
);
const renamed = tensors.map(
  ([name, tensor]) =>
    /** @type {const} */ ([names.reduce((to, [from, by]) => to.replace(from, by), name), tensor]),
);
mkdirSync(target, { recursive: true });
writeFileSync(`${target}/model.safetensors`, attn.toSafetensors(renamed, { format: 'pt' }));
for (const name of Object.keys(files)) {
  if (/^(config|tokenizer.*)\.json$/.test(name))
    copyFileSync(`${folder}/${name}`, `${target}/${name}`);
}
