/**
 * The typed table of everything the page can be set to. One row per property: its initial value,
 * and how it is written to and read from a string. Reading never fails: what is out of range is
 * clamped, and what makes no sense becomes the initial value, so that no link can break the page.
 *
 * @template T
 * @typedef {object} Property
 * @property {T} initial
 * @property {(text: string) => T} parse
 * @property {(value: T) => string} format
 */

/** Longest sentence, in UTF-16 code units. */
export const maxTextLength = 4000;

/** Most curves drawn side by side. */
export const maxColumns = 8;

export const limits = {
  length: { min: 1, max: 200 },
  width: { min: 1, max: 128 },
  base: { min: 2, max: 1e6 },
};

export const headCounts = [1, 2, 4, 8];
export const largestSeed = 2 ** 31 - 1;

/**
 * A number within [min, max].
 * @param {number} initial
 * @param {{ min: number, max: number }} range
 * @param {(value: number) => number} [round]
 * @returns {Property<number>}
 */
function number(initial, { min, max }, round = (value) => value) {
  return {
    initial,
    parse(text) {
      const value = text.trim() === '' ? NaN : Number(text);
      return Number.isNaN(value) ? initial : round(Math.min(max, Math.max(min, value)));
    },
    format: String,
  };
}

/**
 * @param {number} initial
 * @param {{ min: number, max: number }} range
 */
const integer = (initial, range) => number(initial, range, Math.round);

/**
 * @param {boolean} initial
 * @returns {Property<boolean>}
 */
function flag(initial) {
  return {
    initial,
    parse: (text) => (text === '1' ? true : text === '0' ? false : initial),
    format: (value) => (value ? '1' : '0'),
  };
}

/**
 * One of a few values.
 * @template {string | number} T
 * @param {T} initial
 * @param {readonly T[]} values
 * @returns {Property<T>}
 */
function choice(initial, values) {
  return {
    initial,
    parse: (text) => values.find((value) => String(value) === text) ?? initial,
    format: String,
  };
}

/**
 * Up to `most` different integers, ascending.
 * @param {number[]} initial
 * @param {{ min: number, max: number }} range
 * @param {number} most
 * @returns {Property<number[]>}
 */
function integers(initial, { min, max }, most) {
  return {
    initial,
    parse(text) {
      if (text === '') return [];
      const values = text.split(',', 1000).map((part) => (/^\d{1,9}$/.test(part) ? +part : NaN));
      const valid = values.filter((value) => value >= min && value <= max);
      if (valid.length === 0) return initial;
      return [...new Set(valid)].slice(0, most).sort((a, b) => a - b);
    },
    format: (values) => values.join(','),
  };
}

/**
 * Text, cut to a length without splitting a surrogate pair.
 * @param {string} initial
 * @param {number} longest
 * @returns {Property<string>}
 */
function text(initial, longest) {
  return {
    initial,
    parse: (value) => cut(value, longest),
    format: (value) => value,
  };
}

/**
 * The first `longest` code units of `value`, one fewer where a surrogate pair would be split.
 * @param {string} value
 * @param {number} longest
 */
export function cut(value, longest) {
  if (value.length <= longest) return value;
  const last = value.charCodeAt(longest - 1);
  return value.slice(0, last >= 0xd800 && last <= 0xdbff ? longest - 1 : longest);
}

export const properties = {
  /** The sentence. */
  text: text('the cat sat on the mat because the cat was tired', maxTextLength),

  /** The encoding figure: positions, columns, and the base of its wavelengths. */
  length: integer(60, limits.length),
  width: integer(32, limits.width),
  /** Also the base of the encoding that is added to the sentence. */
  base: number(10000, limits.base),
  /** Columns drawn as curves. */
  columns: integers([6, 7, 8, 9], { min: 0, max: limits.width.max - 1 }, maxColumns),

  /** The attention layer. */
  heads: choice(4, headCounts),
  head: integer(0, { min: 0, max: Math.max(...headCounts) - 1 }),
  weights: choice(/** @type {'identity' | 'xavier'} */ ('identity'), ['identity', 'xavier']),
  seed: integer(1, { min: 0, max: largestSeed }),
  encoding: flag(true),
  causal: flag(false),

  /** Seed of the shuffled order. */
  shuffle: integer(1, { min: 0, max: largestSeed }),
};

/** @typedef {{ -readonly [Name in keyof typeof properties]: (typeof properties)[Name]['initial'] }} Settings */
