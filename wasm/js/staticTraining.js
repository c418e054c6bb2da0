/** @packageDocumentation attn with training for service workers and extension backgrounds, where import() is forbidden. */

import { TrainingAttn } from './training.js';
// @ts-ignore: the build makes it.
import * as glue from './training.glue.js';
import { loadStatic } from './loadStatic.js';

/** @import { StaticLoadOptions } from './loadStatic.js' */

export { AttnError } from './index.js';

/**
 * Loads the WebAssembly module as `load({ training: true })` of `attn` does, with all JavaScript imported statically. One thread does
 * the work.
 *
 * ```js
 * import { load } from 'attn/static/training';
 *
 * const attn = await load();
 * ```
 *
 * @param {StaticLoadOptions} [options]
 * @returns {Promise<TrainingAttn>}
 * @throws {AttnError} as `load()` of `attn`
 */
export const load = (options) => loadStatic('training', TrainingAttn, glue, options);
