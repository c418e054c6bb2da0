import { describe, test } from 'node:test';

import { AttnError, load } from 'attn';

/** @import { Attn, Variant } from 'attn' */

/** @type {Variant[]} */
export const variants = ['simd128', 'relaxed-simd', 'simd128-threads', 'relaxed-simd-threads'];

/**
 * Runs `define`, which defines tests, once for every variant that this node can run.
 * @param {string} name
 * @param {(attn: Attn) => void} define
 */
export async function everyVariant(name, define) {
  for (const variant of variants) {
    const attn = await loadOrSkip(variant);
    if (attn) describe(`${name} (${variant})`, () => define(attn));
  }
}

/** @param {Variant} variant */
async function loadOrSkip(variant) {
  try {
    return await load({ variant, threads: 3 });
  } catch (error) {
    if (!(error instanceof AttnError && /lacks/.test(error.message))) throw error;
    test(variant, { skip: error.message }, () => {});
  }
}
