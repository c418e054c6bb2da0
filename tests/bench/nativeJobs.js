// Runs attn's jobs in the Node module that is built from native/addon.cpp, and creates arrays for
// them.

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
/** Returns the module, which must have been built. */
export const attnNode = () => (addon ??= require(kAddon));

/**
 * Floats aligned to a cache line. This alignment suits all contestants best.
 * @param {number} length
 */
export function floats(length) {
  const buffer = new ArrayBuffer(4 * length + 64);
  return new Float32Array(buffer, attnNode().misalignment(buffer), length);
}

export const secondsSince = (/** @type {bigint} */ start) =>
  Number(process.hrtime.bigint() - start) / 1e9;

/** @param {number} length @param {number} seed @param {number} [deviation] */
export const normal = (length, seed, deviation) => fillNormal(floats(length), seed, deviation);

/**
 * Makes a contestant that runs one of the jobs in the Node module. The source of this module is
 * native/addon.cpp.
 * @param {string} name
 * @param {object} job
 * @param {Float32Array} result
 * @param {unknown[]} kept  objects whose memory the job accesses by address
 * @returns {Solver}
 */
export function solver(name, job, result, kept) {
  // The closure refers to `kept`, so the garbage collector cannot free it before the closure.
  const run = (/** @type {number} */ repeats) =>
    kept.length ? attnNode().time(job, repeats) : NaN;
  return { name, run, output: () => result };
}
