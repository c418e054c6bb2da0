import { load } from 'attn/worker';
import { untrack } from 'svelte';
import { settings } from '../state/settings.svelte.js';
import { names } from './sentence.js';
import { timed } from './timed.js';
import { tokenize } from './tokens.js';

/** @typedef {import('./sentence.js').Given} Given */
/** @typedef {typeof import('./worker.js').tasks} Tasks */
/** @typedef {Exclude<keyof Tasks, 'hold'>} TaskName */

/** @typedef {import('attn/worker').RemoteAttn<Tasks>} Remote */

/**
 * A result, and the time that the core took for it, in ms.
 * @template T
 * @typedef {{ value: T, milliseconds: number }} Timed
 */

/**
 * Multiply-adds of one pass through the layer beyond which it is not computed on the page's thread.
 * A pass takes 3 to 5 ms then, and the figures in sight take three or four of them.
 */
const mostHere = 8e6;

/**
 * How long a worker may take to start, in ms. Nothing tells when the browser ends one that has not:
 * one that takes longer is given up.
 */
const longestStart = 20_000;

/** @param {Given} given */
function isLong({ tokens: { length }, dModel, heads }) {
  // Four projections, two products for each head, and the exponentials, which cost about 8 each.
  return length * dModel * dModel * 4 + length * length * (2 * dModel + 8 * heads) > mostHere;
}

const layer = /** @type {const} */ (['dModel', 'heads', 'weights', 'seed']);
const masks = /** @type {const} */ (['causal', 'window', 'validLen', 'blocked']);
const attention = /** @type {const} */ ([...layer, ...masks, 'encoding', 'base']);

/** What each task reads besides the tokens: it is done anew when any of that has changed. */
const reads = /** @satisfies {Record<TaskName, readonly (typeof names)[number][]>} */ ({
  attention,
  stages: [...attention, 'head'],
  edit: [...attention, 'head', 'editMatrix', 'editCell', 'editBy'],
  shuffle: [...layer, ...masks, 'base', 'shuffle', 'order'],
});

/** @typedef {{ key: string, controller: AbortController, result: Promise<Timed<any>> }} Job */

/**
 * Where what figures show of the whole sentence is computed: on the page's thread while that is short,
 * so that it is drawn in the frame of the key, else in a worker. There the latest settings win, and
 * until all that is in sight has been computed from them, figures show what they showed: `shown`
 * stays behind `live`, as a whole.
 */
export class Work {
  /** Whether figures are behind the settings. */
  busy = $state(false);
  /** What went wrong, in words for the reader. */
  problem = $state('');
  /** Whether that is that the worker could not be started: it stays so. */
  here = $state(false);
  #attn;
  /** @type {Promise<Remote> | undefined} */
  #remote;
  /** What that gave at last. @type {Remote | undefined} */
  #started;

  #tokens = $derived(tokenize(settings.text).tokens);
  #latest = $derived.by(() => {
    const given = { tokens: this.#tokens, ...pick(settings, names) };
    given.head = Math.min(given.head, given.heads - 1);
    return { given, long: !this.here && isLong(given) };
  });
  /** The last of `#latest` whose results are complete. @type {{ given: Given, long: boolean } | null} */
  #before = null;
  /** @type {{ given: Given, results: Partial<Record<TaskName, Timed<any>>> } | null} */
  #computed = $state.raw(null);
  #current = $derived.by(() => {
    const latest = this.#latest;
    if (!latest.long || this.#computed?.given === latest.given) this.#before = latest;
    // At first there is nothing to stay at: figures wait for their results.
    return this.#before ?? latest;
  });
  #long = $derived(this.#current.long);
  #results = $derived(
    this.#computed?.given === this.#current.given ? this.#computed.results : none,
  );

  /** What the settings say now. */
  live = view(() => this.#latest.given);
  /** What figures show. */
  shown = view(() => this.#current.given);

  /** How many figures in sight ask for a task. @type {Record<TaskName, number>} */
  #counts = { attention: 0, stages: 0, edit: 0, shuffle: 0 };
  /** @type {TaskName[]} */
  #asked = $state.raw([]);
  /** @type {Partial<Record<TaskName, Job>>} */
  #jobs = {};
  #turn = 0;

  /** @param {import('attn').Attn} attn the module on this thread */
  constructor(attn) {
    this.#attn = attn;
    $effect.root(() => {
      $effect(() => {
        const { given, long } = this.#latest;
        const asked = long ? this.#asked : [];
        untrack(() => this.#compute(given, long, asked));
      });
    });
  }

  /**
   * What a task gives for `shown`; null as long as it is being computed in the worker.
   * @template T
   * @param {TaskName} name
   * @param {() => T} compute the same on this thread
   * @returns {Timed<T> | null}
   */
  of(name, compute) {
    return this.#long ? (this.#results[name] ?? null) : timed(compute);
  }

  /**
   * An attachment to what shows these tasks' results: out of sight, nobody asks for them, and until
   * they are there, there is nothing to point at.
   * @param {TaskName[]} names
   */
  wants(...names) {
    const add = (/** @type {number} */ difference) => {
      for (const name of names) this.#counts[name] += difference;
      this.#asked = namesOf(this.#counts).filter((name) => this.#counts[name] > 0);
    };
    return (/** @type {HTMLElement} */ element) => {
      untrack(() => add(1));
      $effect(() => {
        element.inert = this.#long && names.some((name) => !this.#results[name]);
      });
      return () => add(-1);
    };
  }

  /**
   * @param {Given} given
   * @param {boolean} long
   * @param {TaskName[]} asked
   */
  async #compute(given, long, asked) {
    const turn = ++this.#turn;
    /** @type {Partial<Record<TaskName, Job>>} */
    const jobs = Object.fromEntries(asked.map((name) => [name, this.#job(name, given)]));
    for (const name of namesOf(this.#jobs)) {
      if (this.#jobs[name] !== jobs[name]) this.#jobs[name]?.controller.abort();
    }
    this.#jobs = jobs;
    this.busy = asked.length > 0;
    this.problem &&= this.here ? this.problem : '';
    if (!long) {
      this.#computed = null;
      return;
    }
    try {
      const results = await Promise.all(
        asked.map(async (name) => [name, await jobs[name]?.result]),
      );
      if (turn !== this.#turn) return;
      this.#computed = { given, results: Object.fromEntries(results) };
    } catch (error) {
      if (turn !== this.#turn) return;
      this.#fail(error);
    }
    this.busy = false;
  }

  /**
   * The one that is under way or done already, if it was given the same.
   * @param {TaskName} name @param {Given} given @returns {Job}
   */
  #job(name, given) {
    const needed = { tokens: given.tokens, ...pick(given, reads[name]) };
    const key = JSON.stringify(needed);
    const job = this.#jobs[name];
    if (job?.key === key) return job;
    const controller = new AbortController();
    const result = this.#run(name, needed, controller.signal);
    // Whoever still waits for it hears of it all the same.
    result.catch(() => {});
    return { key, controller, result };
  }

  /** @param {TaskName} name @param {any} given @param {AbortSignal} signal */
  async #run(name, given, signal) {
    const remote = await (this.#remote ??= this.#start()).catch((cause) => {
      throw Object.assign(new Error('no worker', { cause }), { code: 'load_failed' });
    });
    return /** @type {any} */ (remote.with({ signal })).run(name, given);
  }

  async #start() {
    // eslint-disable-next-line svelte/prefer-svelte-reactivity -- an address, no state
    const worker = new Worker(new URL('./worker.js', import.meta.url), { type: 'module' });
    /** @type {Promise<Remote>} */
    const loading = load({ worker, variant: this.#attn.variant, threads: 1 });
    const remote = await within(longestStart, loading).catch((error) => {
      worker.terminate();
      throw error;
    });
    // Nothing else tells that the browser has ended a worker: what it held is free then. Where the
    // page came unsafely there are no locks, and it goes unnoticed.
    if (navigator.locks) {
      const lock = crypto.randomUUID();
      remote
        .run('hold', lock)
        .then(() => navigator.locks.request(lock, () => this.#end(remote)))
        .catch(() => {});
    }
    return (this.#started = remote);
  }

  /** The next computation starts another. @param {Remote} remote */
  #end(remote) {
    if (remote === this.#started) this.#remote = undefined;
    remote.terminate();
  }

  /** @param {any} error */
  #fail(error) {
    this.#jobs = {};
    if (error.code === 'out_of_memory') {
      this.problem =
        'The matrices of so many tokens need more memory than this browser gives. Fewer tokens or heads will do.';
    } else if (error.code === 'disposed') {
      this.problem =
        'The browser ended the worker that computes long sentences. The next change starts another.';
    } else if (error.code === 'load_failed') {
      this.here = true;
      this.problem =
        'Long sentences are computed where the page is drawn, because their worker could not be started: typing may falter.';
    } else {
      this.problem = `This sentence could not be computed: ${error.message}`;
      // Whatever it was, it may have left the module there unusable.
      void this.#remote?.then((remote) => this.#end(remote));
    }
  }
}

const none = /** @type {Record<string, never>} */ ({});

/**
 * What is promised, or an error if it is late.
 * @template T
 * @param {number} milliseconds @param {Promise<T>} promise @returns {Promise<T>}
 */
function within(milliseconds, promise) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('it took too long')), milliseconds);
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

/**
 * @template {object} T
 * @param {T} object
 */
const namesOf = (object) => /** @type {(keyof T)[]} */ (Object.keys(object));

/**
 * @template {object} T
 * @template {keyof T} K
 * @param {T} object
 * @param {readonly K[]} names
 */
const pick = (object, names) =>
  /** @type {Pick<T, K>} */ (Object.fromEntries(names.map((name) => [name, object[name]])));

/**
 * An object whose properties change one by one, as those of the settings do.
 * @param {() => Given} of
 * @returns {Readonly<Given>}
 */
function view(of) {
  const properties = /** @type {const} */ (['tokens', ...names]).map((name) => {
    const value = $derived(of()[name]);
    return [name, { get: () => value, enumerable: true }];
  });
  return Object.defineProperties(/** @type {any} */ ({}), Object.fromEntries(properties));
}
