/** @packageDocumentation attn for service workers and extension backgrounds, where import() is forbidden. */

import { Attn } from './attn.js';
// @ts-ignore: the build generates this file.
import * as glue from './attn.glue.js';
import { loadStatic } from './loadStatic.js';

/** @import { StaticLoadOptions } from './loadStatic.js' */

export { AttnError } from './index.js';

/**
 * Loads the WebAssembly module like `load()` of `attn`, with all JavaScript imported statically. The module runs on
 * one thread.
 *
 * ```js
 * import { load } from 'attn/static';
 *
 * const attn = await load();
 * ```
 *
 * @param {StaticLoadOptions} [options]
 * @returns {Promise<Attn>}
 * @throws {AttnError} like `load()` of `attn`
 */
export const load = (options) => loadStatic('attn', Attn, glue, options);
