/** @packageDocumentation attn with models for service workers and extension backgrounds, where import() is forbidden. */

import { ModelsAttn } from './models.js';
// @ts-ignore: the build makes it.
import * as glue from './models.glue.js';
import { loadStatic } from './loadStatic.js';

/** @import { StaticLoadOptions } from './loadStatic.js' */

export { AttnError } from './index.js';

/**
 * Loads the WebAssembly module as `load({ models: true })` of `attn` does, with all JavaScript imported statically. One thread does
 * the work.
 *
 * ```js
 * import { load } from 'attn/static/models';
 *
 * const attn = await load();
 * ```
 *
 * @param {StaticLoadOptions} [options]
 * @returns {Promise<ModelsAttn>}
 * @throws {AttnError} as `load()` of `attn`
 */
export const load = (options) => loadStatic('models', ModelsAttn, glue, options);
