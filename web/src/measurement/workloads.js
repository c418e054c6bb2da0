import { randomLcg, randomNormal } from 'd3-random';

import { doubleAttention } from './doubleAttention.js';
import { scalarAttention } from './scalarAttention.js';

/** @typedef {import('attn').Attn} Attn */

/**
 * A kind of work and the lengths at which to measure it.
 * @typedef {object} Job
 * @property {string} id
 * @property {keyof typeof workloads} work
 * @property {import('attn').Variant} [variant]  the best available by default
 * @property {number} [threads]  by default, the number of cores, but at most four
 * @property {Record<string, number>} shape  the work's parameters other than the length
 * @property {number[]} lengths  ascending
 * @property {number} power  the work is proportional to the length raised to this power
 * @property {number} [compareAt] the length at which the result is compared with one computed in
 *   doubles
 */

/**
 * @typedef {object} Work
 * @property {(length: number) => () => ArrayLike<number>} prepare  returns the call to time
 * @property {(length: number) => ArrayLike<number>} [exact] the call's result, computed in doubles
 */

/**
 * Normal random numbers. The same count and seed give the same numbers, so all engines compute with
 * the same inputs.
 * @param {number} count
 * @param {number} seed
 */
function normal(count, seed) {
  const next = randomNormal.source(randomLcg((seed * 0.6180339887498949) % 1))();
  return Float32Array.from({ length: count }, next);
}

/** @param {Job['shape']} shape @param {number} length */
function attentionInputs({ heads, dim }, length) {
  const [query, key, value] = [1, 2, 3].map((seed) => normal(heads * length * dim, seed));
  return { query, key, value, shape: { heads, length, dim } };
}

/** @param {Job['shape']} sizes */
const exactAttention = (sizes) => (/** @type {number} */ length) => {
  const { query, key, value, shape } = attentionInputs(sizes, length);
  return doubleAttention(query, key, value, shape);
};

export const workloads = {
  /**
   * Attention in plain JavaScript.
   * @param {Attn} _
   * @param {Job} job
   * @returns {Work}
   */
  scalarAttention: (_, job) => ({
    prepare(length) {
      const { query, key, value, shape } = attentionInputs(job.shape, length);
      return () => scalarAttention(query, key, value, shape);
    },
    exact: exactAttention(job.shape),
  }),

  /** @param {Attn} attn @param {Job} job @returns {Work} */
  attention: (attn, job) => ({
    prepare(length) {
      const { query, key, value } = attentionInputs(job.shape, length);
      const shape = [job.shape.heads, length, job.shape.dim];
      const [q, k, v] = [query, key, value].map((data) => ({ data, shape }));
      return () => attn.scaledDotProductAttention(q, k, v).output.data;
    },
    exact: exactAttention(job.shape),
  }),

  /**
   * A convolution with d channels that preserves the length.
   * @param {Attn} attn
   * @param {Job} job
   * @returns {Work}
   */
  convolution(attn, { shape: { d, k } }) {
    const layer = new attn.Conv1d({
      inChannels: d,
      outChannels: d,
      kernelSize: k,
      padding: 'same',
      seed: 1,
    });
    return {
      prepare(length) {
        const x = { data: normal(length * d, 1), shape: [length, d] };
        return () => layer.forward(x).data;
      },
    };
  },

  /** A plain RNN of width d. @param {Attn} attn @param {Job} job @returns {Work} */
  recurrence(attn, { shape: { d } }) {
    const layer = new attn.RNN({ inputSize: d, hiddenSize: d, seed: 1 });
    return {
      prepare(length) {
        const x = { data: normal(length * d, 1), shape: [length, d] };
        return () => layer.forward(x).output.data;
      },
    };
  },
};
