// A worker with tasks of its own, for worker.test.js.

import { runInNewContext } from 'node:vm';

import { serve } from 'attn/worker/serve';

/** @import { Attn, MultiHeadAttention, Tensor, TrainingAttn } from 'attn' */

let endings = 0;

export const tasks = {
  /** @param {Attn} attn @param {Tensor[]} batches */
  *encodeAll(attn, batches) {
    const results = [];
    for (const [i, x] of batches.entries()) {
      results.push(attn.positionalEncoding(x));
      yield { done: i + 1, last: results[i] };
    }
    return results;
  },
  *forever() {
    try {
      for (let i = 0; ; ++i) yield i;
    } finally {
      ++endings;
    }
  },
  /** @param {TrainingAttn} attn @param {number} steps */
  *train(attn, steps) {
    const attention = new attn.MultiHeadAttention({ dModel: 2, numHeads: 1 });
    const layer = new attn.Linear({ inFeatures: 2, outFeatures: 2 });
    const optimizer = new attn.SGD({ attention, layer }, { lr: 0.5 });
    const tape = new attn.Tape();
    tape.watch(attention, ['weights']);
    for (let step = 1; step <= steps; ++step) {
      tape.clear();
      const x = tape.constant({ data: [1, 0, 0, 1], shape: [2, 2] });
      const loss = attn.crossEntropy(layer.forward(x.add(attention.forward(x))), [1, 0]);
      tape.backward(loss);
      optimizer.step(tape);
      const weights = tape.intermediate(attention, 'weights').value();
      yield { step, loss: loss.item(), parameter: layer.parameter('weight'), weights };
    }
    return layer.stateDict();
  },
  /** How often `forever` has ended. */
  endings: () => endings,
  /** @param {Attn} attn @param {MultiHeadAttention} layer @param {Tensor} x */
  async output(attn, layer, x) {
    return layer.forward(x).output;
  },
  /** @param {Attn} attn @param {number} dModel */
  makeLayer: (attn, dModel) => new attn.MultiHeadAttention({ dModel, numHeads: 1 }),
  stop: () => process.exit(),
  /** @param {Attn} attn */
  damage: (attn) => void new Uint8Array(attn.tensor([1], [1]).view().buffer).fill(0xff),
  collectGarbage: () => runInNewContext('gc')(),
  fail() {
    throw new RangeError('this is not to be');
  },
};

serve(tasks);
