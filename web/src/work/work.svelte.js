import { untrack } from 'svelte';
import { names } from '../core/sentence.js';
import { Language } from '../models/language/language.svelte.js';
import { settings } from '../state/settings.svelte.js';
import { reasonOf } from './errors.js';
import { pick } from './pick.js';
import { TaskWorker } from './scheduler.js';
import { languageTask } from './tasks/language.js';
import { readTask } from './tasks/read.js';
import { timed } from './timed.js';
import { problems } from '../texts/page.js';

/** @typedef {import('../core/sentence.js').Given} Given */
/** @typedef {import('./tasks/task.js').Task<string, any, any, Timed<any>>} AnyTask */

/**
 * A result and the core's time for it, in ms.
 * @template T
 * @typedef {{ value: T, milliseconds: number }} Timed
 */

/** @typedef {{ key: string, controller: AbortController, result: Promise<Timed<any>> }} Job */

/**
 * Computes everything that figures show for the whole sentence. Short computations run on the
 * page's thread, so that a key press is drawn in the same frame. Long computations run in a worker,
 * and only for the latest settings. Figures keep showing the earlier results until everything
 * visible has been computed from the latest settings: `shown` lags behind `live` as a whole.
 */
export class Work {
  /** True while figures lag behind the settings. */
  busy = $state(false);
  /** An error message for the reader. */
  problem = $state('');
  /** True if the problem is that the worker could not be started. Once true, it stays true. */
  here = $state(false);
  #worker;

  #split = $derived.by(() => this.language.selected.split(settings.text));
  #latest = $derived.by(() => {
    const model = this.language.selected;
    const { tokens, ids, types, pair } = this.#split;
    const chosen = pick(settings, names);
    /** @type {Given} */
    const given = {
      ...{ tokens, ids, types, pair, rotary: false, own: model.id },
      ...{ ...chosen, ...model.adapt(chosen) },
    };
    given.head = Math.min(given.head, given.heads - 1);
    return { given, long: model.isLong(given, this.here) };
  });
  /**
   * The last value of `#latest` whose results are complete.
   * @type {{ given: Given, long: boolean } | null}
   */
  #before = null;
  /** @type {{ given: Given, results: Record<string, Timed<any>> } | null} */
  #computed = $state.raw(null);
  #current = $derived.by(() => {
    const latest = this.#latest;
    if (!latest.long || this.#computed?.given === latest.given) this.#before = latest;
    // Initially there are no earlier results to show, so figures wait.
    return this.#before ?? latest;
  });
  #long = $derived(this.#current.long);
  #results = $derived(
    this.#computed?.given === this.#current.given ? this.#computed.results : none,
  );

  /** The current settings. */
  live = view(() => this.#latest.given);
  /** The settings of the results that figures show. */
  shown = view(() => this.#current.given);

  /** The language model of the page. @type {Language} */
  language;
  /** Total number of tokens in the sentence, including those beyond the limit. */
  total = $derived(this.#split.total);

  /** Number of visible figures that need each task. @type {Map<AnyTask, number>} */
  // eslint-disable-next-line svelte/prefer-svelte-reactivity -- `#asked` is the state
  #counts = new Map();
  /** @type {AnyTask[]} */
  #asked = $state.raw([]);
  /** Jobs by the name of their task. @type {Record<string, Job>} */
  #jobs = {};
  #turn = 0;

  /** @param {import('attn').Attn} attn the module on this thread */
  constructor(attn) {
    this.#worker = new TaskWorker({ variant: attn.variant, threads: 1 });
    this.language = new Language(attn, (bytes) => this.#worker.first(languageTask, bytes));
    $effect.root(() => {
      $effect(() => {
        const { given, long } = this.#latest;
        const { lacks, readsHere } = this.language.of(given);
        const asked = long ? this.#asked.filter(({ name }) => !(name in lacks)) : [];
        // Every figure computes its results from the result of the `read` task. Chapters need the
        // result of `read` even if no figure is visible.
        if (long && !readsHere && !asked.includes(readTask)) asked.push(readTask);
        untrack(() => this.#compute(given, long, asked));
      });
      $effect(() => {
        const { own } = this.language;
        const { text, ownTarget } = settings;
        own?.follow(text, ownTarget).catch((error) => this.#fail(error, own.id));
      });
    });
  }

  /**
   * The result of a task for `shown`; null while the worker computes it.
   * @template T
   * @param {AnyTask} task
   * @param {() => T} compute does the same computation on this thread
   * @returns {Timed<T> | null}
   */
  of({ name }, compute) {
    return this.#long ? (this.#results[name] ?? null) : timed(compute);
  }

  /**
   * An attachment for an element that shows these tasks' results. While the element is out of
   * sight, the results are not computed. Until they are complete, the element is inert.
   * @param {AnyTask[]} tasks
   */
  wants(...tasks) {
    const add = (/** @type {number} */ difference) => {
      for (const task of tasks) {
        this.#counts.set(task, (this.#counts.get(task) ?? 0) + difference);
      }
      this.#asked = [...this.#counts].filter(([, count]) => count > 0).map(([task]) => task);
    };
    return (/** @type {HTMLElement} */ element) => {
      untrack(() => add(1));
      $effect(() => {
        element.inert = this.#long && tasks.some(({ name }) => !this.#results[name]);
      });
      return () => add(-1);
    };
  }

  /**
   * The current settings that a task depends on.
   * @param {import('./tasks/task.js').Task<string, any, any, any>} task
   */
  given({ reads }) {
    return neededBy(reads, this.#latest.given);
  }

  /**
   * Runs a task in the worker of the model in `given`. Figures that share the task's result with
   * others call `of()` instead.
   * @param {import('./tasks/task.js').Task<string, any, any, any>} task
   * @param {Given} given
   * @param {{ signal?: AbortSignal, onProgress?: (value: any) => void }} options
   */
  run(task, given, options) {
    const { own } = this.language;
    const worker = own && given.own === own.id ? own : this.#worker;
    return worker.run(task, given, options);
  }

  /**
   * @param {Given} given
   * @param {boolean} long
   * @param {AnyTask[]} asked
   */
  async #compute(given, long, asked) {
    const turn = ++this.#turn;
    const jobs = Object.fromEntries(asked.map((task) => [task.name, this.#job(task, given)]));
    for (const [name, job] of Object.entries(this.#jobs)) {
      if (job !== jobs[name]) job.controller.abort();
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
        asked.map(async ({ name }) => [name, await jobs[name].result]),
      );
      if (turn !== this.#turn) return;
      this.#computed = { given, results: Object.fromEntries(results) };
    } catch (error) {
      if (turn !== this.#turn) return;
      this.#fail(error, given.own);
    }
    this.busy = false;
  }

  /**
   * Returns the existing job if it was given the same input.
   * @param {AnyTask} task @param {Given} given @returns {Job}
   */
  #job(task, given) {
    const needed = neededBy(task.reads, given);
    const key = JSON.stringify(needed);
    const job = this.#jobs[task.name];
    if (job?.key === key) return job;
    const controller = new AbortController();
    const result = this.run(task, needed, { signal: controller.signal });
    // Prevents an unhandled rejection. Callers that await the result still receive the error.
    result.catch(() => {});
    return { key, controller, result };
  }

  /**
   * @param {any} error
   * @param {number} [id] id of the reader's model, if the error is from that model
   */
  #fail(error, id = 0) {
    const { own } = this.language;
    // The model was closed or replaced.
    if (id && id !== own?.id) return;
    this.#jobs = {};
    if (error.code === 'out_of_memory') {
      this.problem = problems.memory;
    } else if (id && error.code === 'disposed') {
      this.problem ||= problems.ownEnded;
    } else if (id) {
      this.problem = problems.own(reasonOf(error));
      if (isUnexpected(error)) own?.end();
    } else if (error.code === 'disposed') {
      this.problem = problems.ended;
    } else if (error.code === 'load_failed') {
      this.here = true;
      this.problem = problems.noWorker;
    } else {
      this.problem = problems.sentence(reasonOf(error));
      // The error may have left the module in the worker unusable.
      this.#worker.end();
    }
  }
}

/** True if the module that threw this error may be unusable. @param {any} error */
const isUnexpected = ({ code }) => code === undefined || code === 'internal';

/** @type {Record<string, Timed<any>>} */
const none = {};

/**
 * @param {import('./tasks/task.js').Task<string, any, any, any>['reads']} reads
 * @param {Given} given
 * @returns {Given}
 */
const neededBy = (reads, given) =>
  /** @type {any} */ (pick(given, ['tokens', 'ids', 'pair', 'rotary', 'own', ...reads]));

/**
 * Returns an object with the properties of `of()`. As with the settings, each property is tracked
 * separately.
 * @param {() => Given} of
 * @returns {Readonly<Given>}
 */
function view(of) {
  const properties = /** @type {const} */ ([
    'tokens',
    'ids',
    'types',
    'pair',
    'rotary',
    'own',
    ...names,
  ]).map((name) => {
    const value = $derived(of()[name]);
    return [name, { get: () => value, enumerable: true }];
  });
  return Object.defineProperties(/** @type {any} */ ({}), Object.fromEntries(properties));
}
