/** @packageDocumentation attn in your own worker. */

import { connectTo, kConnectOptions } from './connection.js';
import { AttnError } from './errors.js';
import { readOptions } from './options.js';

/** @import { ConnectOptions } from './connection.js' */
/** @import { Tasks } from './serve.js' */
/** @import { RemoteAttn } from './worker.js' */

export { AttnError };

/**
 * Loads the WebAssembly module in your worker, whose script calls `serve` of `attn/worker/serve`.
 * It works like `load({ worker })` of `attn/worker`, but does not include attn's own worker in your
 * bundle.
 *
 * ```js
 * import { connect } from 'attn/worker/connect';
 *
 * const worker = new Worker(new URL('./tasks.js', import.meta.url), { type: 'module' });
 * const attn = await connect(worker);
 * ```
 *
 * @template {Tasks} [T=Tasks]
 * @param {Worker} worker  attn owns the worker after this call
 * @param {ConnectOptions} [options]
 * @returns {Promise<RemoteAttn<T>>}
 * @throws {AttnError} like `load()` of `attn`; also `load_failed` if the worker does not call
 *   `serve()` in time
 */
export async function connect(worker, options = {}) {
  options = readOptions(options, kConnectOptions);
  return connectTo(() => worker, options);
}
