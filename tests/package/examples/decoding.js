// Decodes a sentence token by token in a worker, with a cache, and compares the result with a
// single pass over the whole sentence.

import { load } from 'attn/worker';

/** @import { tasks } from './decodingWorker.js' */

const script = new URL('./decodingWorker.js', import.meta.url);
// Node's workers are created in a different way.
const worker = globalThis.process
  ? new (process.getBuiltinModule('node:worker_threads').Worker)(script)
  : new Worker(script, { type: 'module' });
/** @type {import('attn/worker').RemoteAttn<typeof tasks>} */
const attn = await load({ worker: /** @type {Worker} */ (worker) });

const tokens = ['time', 'flies', 'like', 'an', 'arrow'];
const options = { dModel: 32, numHeads: 4, seed: 7 };

// Processes the whole sentence at once. No token attends to later tokens.
const x = await attn.positionalEncoding(await attn.ngramEmbedding(tokens, { dModel: 32 }));
const layer = await new attn.MultiHeadAttention(options);
const { output } = await layer.forward(x, x, x, { causal: true });
await layer.dispose();

let difference = 0;
let position = 0;
const onProgress = (/** @type {any} */ step) => {
  console.log(step.token.padEnd(6), 'sees', step.weights.length / options.numHeads);
  for (const value of step.output) {
    difference = Math.max(difference, Math.abs(value - output.data[position++]));
  }
};
const length = await attn.with({ onProgress }).run('decode', tokens, options);
console.log('tokens', length, 'largest difference', difference);
attn.terminate();
