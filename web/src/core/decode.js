import { joinHeads } from './heads.js';

/** @typedef {import('attn').Tensor} Tensor */

/**
 * @typedef {object} Decoding
 * @property {Tensor} x the input (n, E)
 * @property {Tensor} q (n, H·D), for all tokens
 * @property {Tensor} keys (n, Hkv·D): the final contents of the cache, heads side by side
 * @property {Tensor} values (n, Hkv·D)
 * @property {Tensor[]} weights at each step: (H, tokens so far)
 * @property {Tensor} output (n, E), one row per step
 * @property {Tensor} whole (n, E), from one pass over all tokens
 * @property {Float32Array} differences the largest |output − whole| up to and including each step
 */

/**
 * Collects the results of all steps.
 * @param {{ q: Float32Array, output: Float32Array, weights: Tensor }[]} steps at least one
 * @param {Pick<Decoding, 'x' | 'keys' | 'values' | 'whole'>} known
 * @returns {Decoding}
 */
export function decoding(steps, known) {
  const inRows = (/** @type {'q' | 'output'} */ name) => {
    const width = steps[0][name].length;
    const data = new Float32Array(steps.length * width);
    steps.forEach((step, t) => data.set(step[name], t * width));
    return { data, shape: [steps.length, width] };
  };
  const output = inRows('output');
  const differences = new Float32Array(steps.length);
  let largest = 0;
  for (let i = 0; i < output.data.length; i++) {
    largest = Math.max(largest, Math.abs(output.data[i] - known.whole.data[i]));
    differences[Math.floor(i / output.shape[1])] = largest;
  }
  return {
    ...{ ...known, q: inRows('q'), output, differences },
    weights: steps.map(({ weights: { data, shape } }, t) => ({ data, shape: [shape[0], t + 1] })),
  };
}

/**
 * A causal block that processes one token at a time, with past keys and values in a cache. The
 * block keeps its results. For the next input, it computes only the first changed row and the rows
 * after it.
 */
export class Decoder {
  #layer;
  #cache;
  /**
   * Results for each token in the cache.
   * @type {{ x: Float32Array, q: Float32Array, output: Float32Array, weights: Tensor }[]}
   */
  #steps = [];

  /**
   * @param {import('./layer.js').EncoderLayer} layer the decoder does not dispose of this layer
   */
  constructor(layer) {
    this.#layer = layer;
    this.#cache = layer.makeCache();
  }

  /**
   * @param {Tensor} x (n, E), n ≥ 1
   * @returns {Decoding}
   */
  decode(x) {
    const [length, dModel] = x.shape;
    const row = (/** @type {number} */ t) => x.data.subarray(t * dModel, (t + 1) * dModel);
    const changed = this.#steps.findIndex(({ x }, t) => t >= length || !same(x, row(t)));
    if (changed >= 0) {
      this.#steps.length = changed;
      this.#cache.truncate(changed);
    }
    for (let t = this.#steps.length; t < length; t++) {
      const token = { data: row(t), shape: [1, dModel] };
      const {
        output,
        weights,
        intermediates = {},
      } = this.#layer.forward(token, {
        attention: { causal: true, needWeights: true },
        cache: this.#cache,
        intermediates: ['self_attn.q'],
      });
      this.#steps.push({
        x: token.data,
        // A tensor (H, 1, D) is one row of length H·D, with the heads side by side.
        q: intermediates['self_attn.q'].data,
        output: output.data,
        weights,
      });
    }
    return decoding(this.#steps, {
      x,
      keys: joinHeads(this.#cache.keys()),
      values: joinHeads(this.#cache.values()),
      whole: this.#layer.forward(x, { attention: { causal: true } }).output,
    });
  }

  dispose() {
    this.#cache.dispose();
  }
}

/** @param {Float32Array} a @param {Float32Array} b an array of the same length as `a` */
const same = (a, b) => a.every((value, i) => value === b[i]);

/**
 * The cost of decoding up to and including a step: the number of rows of K and V that are projected
 * with and without a cache, and the number of earlier rows that this step reads from the cache.
 * @param {number} step from 0
 */
export function work(step) {
  const tokens = step + 1;
  return { withCache: tokens, without: (tokens * (tokens + 1)) / 2, read: step };
}

/**
 * The state of a matrix at a decoding step. Rows of later tokens are empty.
 * @param {import('../drawing/matrix.js').Matrix} matrix
 * @param {number} step
 */
export function soFar({ data, rows, columns }, step) {
  const known = new Float32Array(data.length);
  known.set(data.subarray(0, (step + 1) * columns));
  return { data: known, rows, columns };
}
