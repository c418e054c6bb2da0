import { AttnError } from './errors.js';
import { loadFlavour } from './loader.js';
import { readOptions } from './options.js';
import { hasThreads } from './variants.js';

/** @import { Attn } from './attn.js' */
/** @import { LoadOptions } from './loader.js' */
/** @import { Names } from './options.js' */
/** @import { Runtime } from './runtime.js' */
/** @import { Flavour, Glue, Variant } from './variants.js' */

/** @typedef {Pick<LoadOptions, 'variant' | 'wasmUrl' | 'wasm' | 'signal'>} StaticLoadOptions */

/** @type {Names<StaticLoadOptions>} */
const kStaticLoadOptions = { variant: true, wasmUrl: true, wasm: true, signal: true };

/**
 * Loads a flavour of the module (attn, training or models) whose JavaScript has been imported
 * statically.
 * @template {Attn} Module
 * @param {Flavour} flavour
 * @param {new (runtime: Runtime, variant: Variant, fallback?: string) => Module} Class
 * @param {Glue} glue  glue of the variants without threads
 * @param {StaticLoadOptions} [options]
 * @returns {Promise<Module>}
 */
export async function loadStatic(flavour, Class, glue, options = {}) {
  options = readOptions(options, kStaticLoadOptions);
  const { variant } = options;
  if (typeof variant === 'string' && hasThreads(variant)) {
    throw new AttnError(
      'load_failed',
      `variant ${variant}: attn/static has no threads; use load() of 'attn'`,
    );
  }
  const parts = { classOf: () => Class, glue: () => glue, threads: false };
  return /** @type {Promise<any>} */ (loadFlavour(flavour, { ...options, threads: 1 }, parts));
}
