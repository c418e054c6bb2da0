/** @packageDocumentation attn with training for service workers and extension backgrounds, where import() is forbidden. */

import { TrainingAttn } from './training.js';
// @ts-ignore: the build generates this file.
import * as glue from './training.glue.js';
import { loadStatic } from './loadStatic.js';

/** @import { StaticLoadOptions } from './loadStatic.js' */

export { AttnError } from './index.js';

/**
 * Loads the WebAssembly module like `load({ training: true })` of `attn`, with all JavaScript imported statically. The
 * module runs on one thread.
 *
 * ```js
 * import { load } from 'attn/static/training';
 *
 * const attn = await load();
 * ```
 *
 * @param {StaticLoadOptions} [options]
 * @returns {Promise<TrainingAttn>}
 * @throws {AttnError} like `load()` of `attn`
 */
export const load = (options) => loadStatic('training', TrainingAttn, glue, options);
