import { explainedError } from './errors.js';
import { load } from './index.js';
import { kServing, kWhoServes, pack, unpack } from './message.js';
import { nearestName } from './options.js';

/** @import { TrainingAttn } from './training.js' */
/** @import { Members, Reference } from './message.js' */
/** @import { Answer, Request } from './connection.js' */

/**
 * A function or generator function that runs in the worker and makes many calls to attn. Each value that a
 * generator yields is reported as progress. At each `yield`, other calls may run. An aborted task ends at its next
 * `yield`, after running its `finally` blocks.
 * @callback Task
 * @param {TrainingAttn} attn  the module in the worker; it can train only if it was loaded with training
 * @param {...any} args
 * @returns {any}
 */

/** @typedef {Record<string, Task>} Tasks */

/**
 * Makes this worker serve `attn/worker`, with your own tasks in addition to the methods of attn.
 * Call `serve()` in the worker's module once everything that the tasks need is ready. The page
 * waits for this call for at most `startTimeout`.
 *
 * ```js
 * // squares.js
 * import { serve } from 'attn/worker/serve';
 *
 * const tasks = {
 *   *averages(attn, batches) {
 *     const results = [];
 *     for (const [i, x] of batches.entries()) {
 *       results.push(attn.attentionPooling(x, x, x, { scoring: 'average' }).output);
 *       yield (i + 1) / batches.length;
 *     }
 *     return results;
 *   },
 * };
 * serve(tasks);
 * ```
 *
 * @param {Tasks} [tasks]
 */
export function serve(tasks = {}) {
  const { parentPort } = globalThis.process?.getBuiltinModule?.('node:worker_threads') ?? {};
  /** @type {Pick<Worker, 'addEventListener' | 'postMessage'>} */
  const parent = parentPort ?? /** @type {any} */ (globalThis);
  if (typeof parent.postMessage !== 'function' || 'document' in globalThis) {
    const sentence = 'cannot run on the main thread; call it in the module of a worker';
    throw explainedError('unsupported', 'serve', sentence);
  }
  const sayServing = () => parent.postMessage({ attn: kServing });
  parent.addEventListener('message', ({ data }) => {
    if (data?.attn === kWhoServes) sayServing();
    if (data?.attn instanceof MessagePort) new Server(data.attn, tasks);
  });
  sayServing();
}

/** One module of attn, and the objects to which the page holds references. */
class Server {
  #port;
  #tasks;
  /** @type {TrainingAttn | undefined} */
  #attn;
  /** @type {Map<number, any>} */
  #objects = new Map();
  /** Ids of objects that were created by attn, not by tasks. @type {Set<number>} */
  #ofAttn = new Set();
  #lastId = 0;
  /** @type {Map<object, number>} ids of classes, by prototype */
  #types = new Map();
  /** @type {Map<number, AbortController>} */
  #running = new Map();

  /**
   * @param {MessagePort} port
   * @param {Tasks} tasks
   */
  constructor(port, tasks) {
    this.#port = port;
    this.#tasks = tasks;
    port.onmessage = ({ data }) => this.#receive(data);
  }

  /** @param {Request} request */
  #receive(request) {
    switch (request.verb) {
      case 'release':
        this.#ofAttn.delete(request.target);
        return this.#objects.delete(request.target);
      case 'abort':
        return this.#running.get(request.id)?.abort();
      case 'load':
        return this.#answer(
          request,
          async () => (this.#attn = /** @type {TrainingAttn} */ (await load(...request.args))),
        );
      case 'run':
        return this.#answer(request, () => this.#run(request));
      case 'get':
        return this.#answer(request, () => this.#objects.get(request.target)[request.name]);
      default:
        return this.#answer(request, () => this.#call(request));
    }
  }

  /** @param {Request} request */
  #call({ verb, target, name, args }) {
    const path = name.split('.');
    const member = /** @type {string} */ (path.pop());
    const object = path.reduce((owner, group) => owner[group], this.#objects.get(target));
    const values = this.#unpack(args);
    return verb === 'new' ? new object[member](...values) : object[member](...values);
  }

  /** @param {Request} request */
  async #run({ id, name, args }) {
    const task = Object.hasOwn(this.#tasks, name) ? this.#tasks[name] : undefined;
    if (!task) {
      const known = nearestName(name, Object.keys(this.#tasks));
      const instead = known ? `use ${known}` : 'pass it to serve() in the worker';
      throw explainedError('not_found', 'run', `the worker has no task '${name}'; ${instead}`);
    }
    const values = this.#unpack(args);
    const controller = new AbortController();
    this.#running.set(id, controller);
    try {
      const result = await task(/** @type {TrainingAttn} */ (this.#attn), ...values);
      if (typeof result?.next !== 'function') return result;
      let step = await result.next();
      while (!step.done) {
        try {
          this.#send({ id, progress: step.value });
        } catch (error) {
          await result.return();
          throw error;
        }
        await waitingMessages();
        // If the task was aborted, the page ignores its answer, so the task can end here.
        step = await (controller.signal.aborted ? result.return() : result.next());
      }
      return step.value;
    } finally {
      this.#running.delete(id);
    }
  }

  /**
   * Sends the result of `body`. Awaits it only if it is a promise, so that all other answers are sent in the order of
   * the requests.
   * @param {Request} request
   * @param {() => unknown} body
   */
  async #answer({ id, verb, target }, body) {
    // Results of a task, and of methods of a task's objects, belong to the task, not to attn.
    const isOfAttn = verb === 'load' || (verb !== 'run' && this.#ofAttn.has(target));
    try {
      const result = body();
      const value = result instanceof Promise ? await result : result;
      this.#send({ id, value }, isOfAttn, isOfAttn && verb !== 'get');
    } catch (error) {
      this.#port.postMessage({ id, error: textsOf(error) });
    }
  }

  /**
   * @param {Answer} answer
   * @param {boolean} [isOfAttn]  true if attn created the value
   * @param {boolean} [isGiven]  true if attn created the value only for this answer; its buffers are then transferred
   */
  #send(answer, isOfAttn = false, isGiven = false) {
    const last = this.#lastId;
    try {
      const packed = pack(answer, {
        refer: (value) => this.#refer(value, isOfAttn),
        // If a view covers only part of its buffer, the buffer is WebAssembly's memory.
        moves: ({ byteLength }, found) => isGiven && byteLength === found,
      });
      this.#port.postMessage(packed.message, packed.buffers);
    } catch (error) {
      // The page did not receive this answer, so it does not know the answer's new objects and
      // classes.
      for (let id = last + 1; id <= this.#lastId; ++id) {
        this.#objects.delete(id);
        this.#ofAttn.delete(id);
      }
      for (const [prototype, type] of this.#types) if (type > last) this.#types.delete(prototype);
      throw error;
    }
  }

  /**
   * For an object with dispose(), returns a reference, because such objects stay in the worker. For
   * data, returns undefined.
   * @param {object} value
   * @param {boolean} isOfAttn
   * @returns {Reference | undefined}
   */
  #refer(value, isOfAttn) {
    // A Variable has no public fields, so a copy sent to the page would be empty.
    if ('nativeOn' in value) {
      const sentence =
        'a Variable cannot leave the worker; return its value() or gradient(), or train in a task';
      throw explainedError('unsupported', 'result', sentence);
    }
    if (!('dispose' in value)) return undefined;
    const id = ++this.#lastId;
    this.#objects.set(id, value);
    if (isOfAttn) this.#ofAttn.add(id);
    const prototype = Object.getPrototypeOf(value);
    const type = this.#types.get(prototype);
    if (type !== undefined && prototype !== Object.prototype) return { id, type };
    this.#types.set(prototype, id);
    return { id, type: id, members: membersOf(value) };
  }

  /** @param {unknown[]} args */
  #unpack(args) {
    return unpack(args, ({ id }) => this.#objects.get(id));
  }
}

/**
 * @param {object} object
 * @returns {Members}
 */
function membersOf(object) {
  /** @type {Members} */
  const members = { type: object.constructor.name, functions: [], values: [], groups: {} };
  // Remote objects define `constructor`, `toJSON` and `toString` themselves.
  const seen = new Set(['constructor', 'toJSON', 'toString']);
  for (let at = object; at !== Object.prototype && at; at = Object.getPrototypeOf(at)) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(at))) {
      // A class may override a member that it inherits.
      if (seen.has(name)) continue;
      seen.add(name);
      if (isGroup(value)) members.groups[name] = Object.keys(value);
      else members[typeof value === 'function' ? 'functions' : 'values'].push(name);
    }
  }
  return members;
}

/**
 * True for a non-empty object whose members are all functions.
 * @param {unknown} value
 */
function isGroup(value) {
  if (typeof value !== 'object' || value === null) return false;
  const members = Object.values(value);
  return members.length > 0 && members.every((member) => typeof member === 'function');
}

/**
 * Returns an error's properties as strings, which can be sent. The error may be any thrown value,
 * and its properties may have any type.
 * @param {any} error
 */
function textsOf(error) {
  const textOf = (/** @type {string} */ name) => {
    try {
      return typeof error[name] === 'string' ? error[name] : undefined;
    } catch {
      return undefined;
    }
  };
  const [name = 'Error', stack, code] = ['name', 'stack', 'code'].map(textOf);
  const message =
    textOf('message') ?? (typeof error === 'object' ? 'unknown error' : String(error));
  if (name !== 'AttnError') return { name, message, stack, details: {} };
  const [argument, got, needs] = ['argument', 'got', 'needs'].map(textOf);
  return { code, name, message, stack, details: { argument, got, needs } };
}

/** Waits until all messages that have already arrived are handled. */
function waitingMessages() {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => resolve(port1.close());
    port2.postMessage(undefined);
  });
}
