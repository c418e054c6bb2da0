// attn's jobs in the Node module built from native/addon.cpp, and arrays for them.

import { createRequire } from 'node:module';
import { join } from 'node:path';

import { kBuildFolder } from '../../wasm/toolchain/checkout.js';
import { fillNormal } from './measure.js';

/** @import { Contestant } from './measure.js' */

const require = createRequire(import.meta.url);

const kAddon = join(kBuildFolder, 'bench/tests/bench/native/attn_node.node');

/**
 * @typedef {Contestant & {
 *   output?: () => Float32Array | Promise<Float32Array>, dispose?: () => unknown
 * }} Solver
 */

/** @type {any} */
let addon;
/** The module, which must have been built. */
export const attnNode = () => (addon ??= require(kAddon));

/**
 * Floats that begin at a cache line, which suits all contestants best.
 * @param {number} length
 */
export function floats(length) {
  const buffer = new ArrayBuffer(4 * length + 64);
  return new Float32Array(buffer, attnNode().misalignment(buffer), length);
}

/** @param {number} length @param {number} seed @param {number} [deviation] */
export const normal = (length, seed, deviation) => fillNormal(floats(length), seed, deviation);

/**
 * Runs attn in a job of the module.
 * @param {string} name
 * @param {object} job
 * @param {Float32Array} result
 * @param {unknown[]} kept  objects to whose memory the job has addresses
 * @returns {Solver}
 */
export function solver(name, job, result, kept) {
  // The closure refers to `kept`, which therefore lives as long as the job.
  const run = (/** @type {number} */ repeats) =>
    kept.length ? attnNode().time(job, repeats) : NaN;
  return { name, run, output: () => result };
}
