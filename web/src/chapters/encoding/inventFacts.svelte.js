import { untrack } from 'svelte';

import { matrixOf } from '../../drawing/matrix.js';
import { problemsOf } from '../../invention/invention.js';
import { verdictsOf } from '../../invention/inventMeasure.js';
import { settings } from '../../state/settings.svelte.js';
import { texts } from '../../texts/invent.js';
import { reasonOf } from '../../work/errors.js';
import { TaskWorker } from '../../work/scheduler.js';
import { inventTask } from '../../work/tasks/invent.js';

/** @typedef {import('attn').Attn} Attn */
/** @typedef {import('./Schemes.svelte').Yours} Yours */
/** @typedef {import('../../drawing/matrix.js').Matrix} Matrix */

/**
 * The tables and the measures of a formula.
 * @typedef {{ key: string } & import('../../work/tasks/invent.js').Found} Computed
 *
 * A table in the pictures.
 * @typedef {{ name: keyof typeof texts.maps, title: string, matrix: Matrix }} Map
 */

/** Sizes of the tables in the pictures. */
export const shown = { n: 64, d: 64, heads: 4 };

/** The last result. It is kept here because a figure loses its state when it is out of sight. */
let last = /** @type {Computed | null} */ (null);
/** @type {TaskWorker | undefined} */
let started;

/**
 * Everything that is known about the reader's formulas. Must be created while a component is
 * initialised.
 */
export class InventFacts {
  #attn;
  #worker;
  #onfound;

  written = $derived({
    added: settings.formula,
    bias: settings.formulaBias,
    parameters: settings.parameters,
  });
  #key = $derived(JSON.stringify(this.written));
  problems = $derived(problemsOf(this.written));
  isEmpty = $derived(!this.written.added.trim() && !this.written.bias.trim());
  #isBroken = $derived(Object.keys(this.problems).length > 0);

  #computed = $state.raw(last);
  /** Why the tables could not be computed. */
  failure = $state('');
  /** The result for the formulas as they are now, if it is known. */
  current = $derived(
    this.#computed?.key === this.#key && !this.isEmpty && !this.#isBroken ? this.#computed : null,
  );
  /** While new tables are being computed, the pictures show the previous tables. */
  #pictured = $derived(
    this.isEmpty || this.#isBroken || this.current?.problem ? null : this.#computed,
  );
  measures = $derived(this.#pictured?.measures);
  verdicts = $derived(this.measures && verdictsOf(this.measures));
  /** The tables of the formulas, each with a built-in table for comparison. @type {Map[]} */
  maps = $derived.by(() => {
    const tables = this.#pictured?.tables?.[0];
    return /** @type {const} */ (['added', 'bias']).flatMap((field) => {
      const table = tables?.[field];
      if (!table) return [];
      const other = /** @type {const} */ ({ added: 'sinusoid', bias: 'alibi' })[field];
      return [
        { name: field, title: texts.maps[field], matrix: matrixOf(table, 0) },
        { name: other, title: texts.maps[other], matrix: this.#builtIn[field] },
      ];
    });
  });
  #builtIn = $derived.by(() => {
    const [attn, { n, d, heads }] = [this.#attn, shown];
    return {
      added: matrixOf(attn.sinusoidalEncoding({ length: n, dModel: d })),
      bias: matrixOf(attn.alibiBias({ numHeads: heads, numQueries: n }), 0),
    };
  });

  /**
   * @param {Attn} attn
   * @param {() => { n: number, d: number }} sizes numbers of tokens and columns in the sentence
   * @param {(found: Yours | null) => void} onfound takes the tables for the sentence
   */
  constructor(attn, sizes, onfound) {
    this.#attn = attn;
    this.#worker = started ??= new TaskWorker({ variant: attn.variant, threads: 1 });
    this.#onfound = onfound;
    $effect(() => void (last = this.#computed));
    $effect(() => {
      const [given, { n, d }, key] = [$state.snapshot(this.written), sizes(), this.#key];
      if (this.isEmpty || this.#isBroken) {
        untrack(() => onfound(null));
        return;
      }
      const controller = new AbortController();
      const tables = [shown, { n, d, heads: 1 }].filter(({ n }) => n > 0);
      untrack(() => void this.#compute({ written: given, tables }, key, controller.signal));
      return () => controller.abort();
    });
  }

  /**
   * @param {import('../../work/tasks/invent.js').Wanted} wanted
   * @param {string} key
   * @param {AbortSignal} signal
   */
  async #compute({ written, tables }, key, signal) {
    try {
      const first = await this.#worker.run(inventTask, { written, tables }, { signal });
      if (signal.aborted) return;
      this.failure = '';
      // Earlier measures stay until the new measures are known, so that nothing flickers.
      this.#computed = { key, measures: this.#computed?.measures, ...first };
      this.#onfound(first.tables ? { tables: first.tables[1] ?? null, written } : null);
      if (!first.tables) return;
      const second = await this.#worker.run(inventTask, { written }, { signal });
      if (!signal.aborted) this.#computed = { ...this.#computed, ...second };
    } catch (error) {
      if (signal.aborted) return;
      this.failure = texts.failed(reasonOf(error));
      this.#worker.end();
    }
  }
}
