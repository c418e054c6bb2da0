/// <reference lib="esnext.disposable" preserve="true" />

/** @packageDocumentation attn in a worker: the same API, but asynchronous and off the main thread. */

import { connectTo, kConnectOptions, notStarted } from './connection.js';
import { AttnError } from './errors.js';
import { readOptions } from './options.js';
import { isForeign, webWorker } from './threads.js';

/** @import { AdditiveAttention } from './additiveAttention.js' */
/** @import { Attn } from './attn.js' */
/** @import { BahdanauDecoder } from './bahdanauDecoder.js' */
/** @import { CallOptions, ConnectOptions } from './connection.js' */
/** @import { Embedding } from './embedding.js' */
/** @import { FeedForward } from './feedForward.js' */
/** @import { GatedFeedForward } from './gatedFeedForward.js' */
/** @import { AddNorm, LayerNorm } from './layerNorm.js' */
/** @import { Linear } from './linear.js' */
/** @import { MultiHeadAttention } from './multiHeadAttention.js' */
/** @import { Names } from './options.js' */
/** @import { GRU, RNN } from './recurrent.js' */
/** @import { RMSNorm } from './rmsNorm.js' */
/** @import { RotaryEmbedding } from './rotaryEmbedding.js' */
/** @import { Tasks } from './serve.js' */
/** @import { TransformerDecoder, TransformerDecoderLayer } from './transformerDecoder.js' */
/** @import { TransformerEncoder, TransformerEncoderLayer } from './transformerEncoder.js' */

export { AttnError };

/**
 * @typedef {object} WorkerOption
 * @property {Worker} [worker]  your own worker, with a module that calls `serve` of
 *   `attn/worker/serve`. attn takes ownership of it. `connect` of `attn/worker/connect` also takes
 *   a worker, and lets bundlers leave out the default worker.
 */

/** @typedef {ConnectOptions & WorkerOption} WorkerLoadOptions */

/** @type {Names<WorkerLoadOptions>} */
const kOptions = { ...kConnectOptions, worker: true };

/**
 * A value of attn's API as the page sees it. Objects with `dispose()` stay in the worker; everything else is
 * copied.
 * @template T
 * @typedef {T extends { dispose(): void } ? Remote<T>
 *   : T extends ArrayLike<number> | ArrayBuffer | Function ? T
 *   : T extends object ? { [K in keyof T]: Sent<T[K]> }
 *   : T} Sent
 */

/**
 * Arguments of a call into the worker.
 * @template {unknown[]} A
 * @typedef {{ [K in keyof A]: Sent<A[K]> }} SentArguments
 */

/**
 * @template M
 * @typedef {M extends abstract new (...args: infer A) => infer R
 *   ? new (...args: SentArguments<A>) => Promise<Sent<R>>
 *   : M extends (...args: infer A) => infer R
 *     ? (...args: SentArguments<A>) => Promise<Sent<Awaited<R>>>
 *     : M extends Readonly<Record<string, (...args: any[]) => any>>
 *       ? { [K in keyof M]: RemoteMember<M[K]> }
 *       : Promise<Sent<M>>} RemoteMember
 */

/**
 * An object in the worker. Its methods and properties have the same names as in the original and
 * return promises. Constructors return promises, too: `await new attn.MultiHeadAttention(…)`.
 * Dispose of the object with `dispose()` or `using`; otherwise it is disposed of when it is
 * garbage-collected. `with` returns the same object, with the given options for its calls.
 * @template T
 * @typedef {RemoteMembers<T> & {
 *   with(options: CallOptions): Remote<T>,
 *   [Symbol.dispose](): void,
 * }} Remote
 */

/**
 * The kind of results of a module in a worker.
 * @template As
 * @typedef {As extends 'handle' ? 'remoteHandle' : 'remoteArray'} Away
 */

/**
 * The methods with result types that depend on their options. A mapped type erases the type
 * parameters of methods, so this type takes these methods from the class and changes only the kind
 * of their results.
 * @template T
 * @typedef {T extends Attn<infer As>
 *     ? Pick<Attn<Away<As>>,
 *       'scaledDotProductAttention' | 'attentionPooling' | 'applyRotaryEmbedding'>
 *   : T extends MultiHeadAttention<infer As>
 *     ? Pick<MultiHeadAttention<Away<As>>, 'forward' | 'attend'>
 *   : T extends AdditiveAttention<infer As>
 *     ? Pick<AdditiveAttention<Away<As>>, 'forward' | 'forwardProjected'>
 *   : T extends BahdanauDecoder<infer As> ? Pick<BahdanauDecoder<Away<As>>, 'forward'>
 *   : T extends TransformerEncoder<infer As> ? Pick<TransformerEncoder<Away<As>>, 'forward'>
 *   : T extends TransformerEncoderLayer<infer As>
 *     ? Pick<TransformerEncoderLayer<Away<As>>, 'forward'>
 *   : T extends TransformerDecoder<infer As> ? Pick<TransformerDecoder<Away<As>>, 'forward'>
 *   : T extends TransformerDecoderLayer<infer As>
 *     ? Pick<TransformerDecoderLayer<Away<As>>, 'forward'>
 *   : T extends FeedForward<infer As> ? Pick<FeedForward<Away<As>>, 'forward'>
 *   : T extends GatedFeedForward<infer As> ? Pick<GatedFeedForward<Away<As>>, 'forward'>
 *   : T extends AddNorm<infer As> ? Pick<AddNorm<Away<As>>, 'forward'>
 *   : T extends LayerNorm<infer As> ? Pick<LayerNorm<Away<As>>, 'forward' | 'forwardSum'>
 *   : T extends Linear<infer As> ? Pick<Linear<Away<As>>, 'forward'>
 *   : T extends RMSNorm<infer As> ? Pick<RMSNorm<Away<As>>, 'forward'>
 *   : T extends Embedding<infer As> ? Pick<Embedding<Away<As>>, 'forward'>
 *   : T extends RotaryEmbedding<infer As> ? Pick<RotaryEmbedding<Away<As>>, 'forward'>
 *   : T extends GRU<infer As> ? Pick<GRU<Away<As>>, 'forward'>
 *   : T extends RNN<infer As> ? Pick<RNN<Away<As>>, 'forward'>
 *   : unknown} RemoteCalls
 */

/**
 * @template T
 * @typedef {RemoteCalls<T>
 *   & { [K in keyof T as Exclude<K, symbol | 'toJSON'>]: RemoteMember<T[K]> }} RemoteMembers
 */

/**
 * @template {Tasks} T
 * @typedef {object} Running
 * @property {<N extends keyof T & string>(name: N, ...args: TaskArguments<T[N]>) =>
 *   Promise<TaskResult<T[N]>>} run  runs a task of the worker
 * @property {() => void} terminate  ends the worker at once. Pending calls and all later calls are rejected
 *   with `disposed`.
 * @property {() => Promise<void>} dispose  like `terminate`. In Node, the promise is fulfilled when the worker
 *   has ended; browsers do not report that
 */

/**
 * @template F
 * @typedef {F extends (attn: any, ...args: infer A) => any ? SentArguments<A> : never} TaskArguments
 */

/**
 * @template F
 * @typedef {F extends (...args: any[]) => infer R
 *   ? R extends Generator<any, infer V> | AsyncGenerator<any, infer V> ? Sent<V> : Sent<Awaited<R>>
 *   : never} TaskResult
 */

/**
 * A module in a worker: {@link Attn} with promises.
 * @template {Tasks} [T=Tasks]
 * @typedef {Omit<RemoteMembers<Attn>, 'dispose'> & Running<T> & {
 *   with(options: CallOptions): RemoteAttn<T>,
 *   [Symbol.dispose](): void,
 *   [Symbol.asyncDispose](): Promise<void>,
 * }} RemoteAttn
 */

/**
 * Starts a worker and loads the WebAssembly module there. The result has the same API as the result of `load()`
 * of `attn`, but returns promises. Calls run in order, and any number may be pending.
 *
 * ```js
 * import { load } from 'attn/worker';
 *
 * const attn = await load();
 * const { output } = await attn.scaledDotProductAttention(query, key, value, { causal: true });
 *
 * const mha = await new attn.MultiHeadAttention({ dModel: 512, numHeads: 8 });
 * const result = await mha.with({ signal: AbortSignal.timeout(1000) }).forward(x, x, x);
 * mha.dispose();
 * ```
 *
 * The worker ends when you call `dispose()` or `terminate()`, or once everything that it returned has
 * been garbage-collected.
 *
 * Bundlers put the worker's script next to the page's script. Vite needs
 * `worker: { format: 'es' }`. In Node, an idle worker does not keep the process alive.
 *
 * @template {Tasks} [T=Tasks]
 * @param {WorkerLoadOptions} [options]
 * @returns {Promise<RemoteAttn<T>>}
 * @throws {AttnError} like `load()` of `attn`; also `load_failed` if the worker cannot be started, or does not
 *   call `serve()` in time
 */
export async function load(options = {}) {
  options = readOptions(options, kOptions);
  const { worker, ...others } = options;
  return connectTo(() => (worker === undefined ? startWorker() : worker), others);
}

/** @returns {Worker} */
function startWorker() {
  // The URL is computed, because bundlers would follow a URL that is written as a literal.
  const script = new URL(import.meta.url.replace(/[^/]*$/, 'workerScript.js'));
  try {
    if (typeof Worker === 'function') {
      if (isForeign(import.meta.url)) return webWorker(script.href, { type: 'module' });
      // Bundlers find the script only if the URL is written exactly like this, so `script` cannot
      // be used here.
      return new Worker(new URL('./workerScript.js', import.meta.url), { type: 'module' });
    }
    const { Worker: NodeWorker } = globalThis.process.getBuiltinModule('node:worker_threads');
    // By default a worker inherits the options of the process. If an option is not allowed in
    // workers, the worker does not start.
    const options = { execArgv: [] };
    return /** @type {any} */ (new NodeWorker(script, options));
  } catch (error) {
    throw notStarted(error);
  }
}
