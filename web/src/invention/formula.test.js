import assert from 'node:assert/strict';
import test from 'node:test';

import fc from 'fast-check';

import { examples } from './examples.js';
import { compile, FormulaError, maxLength, parse, random } from './formula.js';
import { Invention, maxCells, problemsOf } from './invention.js';

const names = ['i', 'k', 'n', 'd', 'a'];
/** @param {string} text @param {number[]} [values] */
const valueOf = (text, values = [3, 4, 10, 8, 0.5]) => compile(parse(text, names), names)(values);

/** @param {string} text */
function problemOf(text) {
  try {
    parse(text, names);
  } catch (error) {
    if (error instanceof FormulaError) return error.problem;
    throw error;
  }
  return null;
}

test('formulas follow the rules of arithmetic', () => {
  for (const [text, expected] of /** @type {const} */ ([
    ['1 + 2 * 3', 7],
    ['(1 + 2) * 3', 9],
    ['-2^2', -4],
    ['(-2)^2', 4],
    ['2^-1', 0.5],
    ['2^3^2', 512],
    ['2**3', 8],
    ['2 * 3^2', 18],
    ['-3 % 5', 2],
    ['7 - 2 - 1', 4],
    ['i + 10 * k', 43],
    ['i < k', 1],
    ['i >= k || !0', 1],
    ['i == 3 && k != 3 ? a : n', 0.5],
    ['i > 3 ? 1 : k > 3 ? 2 : 3', 2],
    ['max(1, 5, 2) - min(i, k)', 2],
    ['atan2(0, -1)', Math.PI],
    ['sin(pi / 2) + log(e)', 2],
    ['1e2 + .5', 100.5],
    ['mod(i, 2)', 1],
  ])) {
    assert.ok(Math.abs(valueOf(text) - expected) < 1e-12, `${text} is ${valueOf(text)}`);
  }
});

test('a mistake is reported with the position of its character', () => {
  for (const [text, reason, at] of /** @type {const} */ ([
    ['1 + ', 'end', 4],
    ['sin(', 'end', 4],
    ['1 + )', 'syntax', 4],
    ['1 $ 2', 'syntax', 2],
    ['2 i', 'syntax', 2],
    ['i + x', 'name', 4],
    ['2 * sinus(i)', 'function', 4],
    ['2 * sin(i, k)', 'arguments', 4],
    ['2 * sin', 'arguments', 4],
    ['1 + i.constructor', 'kind', 4],
    ['1 + "a"', 'kind', 4],
    ['1 + [i]', 'kind', 4],
    ['x'.repeat(maxLength + 1), 'long', maxLength],
  ])) {
    const problem = problemOf(text);
    assert.deepEqual([problem?.reason, problem?.at], [reason, at], text);
  }
  assert.equal(problemOf(`1${'+1'.repeat(150)}`)?.reason, 'parts');
  assert.equal(problemOf(`${'sin('.repeat(90)}`)?.reason, 'end');
});

const written = [
  ...['constructor', '__proto__', 'prototype', 'toString', 'hasOwnProperty', 'valueOf', 'this'],
  ...['globalThis', 'window', 'self', 'process', 'require', 'import', 'eval', 'Function'],
  ...['undefined', 'NaN', 'Infinity', 'null', 'true', 'arguments', 'new', 'Math', 'postMessage'],
].flatMap((name) => [name, `${name}(i)`, `i.${name}`, `i["${name}"]`, `sin.${name}(i)`]);
const others = [
  ...['i = 3', 'i += 1', 'i++', '(() => 1)()', 'a => a', '`${i}`', '"" + i', '[i][0]', '{}'],
  ...['i; k', 'i, k', '(i, k)', 'sin.call(i)', 'sin.constructor("return this")()', 'i?.k', '~i'],
  ...['i & k', 'i | k', 'i << 40', 'i === k', 'typeof i', 'delete i', 'void 0', 'new sin(i)'],
  ...['while (1) {}', 'for(;;){}', 'function f() { f() }', '/*', '//', '\\u0069', '\u0000', '…'],
  ...['('.repeat(399), '-'.repeat(399), '!'.repeat(399), 'i?'.repeat(190), '2^'.repeat(199)],
  ...['sin('.repeat(99), `${'('.repeat(150)}i${')'.repeat(150)}`, 'min()', 'min(,)', 'random(i)'],
];

test('hostile formulas are rejected or give numbers, and read nothing else', () => {
  assert.ok(written.length + others.length >= 150);
  for (const text of [...written, ...others]) {
    const problem = problemOf(text);
    if (problem) assert.ok(problem.at >= 0 && problem.at <= text.length, text);
    else assert.equal(typeof valueOf(text), 'number', text);
  }
  for (const text of written) assert.ok(problemOf(text), text);
  const before = Object.getOwnPropertyNames(Object.prototype).length;
  const pieces = fc.constantFrom(
    ...['i', 'k', 'a', 'sin', 'max', 'random', '(', ')', '[', ']', '.', ',', ';', '?', ':', '+'],
    ...['-', '*', '/', '^', '%', '!', '<', '==', '&&', '"', "'", '1', '0.5', '1e9', ' ', '`', '$'],
    ...['constructor', '__proto__', 'prototype', 'this', '=>', '=', '{', '}'],
  );
  const text = fc.oneof(
    fc.array(pieces, { maxLength: 60 }).map((all) => all.join('')),
    fc.string({ maxLength: 60 }),
    fc.string({ unit: 'binary', maxLength: 60 }),
  );
  fc.assert(
    fc.property(text, (given) => {
      const problem = problemOf(given);
      if (problem) assert.ok(problem.at >= 0 && problem.at <= given.length);
      else assert.equal(typeof valueOf(given), 'number');
    }),
    { numRuns: 300, seed: 46 },
  );
  assert.equal(Object.getOwnPropertyNames(Object.prototype).length, before);
});

test('random numbers depend only on their two whole numbers, and fill the interval', () => {
  const all = Array.from({ length: 4096 }, (_, i) => random(i >> 6, i & 63));
  assert.ok(all.every((value) => value >= 0 && value < 1));
  const mean = all.reduce((sum, value) => sum + value) / all.length;
  assert.ok(Math.abs(mean - 0.5) < 0.02);
  assert.equal(new Set(all).size, all.length);
  assert.equal(random(3, 5), random(3, 5));
  assert.notEqual(random(3, 5), random(5, 3));
});

test('tables that would take too long are not computed', () => {
  const added = '1+'.repeat(124) + '1';
  const invention = new Invention({ added, bias: added, parameters: [] });
  assert.ok(invention.added(2560, 64));
  for (const compute of [() => invention.added(maxCells, 2), () => invention.bias(500, 4, 64)]) {
    assert.throws(compute, (/** @type {any} */ { problem }) => problem.reason === 'cells');
  }
});

test('every example gives tables of finite numbers', () => {
  for (const [name, each] of Object.entries(examples)) {
    assert.deepEqual(problemsOf(each), {}, name);
    const invention = new Invention(each);
    assert.ok(invention.added(64, 64) ?? invention.bias(64, 4, 64), name);
  }
});

test('a number that is not finite is reported with its position in the table', () => {
  const invention = new Invention({ added: '1 / (i - 2)', bias: 'log(j - h)', parameters: [] });
  assert.throws(
    () => invention.added(4, 3),
    (/** @type {any} */ { problem }) => problem.found === 'P(2, 0)' && problem.needs === 'Infinity',
  );
  assert.throws(
    () => invention.bias(2, 2, 8),
    (/** @type {any} */ { problem }) => problem.found === 'b(0, 0, 0)',
  );
});
