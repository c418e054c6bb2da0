// attn's jobs in the module of Node that native/addon.cpp makes, and arrays for them.

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
/** The module; to be built before. */
export const attnNode = () => (addon ??= require(kAddon));

/**
 * Floats that begin at a cache line, as all who take part like them best.
 * @param {number} length
 */
export function floats(length) {
  const buffer = new ArrayBuffer(4 * length + 64);
  return new Float32Array(buffer, attnNode().misalignment(buffer), length);
}

/** @param {number} length @param {number} seed @param {number} [deviation] */
export const normal = (length, seed, deviation) => fillNormal(floats(length), seed, deviation);

/**
 * What attn does in a job of the module.
 * @param {string} name
 * @param {object} job
 * @param {Float32Array} result
 * @param {unknown[]} kept  what the job has the addresses of
 * @returns {Solver}
 */
export function solver(name, job, result, kept) {
  // Named in the closure, `kept` lives as long as the job.
  const run = (/** @type {number} */ repeats) =>
    kept.length ? attnNode().time(job, repeats) : NaN;
  return { name, run, output: () => result };
}
