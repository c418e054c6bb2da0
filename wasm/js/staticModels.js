/** @packageDocumentation attn with models for service workers and extension backgrounds, where import() is forbidden. */

import { ModelsAttn } from './models.js';
// @ts-ignore: the build generates this file.
import * as glue from './models.glue.js';
import { loadStatic } from './loadStatic.js';

/** @import { StaticLoadOptions } from './loadStatic.js' */

export { AttnError } from './index.js';

/**
 * Loads the WebAssembly module like `load({ models: true })` of `attn`, with all JavaScript imported statically. The
 * module runs on one thread.
 *
 * ```js
 * import { load } from 'attn/static/models';
 *
 * const attn = await load();
 * ```
 *
 * @param {StaticLoadOptions} [options]
 * @returns {Promise<ModelsAttn>}
 * @throws {AttnError} like `load()` of `attn`
 */
export const load = (options) => loadStatic('models', ModelsAttn, glue, options);
