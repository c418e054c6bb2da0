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

const attn = await load({ models: true, training: true });
/** @type {Record<string, Blob>} */
const files = {};
for (const name of readdirSync(folder)) {
  if (/\.safetensors$|\.json$/.test(name)) files[name] = await openAsBlob(`${folder}/${name}`);
}
// The names at the end of this file are Llama's.
const { family } = await attn.describeModel(files);
if (family !== 'llama') throw new Error(`This example needs a Llama model, not ${family}.`);
const model = await attn.loadModel(files, { weightType: 'float32' });

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
  const { logits } = model.forward(ids.slice(0, targets.length), { tape });
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
const renamed = Object.entries(model.stateDict()).map(
  ([name, tensor]) =>
    /** @type {const} */ ([names.reduce((to, [from, by]) => to.replace(from, by), name), tensor]),
);
mkdirSync(target, { recursive: true });
writeFileSync(`${target}/model.safetensors`, attn.toSafetensors(renamed, { format: 'pt' }));
for (const name of Object.keys(files)) {
  if (/^(config|tokenizer.*)\.json$/.test(name))
    copyFileSync(`${folder}/${name}`, `${target}/${name}`);
}
