import { existsSync } from 'node:fs';
import { describe, test } from 'node:test';

import { AttnError, load } from 'attn';

/** @import { Attn, ModelsAttn, Variant } from 'attn' */

/** The variants under test, chosen by the suite. @type {Variant[]} */
export const variants = /** @type {any} */ (process.env.ATTN_VARIANTS ?? 'simd128').split(',');

/**
 * Returns the value of `skip` for a test that needs a variant. `npm test` builds only SIMD128.
 * @param {Variant} variant
 */
export const lacks = (variant) =>
  !existsSync(new URL(`attn-${variant}.wasm`, import.meta.resolve('attn'))) &&
  `this build has no ${variant}`;

/**
 * Runs `define`, which defines tests, for every variant that this Node can run.
 * @template {boolean} [Models=false]
 * @param {string} name
 * @param {(attn: Models extends true ? ModelsAttn : Attn) => void} define
 * @param {{ models?: Models }} [options]
 */
export async function everyVariant(name, define, options = {}) {
  for (const variant of variants) {
    const attn = await loadOrSkip(variant, options);
    if (attn) describe(`${name} (${variant})`, () => define(/** @type {any} */ (attn)));
  }
}

/** @param {Variant} variant @param {{ models?: boolean }} options */
async function loadOrSkip(variant, options) {
  try {
    return await load({ variant, threads: 3, ...options });
  } catch (error) {
    if (!(error instanceof AttnError && /lacks/.test(error.message))) throw error;
    test(variant, { skip: error.message }, () => {});
  }
}
