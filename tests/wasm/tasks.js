// A worker with custom tasks, for worker.test.js.

import { runInNewContext } from 'node:vm';

import { serve } from 'attn/worker/serve';

/** @import { Attn, MultiHeadAttention, Tensor, TrainingAttn } from 'attn' */

let endings = 0;

/** A class of the tasks, not of attn. Its objects return their array and continue to use it. */
class Recorder {
  #numbers = Float32Array.of(1, 2, 3);
  read() {
    return this.#numbers;
  }
  parts() {
    return { data: this.#numbers, shape: [3] };
  }
  get numbers() {
    return this.#numbers;
  }
  async later() {
    return this.#numbers;
  }
  dispose() {}
}

/** A class with one object per task. */
const classes = new Map();
/** @param {string} name */
function made(name) {
  if (!classes.has(name)) {
    classes.set(
      name,
      class {
        answer = () => 42;
        value() {
          return name;
        }
        dispose() {}
      },
    );
  }
  return new (classes.get(name))();
}

/** Errors with unusual properties. */
const strangeErrors = {
  code: () => Object.assign(new Error('with a code'), { code: () => {} }),
  name: () => Object.assign(new Error('with a name'), { name: Symbol('name') }),
  message: () => Object.assign(new Error(), { message: { toString: null } }),
  getter: () =>
    Object.defineProperty(new Error('with a getter'), 'stack', {
      get() {
        throw new Error('no stack');
      },
    }),
  details: () =>
    Object.assign(new Error('with details'), {
      name: 'AttnError',
      code: 'internal',
      got: () => {},
    }),
  nothing: () => null,
  symbol: () => Symbol('thrown'),
  bare: () => Object.create(null),
};

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
  /** Number of times that `forever` or `yieldsWhatCannotBeSent` has run its `finally` block. */
  endings: () => endings,
  /** @param {Attn} attn @param {MultiHeadAttention} layer @param {Tensor} x */
  async output(attn, layer, x) {
    return layer.forward(x).output;
  },
  /** @param {Attn} attn @param {number} dModel */
  makeLayer: (attn, dModel) => new attn.MultiHeadAttention({ dModel, numHeads: 1 }),
  makeRecorder: () => new Recorder(),
  /** @param {unknown} _ @param {string} name */
  *yieldsObject(_, name) {
    yield made(name);
    return made(name);
  },
  /** @param {unknown} _ @param {string} name */
  returnsObject: (_, name) => made(name),
  /** @param {unknown} _ @param {string} name */
  returnsWhatCannotBeSent: (_, name) => ({ object: made(name), other: () => {} }),
  /** @param {unknown} _ @param {string} name */
  *yieldsWhatCannotBeSent(_, name) {
    try {
      yield { object: made(name), other: () => {} };
    } finally {
      ++endings;
    }
  },
  /** Yields without a value, which lets other calls run. */
  *silent() {
    yield;
    yield undefined;
    return 'done';
  },
  /** @param {unknown} _ @param {keyof typeof strangeErrors} kind */
  failStrangely(_, kind) {
    throw strangeErrors[kind]();
  },
  stop: () => process.exit(),
  /** @param {Attn} attn */
  damage: (attn) => void new Uint8Array(attn.tensor([1], [1]).view().buffer).fill(0xff),
  collectGarbage: () => runInNewContext('gc')(),
  fail() {
    throw new RangeError('the task fails on purpose');
  },
};

serve(tasks);
