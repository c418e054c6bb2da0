// Formulas that readers write. A formula is a tree of whitelisted nodes, and each node becomes a
// closure over an array of numbers. Nothing is looked up as a property of an object, so a formula
// can only read the numbers that it is given.

import jsep from 'jsep';

/** Longest formula, in UTF-16 code units, and the largest number of its parts. */
export const [maxLength, maxParts] = [400, 250];

/**
 * Why a formula cannot be computed. The page has a sentence for each.
 * @typedef {'syntax' | 'end' | 'name' | 'function' | 'arguments' | 'kind' | 'long' | 'parts' |
 *   'number' | 'cells'} Reason
 *
 * @typedef {object} Problem
 * @property {Reason} reason
 * @property {number} at index of the character
 * @property {string} [found] the name or character at that index, or the table's cell whose number
 *   is not finite
 * @property {string} [needs] the names or numbers that would be right, or the number that is not
 *   finite
 */

/** A formula that cannot be computed. */
export class FormulaError extends Error {
  /** @param {Problem} problem */
  constructor(problem) {
    super(`${problem.reason} at character ${problem.at}`);
    this.problem = problem;
  }
}

/** @typedef {{ type: string, at: number, [part: string]: any }} Node */

/** Constants by name. */
export const constants = new Map([
  ['pi', Math.PI],
  ['e', Math.E],
]);

/** a modulo b, with the sign of b. @param {number} a @param {number} b */
const modulo = (a, b) => a - b * Math.floor(a / b);

/**
 * A number in [0, 1) that depends only on two whole numbers.
 * @param {number} a
 * @param {number} b
 */
export function random(a, b) {
  const whole = (/** @type {number} */ value) => Math.floor(value) | 0;
  let hash = (Math.imul(whole(a), 0x9e3779b1) + Math.imul(whole(b), 0x85ebca77) + 0x165667b1) | 0;
  hash = Math.imul(hash ^ (hash >>> 16), 0x7feb352d);
  hash = Math.imul(hash ^ (hash >>> 15), 0x846ca68b);
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32;
}

/**
 * Functions by name, with the smallest and the largest number of arguments.
 * @type {Map<string, readonly [(...values: number[]) => number, number, number]>}
 */
export const functions = new Map(
  /** @type {[string, [(...values: any[]) => number, number, number]][]} */ ([
    ...[
      ...['sin', 'cos', 'tan', 'asin', 'acos', 'atan', 'sinh', 'cosh', 'tanh', 'exp', 'log'],
      ...['log2', 'log10', 'sqrt', 'abs', 'sign', 'floor', 'ceil', 'round', 'trunc'],
    ].map((name) => [name, [/** @type {any} */ (Math)[name], 1, 1]]),
    ['atan2', [Math.atan2, 2, 2]],
    ['pow', [Math.pow, 2, 2]],
    ['mod', [modulo, 2, 2]],
    ['min', [Math.min, 1, 8]],
    ['max', [Math.max, 1, 8]],
    ['random', [random, 2, 2]],
  ]),
);

/** @typedef {(a: number, b: number) => number} Binary */

/**
 * Operators with their precedence. `^` is not in this list, because it binds more tightly than a
 * sign.
 * @type {[string, number, Binary][]}
 */
const operators = [
  ['||', 1, (a, b) => (a !== 0 || b !== 0 ? 1 : 0)],
  ['&&', 2, (a, b) => (a !== 0 && b !== 0 ? 1 : 0)],
  ['==', 3, (a, b) => (a === b ? 1 : 0)],
  ['!=', 3, (a, b) => (a !== b ? 1 : 0)],
  ['<', 4, (a, b) => (a < b ? 1 : 0)],
  ['>', 4, (a, b) => (a > b ? 1 : 0)],
  ['<=', 4, (a, b) => (a <= b ? 1 : 0)],
  ['>=', 4, (a, b) => (a >= b ? 1 : 0)],
  ['+', 5, (a, b) => a + b],
  ['-', 5, (a, b) => a - b],
  ['*', 6, (a, b) => a * b],
  ['/', 6, (a, b) => a / b],
  ['%', 6, modulo],
];

/** @type {Map<string, Binary>} */
const binary = new Map([
  ...operators.map(([name, , apply]) => /** @type {const} */ ([name, apply])),
  ['^', Math.pow],
]);

/** @type {Map<string, (a: number) => number>} */
const unary = new Map([
  ['-', (a) => -a],
  ['+', (a) => a],
  ['!', (a) => (a === 0 ? 1 : 0)],
]);

const { Jsep } = /** @type {any} */ (jsep);
Jsep.removeAllUnaryOps();
Jsep.removeAllBinaryOps();
Jsep.removeAllLiterals();
for (const [name, precedence] of operators) Jsep.addBinaryOp(name, precedence);

/** The parser `jsep`, which here also reads powers and records the index of each part. */
class Parser extends /** @type {any} */ (Jsep) {
  /** @returns {Node | false} */
  gobbleToken() {
    this.gobbleSpaces();
    const at = this.index;
    const sign = this.char;
    if (unary.has(sign)) {
      this.index++;
      return { type: 'UnaryExpression', operator: sign, argument: this.operand(), at };
    }
    const node = super.gobbleToken();
    if (!node) return node;
    node.at ??= at;
    this.gobbleSpaces();
    const power = /^(\^|\*\*)/.exec(this.expr.slice(this.index, this.index + 2))?.[0];
    if (!power) return node;
    this.index += power.length;
    return { type: 'BinaryExpression', operator: '^', left: node, right: this.operand(), at };
  }

  operand() {
    return this.gobbleToken() || this.throwError('an operand is missing');
  }
}

/**
 * Parses a formula. Checks each part, so that every tree can be compiled and printed.
 * @param {string} text
 * @param {readonly string[]} names the variables and parameters that it may read
 * @returns {Node}
 * @throws {FormulaError}
 */
export function parse(text, names) {
  if (text.length > maxLength) throw new FormulaError({ reason: 'long', at: maxLength });
  const parser = new /** @type {any} */ (Parser)(text);
  let tree;
  try {
    tree = parser.parse();
  } catch {
    throw unexpected(text, parser.index);
  }
  if (tree.type === 'Compound') {
    const [, second] = tree.body;
    throw unexpected(text, second ? startOf(second) : text.length);
  }
  check(tree, names, { parts: 0 });
  return tree;
}

/** The first character of a node. @param {Node} node @returns {number} */
const startOf = (node) => node.at ?? startOf(node.left ?? node.test);

/** @param {string} text @param {number} index */
function unexpected(text, index) {
  const at = Math.min(index, text.length);
  const found = text.slice(at).trim() ? String.fromCodePoint(text.codePointAt(at) ?? 0) : '';
  return new FormulaError(found ? { reason: 'syntax', at, found } : { reason: 'end', at });
}

/** The number of parts of a formula. @param {Node} node @returns {number} */
export function partsOf({ left, right, argument, test, consequent, alternate, arguments: given }) {
  const parts = [left, right, argument, test, consequent, alternate, ...(given ?? [])];
  return parts.reduce((sum, part) => (part ? sum + partsOf(part) : sum), 1);
}

/**
 * @param {Node} node
 * @param {readonly string[]} names
 * @param {{ parts: number }} count
 */
function check(node, names, count) {
  const at = startOf(node);
  if (++count.parts > maxParts) throw new FormulaError({ reason: 'parts', at });
  const fail = (/** @type {Omit<Problem, 'at'>} */ problem) => new FormulaError({ ...problem, at });
  switch (node.type) {
    case 'Literal':
      if (typeof node.value !== 'number') throw fail({ reason: 'kind', found: String(node.raw) });
      return;
    case 'Identifier':
      if (names.includes(node.name) || constants.has(node.name)) return;
      throw functions.has(node.name)
        ? fail({ reason: 'arguments', found: node.name, needs: needed(node.name) })
        : fail({
            reason: 'name',
            found: node.name,
            needs: [...names, ...constants.keys()].join(', '),
          });
    case 'UnaryExpression':
      return check(node.argument, names, count);
    case 'BinaryExpression':
      check(node.left, names, count);
      return check(node.right, names, count);
    case 'ConditionalExpression':
      for (const part of [node.test, node.consequent, node.alternate]) check(part, names, count);
      return;
    case 'CallExpression': {
      const { callee, arguments: given } = node;
      const known = callee.type === 'Identifier' ? functions.get(callee.name) : undefined;
      if (!known) {
        throw fail({
          ...{ reason: 'function', found: callee.name ?? '' },
          needs: [...functions.keys()].join(', '),
        });
      }
      if (given.length < known[1] || given.length > known[2] || given.includes(null)) {
        throw fail({ reason: 'arguments', found: callee.name, needs: needed(callee.name) });
      }
      for (const part of given) check(part, names, count);
      return;
    }
    default:
      throw fail({ reason: 'kind' });
  }
}

/** The number of arguments of a function. @param {string} name */
function needed(name) {
  const [, least, most] = functions.get(name) ?? [null, 1, 1];
  return least === most ? `${least}` : `${least} to ${most}`;
}

/**
 * @param {Node} node from `parse()`
 * @param {readonly string[]} names
 * @returns {(values: ArrayLike<number>) => number} takes the values of `names`, in the same order
 */
export function compile(node, names) {
  const of = (/** @type {Node} */ part) => compile(part, names);
  switch (node.type) {
    case 'Literal': {
      const { value } = node;
      return () => value;
    }
    case 'Identifier': {
      const index = names.indexOf(node.name);
      if (index >= 0) return (values) => values[index];
      const value = /** @type {number} */ (constants.get(node.name));
      return () => value;
    }
    case 'UnaryExpression': {
      const [apply, argument] = [unary.get(node.operator), of(node.argument)];
      return (values) => /** @type {any} */ (apply)(argument(values));
    }
    case 'BinaryExpression': {
      const apply = /** @type {Binary} */ (binary.get(node.operator));
      const [left, right] = [of(node.left), of(node.right)];
      return (values) => apply(left(values), right(values));
    }
    case 'ConditionalExpression': {
      const [test, yes, no] = [node.test, node.consequent, node.alternate].map(of);
      return (values) => (test(values) !== 0 ? yes(values) : no(values));
    }
    default: {
      const [apply] = /** @type {any} */ (functions.get(node.callee.name));
      const parts = node.arguments.map(of);
      const [first, second] = parts;
      if (parts.length === 1) return (values) => apply(first(values));
      if (parts.length === 2) return (values) => apply(first(values), second(values));
      return (values) => apply(...parts.map((/** @type {any} */ part) => part(values)));
    }
  }
}
