import { argumentError } from './errors.js';
import { load } from './index.js';
import { kServing, kWhoServes, pack, unpack } from './message.js';

/** @import { TrainingAttn } from './training.js' */
/** @import { Members, Reference } from './message.js' */
/** @import { Answer, Request } from './connection.js' */

/**
 * Work of many calls that is done in the worker: a function, or a generator function. What a
 * generator yields is reported as progress; at each `yield` it lets other calls in, and there it
 * ends, after its `finally` blocks, once it has been aborted.
 * @callback Task
 * @param {TrainingAttn} attn  the module in the worker; it trains where it was loaded to
 * @param {...any} args
 * @returns {any}
 */

/** @typedef {Record<string, Task>} Tasks */

/**
 * Makes this worker serve `attn/worker`, with tasks of your own beside the methods of attn. Call it
 * in the worker's module, once what the tasks need is there: the page waits, `startTimeout` long.
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
    throw argumentError('unsupported', 'serve', 'the main thread', 'a worker');
  }
  const sayServing = () => parent.postMessage({ attn: kServing });
  parent.addEventListener('message', ({ data }) => {
    if (data?.attn === kWhoServes) sayServing();
    if (data?.attn instanceof MessagePort) new Server(data.attn, tasks);
  });
  sayServing();
}

/** One module of attn and the objects that the page holds references to. */
class Server {
  #port;
  #tasks;
  /** @type {TrainingAttn | undefined} */
  #attn;
  /** @type {Map<number, any>} */
  #objects = new Map();
  #lastId = 0;
  /** @type {Map<object, number>} by prototypes */
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
        return this.#objects.delete(request.target);
      case 'abort':
        return this.#running.get(request.id)?.abort();
      case 'load':
        return this.#answer(
          request.id,
          'kept',
          async () => (this.#attn = /** @type {TrainingAttn} */ (await load(...request.args))),
        );
      case 'run':
        return this.#answer(request.id, 'kept', () => this.#run(request));
      case 'get':
        return this.#answer(
          request.id,
          'kept',
          () => this.#objects.get(request.target)[request.name],
        );
      default:
        return this.#answer(request.id, 'given', () => this.#call(request));
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
      const known = Object.keys(this.#tasks).join(', ') || 'none';
      throw argumentError(
        'not_found',
        'run',
        `the task '${name}'`,
        `one of the worker's: ${known}`,
      );
    }
    const values = this.#unpack(args);
    const controller = new AbortController();
    this.#running.set(id, controller);
    try {
      const result = await task(/** @type {TrainingAttn} */ (this.#attn), ...values);
      if (typeof result?.next !== 'function') return result;
      let step = await result.next();
      while (!step.done) {
        this.#send({ id, progress: step.value }, 'kept');
        await waitingMessages();
        // Nobody waits for the answer to what has been aborted.
        step = await (controller.signal.aborted ? result.return() : result.next());
      }
      return step.value;
    } finally {
      this.#running.delete(id);
    }
  }

  /**
   * Without an await for what is no promise, so that answers come in the order of the requests.
   * @param {number} id  of the request
   * @param {'given' | 'kept'} buffers  those of the result
   * @param {() => unknown} body
   */
  async #answer(id, buffers, body) {
    try {
      const result = body();
      this.#send({ id, value: result instanceof Promise ? await result : result }, buffers);
    } catch (error) {
      const { code, name, message, stack, argument, got, needs } = /** @type {any} */ (
        error instanceof Error ? error : new Error(String(error))
      );
      const details = code && name === 'AttnError' ? { argument, got, needs } : {};
      this.#port.postMessage({ id, error: { code, name, message, stack, details } });
    }
  }

  /**
   * @param {Answer} answer
   * @param {'given' | 'kept'} buffers  what attn's methods return is theirs no longer; tasks and
   *   objects may go on using what they let others see
   */
  #send(answer, buffers) {
    const packed = pack(answer, {
      refer: (value) => this.#refer(value),
      // A view of part of a buffer is one of WebAssembly's memory.
      moves: ({ byteLength }, found) => buffers === 'given' && byteLength === found,
    });
    this.#port.postMessage(packed.message, packed.buffers);
  }

  /**
   * What can be disposed of stays in the worker.
   * @param {object} value
   * @returns {Reference | undefined}
   */
  #refer(value) {
    // Of a Variable nothing would be left on the other side.
    if ('placeOn' in value) {
      const needs = 'its value() or gradient(): variables stay in the worker, where a task trains';
      throw argumentError('unsupported', 'result', 'a Variable', needs);
    }
    if (!('dispose' in value)) return undefined;
    const id = ++this.#lastId;
    this.#objects.set(id, value);
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
  // Those who stand for the object print by themselves.
  const seen = new Set(['constructor', 'toJSON']);
  for (let at = object; at !== Object.prototype && at; at = Object.getPrototypeOf(at)) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(at))) {
      // A class may have its own version of what it inherits.
      if (seen.has(name)) continue;
      seen.add(name);
      if (isGroup(value)) members.groups[name] = Object.keys(value);
      else members[typeof value === 'function' ? 'functions' : 'values'].push(name);
    }
  }
  return members;
}

/**
 * Whether functions lie together under a name, and nothing else.
 * @param {unknown} value
 */
function isGroup(value) {
  if (typeof value !== 'object' || value === null) return false;
  const members = Object.values(value);
  return members.length > 0 && members.every((member) => typeof member === 'function');
}

/** Lets those messages in that have arrived already. */
function waitingMessages() {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => resolve(port1.close());
    port2.postMessage(undefined);
  });
}
