/**
 * A kind of setting: its initial value, and how to write it to and read it from a string. Reading
 * never fails, so that no link can break the page. Values out of range are clamped, and unreadable
 * ones become the initial value.
 * @template T
 * @typedef {object} Property
 * @property {T} initial
 * @property {(text: string) => T} parse
 * @property {(value: T) => string} format
 */

/**
 * A number within [min, max].
 * @param {number} initial
 * @param {{ min: number, max: number }} range
 * @param {(value: number) => number} [round]
 * @returns {Property<number>}
 */
export function number(initial, { min, max }, round = (value) => value) {
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
export const integer = (initial, range) => number(initial, range, Math.round);

/**
 * The index of a layer or a head. Links count from 1, as the page does.
 * @param {number} initial
 * @param {number} most
 * @returns {Property<number>}
 */
export function ordinal(initial, most) {
  const { parse } = integer(initial + 1, { min: 1, max: most });
  return { initial, parse: (text) => parse(text) - 1, format: (value) => String(value + 1) };
}

/**
 * @param {boolean} initial
 * @returns {Property<boolean>}
 */
export function flag(initial) {
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
export function choice(initial, values) {
  return {
    initial,
    parse: (text) => values.find((value) => String(value) === text) ?? initial,
    format: String,
  };
}

/**
 * Parameters of a formula, written as `name:value:min:max,…`. Unreadable parameters are left out.
 * @param {{ name: string, value: number, min: number, max: number }[]} initial
 * @param {number} most
 * @returns {Property<{ name: string, value: number, min: number, max: number }[]>}
 */
export function parameters(initial, most) {
  return {
    initial,
    parse(text) {
      const found = new Map();
      for (const part of text.split(',', 4 * most)) {
        const [name, ...numbers] = part.split(':', 5);
        const [value, min, max] = numbers.map((each) => (each.trim() ? Number(each) : NaN));
        const known = [value, min, max].every(Number.isFinite) && numbers.length === 3;
        if (!/^[a-z][a-z0-9]{0,11}$/i.test(name) || !known || min >= max) continue;
        found.set(name, { name, value: Math.min(max, Math.max(min, value)), min, max });
      }
      return text && !found.size ? initial : [...found.values()].slice(0, most);
    },
    format: (values) =>
      values.map(({ name, value, min, max }) => [name, value, min, max].join(':')).join(','),
  };
}

/**
 * Up to `most` distinct integers in ascending order.
 * @param {number[]} initial
 * @param {{ min: number, max: number }} range
 * @param {number} most
 * @returns {Property<number[]>}
 */
export function integers(initial, { min, max }, most) {
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
 * Text, truncated without splitting a surrogate pair.
 * @param {string} initial
 * @param {number} longest
 * @returns {Property<string>}
 */
export function text(initial, longest) {
  return {
    initial,
    parse: (value) => cut(value, longest),
    format: (value) => value,
  };
}

/**
 * Returns the first `longest` code units of `value`, or one fewer if a surrogate pair would be
 * split.
 * @param {string} value
 * @param {number} longest
 */
export function cut(value, longest) {
  if (value.length <= longest) return value;
  const last = value.charCodeAt(longest - 1);
  return value.slice(0, last >= 0xd800 && last <= 0xdbff ? longest - 1 : longest);
}

/**
 * Locked or marked cells of a matrix in the given order: `row.column,row.column`.
 * @param {number} most
 * @param {number} largest
 * @returns {Property<{ row: number, column: number }[]>}
 */
export function cells(most, largest) {
  const key = (/** @type {{ row: number, column: number }} */ { row, column }) =>
    `${row}.${column}`;
  return {
    initial: [],
    parse(text) {
      const found = new Map();
      for (const part of text.split(',', 4 * most)) {
        const [, row, column] = /^(\d{1,9})\.(\d{1,9})$/.exec(part) ?? [];
        const cell = { row: Number(row), column: Number(column) };
        if (cell.row <= largest && cell.column <= largest) found.set(key(cell), cell);
      }
      return [...found.values()].slice(0, most);
    },
    format: (values) => values.map(key).join(','),
  };
}

/**
 * Cuts between a query and a key, written as `layer.head.query.key`. Layers and heads count from 1,
 * and 0 means all of them.
 * @param {number} most
 * @param {{ layers: number, heads: number, tokens: number }} largest
 * @returns {Property<import('../../core/cuts.js').Cut[]>}
 */
export function cuts(most, { layers, heads, tokens }) {
  const format = (/** @type {import('../../core/cuts.js').Cut} */ { layer, head, query, key }) =>
    [(layer ?? -1) + 1, (head ?? -1) + 1, query, key].join('.');
  return {
    initial: [],
    parse(text) {
      const found = new Map();
      for (const part of text.split(',', 4 * most)) {
        const [, ...numbers] = /^(\d{1,4})\.(\d{1,4})\.(\d{1,4})\.(\d{1,4})$/.exec(part) ?? [];
        if (!numbers.length) continue;
        const [layer, head, query, key] = numbers.map(Number);
        if (layer > layers || head > heads || query >= tokens || key > query) continue;
        const cut = { layer: layer ? layer - 1 : null, head: head ? head - 1 : null, query, key };
        found.set(format(cut), cut);
      }
      return [...found.values()].slice(0, most);
    },
    format: (values) => values.map(format).join(','),
  };
}

/**
 * Parts of a model, written as `layer.head`, or as `layer.mlp` and `layer.layer` for a layer's
 * feed-forward network and the whole layer. Layers and heads count from 1.
 * @param {number} most
 * @param {{ layers: number, heads: number }} largest
 * @returns {Property<import('../../core/silence.js').Part[]>}
 */
export function modelParts(most, { layers, heads }) {
  const format = (/** @type {import('../../core/silence.js').Part} */ { layer, part }) =>
    `${layer + 1}.${typeof part === 'number' ? part + 1 : part}`;
  return {
    initial: [],
    parse(text) {
      const found = new Map();
      for (const each of text.split(',', 4 * most)) {
        const [, layer, name] = /^(\d{1,4})\.(\d{1,4}|mlp|layer)$/.exec(each) ?? [];
        /** @type {import('../../core/silence.js').Part['part']} */
        const part = name === 'mlp' || name === 'layer' ? name : Number(name) - 1;
        const at = { layer: Number(layer) - 1, part };
        if (!(at.layer >= 0 && at.layer < layers)) continue;
        if (typeof part === 'number' && !(part >= 0 && part < heads)) continue;
        found.set(format(at), at);
      }
      return [...found.values()].slice(0, most);
    },
    format: (values) => values.map(format).join(','),
  };
}

/**
 * The locked cell of a figure, or null.
 * @param {number} largest
 * @returns {Property<{ row: number, column: number } | null>}
 */
export function cell(largest) {
  const { parse, format } = cells(1, largest);
  return {
    initial: null,
    parse: (text) => parse(text)[0] ?? null,
    format: (value) => (value ? format([value]) : ''),
  };
}

/**
 * The locked cell in one of several linked matrices, written as `id.row.column`, or null.
 * @param {number} largest
 * @returns {Property<import('../../drawing/linkedSelection.svelte.js').LinkedCell | null>}
 */
export function linkedCell(largest) {
  const { parse, format } = cell(largest);
  return {
    initial: null,
    parse(text) {
      const [, id, rest] = /^([a-zA-Z]{1,16}\d?)\.(\d+\.\d+)$/.exec(text) ?? [];
      const found = rest ? parse(rest) : null;
      return found && { id, ...found };
    },
    format: (value) => (value ? `${value.id}.${format(value)}` : ''),
  };
}

/**
 * A permutation of 0 … n − 1, or null. Anything else becomes null.
 * @param {number} most
 * @returns {Property<number[] | null>}
 */
export function permutation(most) {
  return {
    initial: null,
    parse(text) {
      if (!/^\d{1,9}(,\d{1,9})*$/.test(text.slice(0, 10 * most))) return null;
      const order = text.split(',', most + 1).map(Number);
      const seen = new Set(order);
      const whole = order.length <= most && seen.size === order.length;
      return whole && order.every((item) => item < order.length) ? order : null;
    },
    format: (order) => order?.join(',') ?? '',
  };
}
