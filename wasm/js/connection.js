/// <reference lib="esnext.disposable" preserve="true" />

import { checkSignal } from './abort.js';
import { startAtCallerOf } from './callers.js';
import { AttnError, explainedError, hintOf, invalid } from './errors.js';
import { kLoadOptions } from './loadOptions.js';
import { kServing, kWhoServes, pack, unpack } from './message.js';
import { readOptions } from './options.js';
import { printsBriefly } from './print.js';
import { baseAddress, isA } from './realm.js';

/** @import { AttnErrorDetails } from './errors.js' */
/** @import { LoadOptions } from './loader.js' */
/** @import { Members, Reference } from './message.js' */
/** @import { Names } from './options.js' */

/**
 * @typedef {object} StartOption
 * @property {number} [startTimeout]  how long to wait, in ms, until the worker's script calls `serve`.
 *   20 000 by default; `Infinity` waits without limit
 */

/** @typedef {LoadOptions & StartOption} ConnectOptions */

/** @type {Names<ConnectOptions>} */
export const kConnectOptions = { ...kLoadOptions, startTimeout: true };
const kStartTimeout = 20_000;

/**
 * Options of a call, independent of its arguments.
 * @typedef {object} CallOptions
 * @property {AbortSignal} [signal]  rejects the call with the signal's reason at once. A call that
 *   has not started is dropped. A running call cannot be interrupted: its result is ignored, and
 *   later calls wait until that call ends. If you cannot wait, terminate the worker. A task ends at
 *   its next `yield`.
 * @property {readonly ArrayBuffer[]} [transfer]  buffers in the arguments to move instead of
 *   copying; you cannot use them afterwards
 * @property {(progress: any) => void} [onProgress]  receives the values that a task yields. If it throws, the call
 *   is aborted and rejected with that error
 */

/** @type {Names<CallOptions>} */
const kCallOptions = { signal: true, transfer: true, onProgress: true };

/**
 * Request from a page to its worker.
 * @typedef {object} Request
 * @property {'load' | 'call' | 'new' | 'get' | 'run' | 'abort' | 'release'} verb
 * @property {number} id  id of the request, or of the request to abort
 * @property {number} target  the object
 * @property {string} name  name of the member or task
 * @property {any[]} args
 */

/**
 * Answer of the worker. Each request gets any number of answers with progress, then one answer with
 * a value or an error.
 * @typedef {object} Answer
 * @property {number} id  id of the request
 * @property {any} [value]
 * @property {any} [error]
 * @property {any} [progress]
 */

/**
 * An object in the worker. Several remote objects may represent it.
 * @typedef {object} State
 * @property {Connection} connection
 * @property {number} id
 */

/**
 * A call that has not been answered.
 * @typedef {object} Pending
 * @property {Request} request
 * @property {ArrayBuffer[]} buffers
 * @property {State[]} states  states of all objects that the call needs, so that these objects stay alive
 *   during the call
 * @property {(value: any) => void} resolve
 * @property {(error: unknown) => void} reject
 * @property {((progress: any) => void) | undefined} onProgress
 * @property {boolean} aborted
 */

/** Key under which remote objects store the name of their class. */
const kType = Symbol('type');

/**
 * Maps each remote object to its state, which identifies the object in the worker, and to the
 * options of its calls.
 * @type {WeakMap<object, { state: State, options: CallOptions }>}
 */
const remotes = new WeakMap();

/** With a delay of 2^31 ms or more, setTimeout() would fire at once, so no timer is set. */
const kLongestTimeout = 2 ** 31;

/** One worker. */
export class Connection {
  #worker;
  #port;
  #lastId = 0;
  /** @type {Pending[]} not sent yet */
  #waiting = [];
  /** @type {Map<number, Pending>} sent */
  #sent = new Map();
  /** The call that the worker is running. Tasks do not count, because other calls can run during a task. */
  #busy = 0;
  /** @type {unknown} reason why calls are no longer possible */
  #ended;
  #loaded = false;
  /** @type {Map<number, object>} prototypes */
  #types = new Map();
  /** Number of objects in the worker that this connection still uses. */
  #used = 0;
  /** @type {FinalizationRegistry<number>} */
  #released = new FinalizationRegistry((target) => this.#release(target));

  /** @type {MessagePort | undefined} the worker's port, kept until the worker calls `serve()` */
  #theirPort;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;

  /**
   * @param {Worker} worker
   * @param {number} startTimeout  timeout in ms
   */
  constructor(worker, startTimeout) {
    this.#worker = /** @type {any} */ (worker);
    const { port1, port2 } = new MessageChannel();
    this.#port = /** @type {any} */ (port1);
    this.#theirPort = port2;
    port1.onmessage = ({ data }) => this.#receive(data);
    port1.onmessageerror = () => this.end(this.#stopped('its answer could not be read'));
    const hear = (/** @type {any} */ message) => {
      if (message?.attn === kServing) this.#connect();
    };
    if (this.#worker.on) {
      // In Node, an error thrown by the worker's module ends the worker.
      this.#worker.on(
        'error',
        (/** @type {unknown} */ error) => void this.end(this.#stopped(error)),
      );
      this.#worker.on('exit', () => void this.end(this.#stopped('it exited unexpectedly')));
      this.#worker.on('message', hear);
    } else {
      worker.addEventListener('message', ({ data }) => hear(data));
      worker.addEventListener('error', ({ message }) => {
        if (!this.#loaded) void this.end(notStarted(message));
      });
    }
    // Asks whether the worker serves attn. A worker that already serves attn answers. A worker that
    // does not serve attn yet may miss the question, but it sends a message when it starts to
    // serve.
    worker.postMessage({ attn: kWhoServes });
    if (startTimeout < kLongestTimeout) {
      this.#timer = setTimeout(() => void this.end(doesNotServe(startTimeout)), startTimeout);
    }
    this.#stayAlive();
  }

  #connect() {
    clearTimeout(this.#timer);
    const port = this.#theirPort;
    this.#theirPort = undefined;
    if (port) this.#worker.postMessage({ attn: port }, [port]);
  }

  /**
   * Loads the module in the worker.
   * @param {unknown[]} args  arguments of `load()` in the worker
   * @param {AbortSignal} [signal]
   * @returns {Promise<any>} the object that represents the module
   */
  async load(args, signal) {
    const attn = await this.request({ connection: this, id: 0 }, { signal }, 'load', 'load', args);
    this.#loaded = true;
    Object.defineProperties(Object.getPrototypeOf(attn), moduleMembers);
    return attn;
  }

  /**
   * @param {State} state
   * @param {CallOptions} options
   * @param {Request['verb']} verb
   * @param {string} name
   * @param {unknown[]} args
   * @returns {Promise<any>}
   */
  async request(state, { signal, transfer = [], onProgress }, verb, name, args) {
    if (this.#ended) throw this.#ended;
    signal?.throwIfAborted();
    const states = [state];
    const { message, buffers } = pack(args, {
      refer: (value) => {
        const remote = remotes.get(value);
        if (!remote) return undefined;
        if (remote.state.connection !== this) {
          const sentence = 'an argument belongs to another worker; create it with this worker';
          throw explainedError('invalid_argument', name, sentence);
        }
        states.push(remote.state);
        return { id: remote.state.id };
      },
      moves: (buffer) => transfer.includes(buffer),
    });
    const request = { verb, id: ++this.#lastId, target: state.id, name, args: message };
    let abort = () => {};
    try {
      return await new Promise((resolve, reject) => {
        /** @type {Pending} */
        const pending = { request, buffers, states, resolve, reject, onProgress, aborted: false };
        abort = () => this.#abort(pending, signal?.reason);
        signal?.addEventListener('abort', abort);
        this.#waiting.push(pending);
        this.#sendNext();
      });
    } catch (error) {
      throw startAtCallerOf(Connection.prototype.request, error);
    } finally {
      signal?.removeEventListener('abort', abort);
    }
  }

  /**
   * Ends the worker.
   * @param {unknown} reason
   */
  async end(reason) {
    if (this.#ended) return;
    this.#ended = reason;
    clearTimeout(this.#timer);
    // In Node, terminate() returns a promise that resolves when the worker has ended.
    const ended = this.#worker.terminate();
    this.#port.close();
    for (const { reject } of [...this.#sent.values(), ...this.#waiting]) reject(reason);
    this.#sent.clear();
    this.#waiting = [];
    await ended;
  }

  /** Sends one call at a time, so that calls which have not started can still be dropped. */
  #sendNext() {
    while (this.#busy === 0) {
      const pending = this.#waiting.shift();
      if (!pending) break;
      const { request, buffers, reject } = pending;
      try {
        this.#port.postMessage(request, buffers);
      } catch (error) {
        const why = error instanceof Error ? error.message : error;
        const sentence = `an argument cannot be sent to the worker (${why}); pass data that can be cloned`;
        reject(explainedError('invalid_argument', request.name, sentence, { cause: error }));
        continue;
      }
      pending.buffers = [];
      this.#sent.set(request.id, pending);
      if (request.verb !== 'run') this.#busy = request.id;
    }
    this.#stayAlive();
  }

  /** @param {Answer} answer */
  #receive(answer) {
    const { id, error } = answer;
    const isProgress = 'progress' in answer;
    // Unpack even if the call was aborted, because this may be the only message that describes a
    // class.
    const result = this.#unpack(isProgress ? answer.progress : answer.value);
    const pending = this.#sent.get(id);
    if (!pending) return;
    if (isProgress) {
      try {
        if (!pending.aborted) pending.onProgress?.(result);
      } catch (thrown) {
        this.#abort(pending, thrown);
      }
      return;
    }
    this.#sent.delete(id);
    if (this.#busy === id) this.#busy = 0;
    this.#sendNext();
    if (error) {
      pending.reject(toError(error));
      return;
    }
    // The caller never receives the object of an aborted call, so dispose of the object here.
    if (pending.aborted && pending.request.verb === 'new') result.dispose().catch(() => {});
    pending.resolve(result);
  }

  /**
   * @param {Pending} pending
   * @param {unknown} reason
   */
  #abort(pending, reason) {
    pending.reject(reason);
    pending.aborted = true;
    this.#waiting = this.#waiting.filter((other) => other !== pending);
    if (pending.request.verb === 'run') this.#post({ verb: 'abort', id: pending.request.id });
  }

  /** @param {unknown} reason */
  #stopped(reason) {
    if (!this.#loaded) return notStarted(reason);
    const why = reason instanceof Error ? reason.message : reason;
    return new AttnError('internal', `the worker stopped: ${why}; start a new one`, {
      cause: reason,
    });
  }

  /** @param {Partial<Request>} request  a request that gets no answer */
  #post(request) {
    if (!this.#ended) this.#port.postMessage(request);
  }

  /**
   * Ends the worker when no objects are left. Pending calls keep their objects alive, so no call
   * can be pending then.
   * @param {number} target
   */
  #release(target) {
    this.#used -= 1;
    if (this.#used > 0) this.#post({ verb: 'release', target });
    else
      void this.end(
        new AttnError(
          'disposed',
          'attn: the worker has ended, because all of its objects were garbage-collected',
        ),
      );
  }

  /** @param {any} message */
  #unpack(message) {
    return unpack(message, (/** @type {Reference} */ { id, type = 0, members }) => {
      if (members) this.#types.set(type, prototypeOf(members));
      const state = { connection: this, id };
      this.#released.register(state, id);
      this.#used += 1;
      return remote(this.#types.get(type) ?? Object.prototype, state, {});
    });
  }

  /** Lets Node exit when no call is pending: an idle worker must not keep it alive. */
  #stayAlive() {
    const verb = this.#sent.size > 0 ? 'ref' : 'unref';
    this.#worker[verb]?.();
    this.#port[verb]?.();
  }
}

/**
 * @param {object} prototype
 * @param {State} state
 * @param {CallOptions} options
 */
function remote(prototype, state, options) {
  const object = Object.create(prototype);
  remotes.set(object, { state, options });
  return object;
}

/**
 * Makes the prototype of remote objects, which represent objects of one class in the worker.
 * @param {Members} members
 */
function prototypeOf({ type, functions, values, groups }) {
  const prototype = Object.create(commonMembers);
  Object.defineProperty(prototype, kType, { value: type });
  for (const name of values) {
    Object.defineProperty(prototype, name, {
      get() {
        return request(this, 'get', name, []);
      },
    });
  }
  for (const name of functions) {
    Object.defineProperty(prototype, name, {
      // If the object is a module, load() redefines some of these properties (see `moduleMembers`).
      configurable: true,
      // The returned function must know the object in advance, because with `new`, its `this` would
      // be a different object.
      get() {
        return caller(this, name);
      },
    });
  }
  for (const [group, names] of Object.entries(groups)) {
    Object.defineProperty(prototype, group, {
      get() {
        return Object.fromEntries(names.map((name) => [name, caller(this, `${group}.${name}`)]));
      },
    });
  }
  return prototype;
}

/**
 * @param {object} object
 * @param {string} name
 */
function caller(object, name) {
  return function (/** @type {unknown[]} */ ...args) {
    return request(object, new.target ? 'new' : 'call', name, args);
  };
}

/** @param {CallOptions} options */
function checkCallOptions(options) {
  options = readOptions(options, kCallOptions);
  const { signal, transfer, onProgress } = options;
  checkSignal(signal);
  const buffers = transfer ?? [];
  if (
    transfer === null ||
    !Array.isArray(buffers) ||
    buffers.some((buffer) => !isA(buffer, 'ArrayBuffer'))
  ) {
    throw invalid('transfer', transfer, 'an array of ArrayBuffers');
  }
  if (onProgress !== undefined && typeof onProgress !== 'function') {
    throw invalid('onProgress', onProgress, 'a function');
  }
}

/** Members of all remote objects. */
const commonMembers = {
  /** @param {CallOptions} options */
  with(options) {
    checkCallOptions(options);
    const { state, options: earlier } = known(this);
    return remote(Object.getPrototypeOf(this), state, { ...earlier, ...options });
  },
  [Symbol.dispose]() {
    request(this, 'call', 'dispose', []).catch(() => {});
  },
  /** Returns the object that is printed instead of a remote object. */
  toJSON() {
    return { type: `Remote${/** @type {any} */ (this)[kType]}` };
  },
};
printsBriefly(commonMembers);

/** Additional members of the object that represents the module. */
const moduleMembers = Object.getOwnPropertyDescriptors({
  /** @param {string} name @param {unknown[]} args */
  run(name, ...args) {
    return request(this, 'run', name, args);
  },
  terminate() {
    void known(this).state.connection.end(
      new AttnError('disposed', 'attn: used after terminate()'),
    );
  },
  dispose() {
    return known(this).state.connection.end(
      new AttnError('disposed', 'attn: used after dispose()'),
    );
  },
  [Symbol.dispose]() {
    this.terminate();
  },
  [Symbol.asyncDispose]() {
    return this.dispose();
  },
});

/**
 * @param {object} object
 * @param {Request['verb']} verb
 * @param {string} name
 * @param {unknown[]} args
 */
function request(object, verb, name, args) {
  const { state, options } = known(object);
  return state.connection.request(state, options, verb, name, args);
}

/** @param {object} object */
function known(object) {
  const entry = remotes.get(object);
  if (!entry) throw invalid('this', object, 'an object that attn/worker created');
  return entry;
}

/**
 * Recreates an error that was thrown in the worker.
 * @param {{ code?: any, name: string, message: string, stack?: string, details: AttnErrorDetails }} error
 */
function toError({ code, name, message, stack, details }) {
  if (code && name === 'AttnError') {
    return Object.assign(new AttnError(code, message, details), { stack });
  }
  return Object.assign(new Error(message), { name, stack });
}

/** @param {number} startTimeout */
function doesNotServe(startTimeout) {
  return explainedError(
    'load_failed',
    'worker',
    `its module did not call serve() of 'attn/worker/serve' within ${startTimeout} ms; call it earlier, or set a longer startTimeout`,
  );
}

/** @param {unknown} reason */
export function notStarted(reason) {
  const why = reason instanceof Error ? reason.message : reason;
  return new AttnError(
    'load_failed',
    `the worker could not be started: ${why || "its script is missing, or is blocked by the page's content security policy (worker-src) or by the script's own headers (Cross-Origin-Embedder-Policy)"}${hintOf(import.meta.url)}`,
    { cause: reason },
  );
}

/**
 * Checks the options, then loads the WebAssembly module in a worker.
 * @param {() => Worker} makeWorker
 * @param {ConnectOptions} options
 * @returns {Promise<any>}
 */
export async function connectTo(makeWorker, options) {
  const { startTimeout = kStartTimeout, wasmUrl, wasm, signal, ...others } = options;
  checkSignal(signal);
  signal?.throwIfAborted();
  if (typeof startTimeout !== 'number' || !(startTimeout >= 0)) {
    throw invalid('startTimeout', startTimeout, 'a number of milliseconds, 0 or more');
  }
  const worker = makeWorker();
  if (typeof worker?.postMessage !== 'function') throw invalid('worker', worker, 'a Worker');
  const connection = new Connection(worker, startTimeout);
  try {
    const given = {
      ...others,
      ...(wasmUrl !== undefined && { wasmUrl: resolve(wasmUrl) }),
      // A Response can be read here, but cannot be sent to a worker.
      ...(wasm !== undefined && {
        wasm: isA(wasm, 'Response') ? await wasm.arrayBuffer() : wasm,
      }),
    };
    return await connection.load([given], signal);
  } catch (error) {
    void connection.end(error);
    throw error;
  }
}

/**
 * Makes the address absolute, because the worker's base address differs from the page's.
 * @param {string | URL} wasmUrl
 */
function resolve(wasmUrl) {
  // If `wasmUrl` is not an address, the worker reports the error.
  if (typeof wasmUrl !== 'string' && !isA(wasmUrl, 'URL')) return wasmUrl;
  try {
    return new URL(wasmUrl, baseAddress() ?? import.meta.url).href;
  } catch {
    return wasmUrl;
  }
}
