/** @packageDocumentation attn for service workers and extension backgrounds, where import() is forbidden. */

import { Attn } from './attn.js';
// @ts-ignore: the build makes it.
import * as glue from './attn.glue.js';
import { loadStatic } from './loadStatic.js';

/** @import { StaticLoadOptions } from './loadStatic.js' */

export { AttnError } from './index.js';

/**
 * Loads the WebAssembly module as `load()` of `attn` does, with all JavaScript imported statically. One thread does
 * the work.
 *
 * ```js
 * import { load } from 'attn/static';
 *
 * const attn = await load();
 * ```
 *
 * @param {StaticLoadOptions} [options]
 * @returns {Promise<Attn>}
 * @throws {AttnError} as `load()` of `attn`
 */
export const load = (options) => loadStatic('attn', Attn, glue, options);
