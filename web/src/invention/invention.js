// A positional scheme that the reader has written: an encoding added to the words, a bias added to
// the scores, or both.

import { compile, FormulaError, parse, partsOf } from './formula.js';

/** @typedef {import('./formula.js').Problem} Problem */
/** @typedef {import('./formula.js').Node} Node */

/**
 * A parameter with a slider.
 * @typedef {{ name: string, value: number, min: number, max: number }} Parameter
 */

/**
 * The formulas as the reader wrote them. An empty formula adds nothing.
 * @typedef {object} Written
 * @property {string} added P(i, k), for position i and column k
 * @property {string} bias b(i, j, h), for query i, key j and head h
 * @property {readonly Parameter[]} parameters
 */

/** Variables of each formula. */
export const variables = /** @type {const} */ ({
  added: ['i', 'k', 'n', 'd'],
  bias: ['i', 'j', 'h', 'n', 'd'],
});

/** Largest number of elements of a table. */
export const maxCells = 2 ** 19;

/** Largest number of operations for a table, which take a few seconds on a slow computer. */
const maxOperations = 4.2e7;

/** @typedef {'added' | 'bias'} Field */

/**
 * The names that a formula may read.
 * @param {Field} field
 * @param {Written} written
 */
export const namesOf = (field, { parameters }) => [
  ...variables[field],
  ...parameters.map(({ name }) => name),
];

/**
 * A scheme whose formulas can be computed. It keeps its tables, because training needs the same
 * tables in each step.
 */
export class Invention {
  #written;
  /** @type {Record<Field, { compute: (values: ArrayLike<number>) => number, parts: number } | null>} */
  #compiled;
  /** @type {Map<string, Float32Array>} */
  #tables = new Map();

  /** @param {Written} written @throws {FormulaError} */
  constructor(written) {
    this.#written = written;
    const of = (/** @type {Field} */ field) => {
      if (!written[field].trim()) return null;
      const names = namesOf(field, written);
      const tree = parse(written[field], names);
      return { compute: compile(tree, names), parts: partsOf(tree) };
    };
    this.#compiled = { added: of('added'), bias: of('bias') };
  }

  get hasAdded() {
    return this.#compiled.added !== null;
  }

  get hasBias() {
    return this.#compiled.bias !== null;
  }

  /**
   * The encoding of positions 0 … rows − 1.
   * @param {number} n number of positions in the formula
   * @param {number} d number of columns
   * @param {number} [rows]
   * @returns {import('attn').Tensor | null} (rows, d); null if nothing is added
   * @throws {FormulaError}
   */
  added(n, d, rows = n) {
    if (!this.#compiled.added) return null;
    const { compute } = this.#compiled.added;
    const fill = (/** @type {Float32Array} */ data, /** @type {number[]} */ values) => {
      for (let i = 0, at = 0; i < rows; i++) {
        for (let k = 0; k < d; k++) {
          values[0] = i;
          values[1] = k;
          data[at++] = compute(values);
        }
      }
    };
    const shape = [rows, d];
    return { data: this.#table('added', shape, [0, 0, n, d], fill), shape };
  }

  /**
   * The bias of each head.
   * @param {number} n number of positions
   * @param {number} heads
   * @param {number} d
   * @returns {import('attn').Tensor | null} (heads, n, n); null if nothing is added
   * @throws {FormulaError}
   */
  bias(n, heads, d) {
    if (!this.#compiled.bias) return null;
    const { compute } = this.#compiled.bias;
    const fill = (/** @type {Float32Array} */ data, /** @type {number[]} */ values) => {
      for (let h = 0, at = 0; h < heads; h++) {
        for (let i = 0; i < n; i++) {
          for (let j = 0; j < n; j++) {
            values[0] = i;
            values[1] = j;
            values[2] = h;
            data[at++] = compute(values);
          }
        }
      }
    };
    const shape = [heads, n, n];
    return { data: this.#table('bias', shape, [0, 0, 0, n, d], fill), shape };
  }

  /**
   * @param {Field} field
   * @param {number[]} shape
   * @param {number[]} values values of the variables
   * @param {(data: Float32Array, values: number[]) => void} fill
   */
  #table(field, shape, values, fill) {
    const key = `${field} ${shape} ${values}`;
    const known = this.#tables.get(key);
    if (known) return known;
    const cells = shape.reduce((product, size) => product * size, 1);
    const operations = cells * (this.#compiled[field]?.parts ?? 0);
    if (cells > maxCells || operations > maxOperations) {
      throw new FormulaError({ reason: 'cells', at: 0 });
    }
    const data = new Float32Array(cells);
    fill(data, [...values, ...this.#written.parameters.map(({ value }) => value)]);
    const broken = data.findIndex((value) => !Number.isFinite(value));
    if (broken >= 0) {
      const [columns, rows] = [shape[shape.length - 1], shape[shape.length - 2]];
      const row = Math.floor(broken / columns) % rows;
      const head = shape.length > 2 ? `, ${Math.floor(broken / columns / rows)}` : '';
      throw new FormulaError({
        ...{ reason: 'number', at: 0 },
        found: `${field === 'added' ? 'P' : 'b'}(${row}, ${broken % columns}${head})`,
        needs: String(data[broken]),
      });
    }
    this.#tables.set(key, data);
    return data;
  }
}

/**
 * Checks both formulas.
 * @param {Written} written
 * @returns {Partial<Record<Field, Problem>>} the problem of each formula, if any
 */
export function problemsOf(written) {
  const fields = /** @type {const} */ (['added', 'bias']);
  return Object.fromEntries(
    fields.flatMap((field) => {
      if (!written[field].trim()) return [];
      try {
        parse(written[field], namesOf(field, written));
        return [];
      } catch (error) {
        return error instanceof FormulaError ? [[field, error.problem]] : [];
      }
    }),
  );
}
