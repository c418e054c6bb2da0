import assert from 'node:assert/strict';
import test, { before } from 'node:test';

import { load } from 'attn';

import { examples } from './examples.js';
import { Invention } from './invention.js';
import { isRemovedByLayerNorm, measure, verdictsOf } from './inventMeasure.js';

/** @type {import('attn').Attn} */
let attn;
before(async () => (attn = await load({ variant: 'simd128' })));

/** @param {Partial<import('./invention.js').Written>} written */
function measuresOf(written) {
  const invention = new Invention({ added: '', bias: '', parameters: [], ...written });
  const measures = measure(attn, invention);
  return { ...measures, verdicts: verdictsOf(measures) };
}

/** @param {Record<string, boolean | null>} verdicts */
const shortly = ({ distinct, stationary, linear, bounded }) =>
  [distinct, stationary, linear, bounded].map((verdict) =>
    verdict === null ? '-' : verdict ? 'yes' : 'no',
  );

test('the verdicts are right for schemes whose answers are known', () => {
  for (const [name, written, expected] of /** @type {const} */ ([
    ['sinusoid', examples.sinusoid, ['yes', 'yes', 'yes', 'yes']],
    ['binary digits', examples.binary, ['yes', 'no', 'no', 'yes']],
    ['random rows', examples.random, ['yes', 'no', 'no', 'yes']],
    ['the raw index', { added: 'i' }, ['yes', 'no', 'no', 'no']],
    ['the index and a constant', { added: 'k == 0 ? i : 1' }, ['yes', 'no', 'yes', 'no']],
    ['one fast hand', { added: 'k % 2 ? cos(i / 10) : sin(i / 10)' }, ['yes', 'yes', 'yes', 'yes']],
    ['a constant', { added: '1' }, ['no', 'yes', 'yes', 'yes']],
    ['zero', { added: '0' }, ['no', 'yes', 'yes', 'yes']],
    ['ALiBi', examples.alibi, ['-', 'yes', '-', 'no']],
    ['a Gaussian', examples.gaussian, ['-', 'yes', '-', 'no']],
    ['a window', { bias: 'abs(i - j) < 3 ? 0 : -4' }, ['-', 'yes', '-', 'yes']],
    ['a bias of later words', { bias: 'j > i ? -i : 0' }, ['-', 'no', '-', 'no']],
    ['other numbers before and after', { bias: 'j > i ? -1 : 0' }, ['-', 'yes', '-', 'yes']],
    ['huge numbers', { added: '3e22 * sin(i + k)' }, ['yes', 'no', 'yes', 'yes']],
    ['a position', { bias: 'i * j / 100' }, ['-', 'no', '-', 'no']],
  ])) {
    const { verdicts, ...measures } = measuresOf(/** @type {any} */ (written));
    assert.deepEqual(
      shortly(verdicts),
      expected,
      `${name} ${JSON.stringify({ ...measures, profile: measures.profile.spread })}`,
    );
  }
});

test('distances and residuals match their definitions', () => {
  const { closest, residuals, largest } = measuresOf({ added: 'k == 0 ? i : 0' });
  assert.equal(closest?.distance, 1);
  assert.deepEqual(largest, { within: 255, beyond: 2559 });
  // The best multiple of i for i + δ.
  for (const shift of [1, 16]) {
    const [from, to] = [Array.from({ length: 256 - shift }, (_, i) => i), [0]];
    to.splice(0, 1, ...from.map((i) => i + shift));
    const dot = (/** @type {number[]} */ a, /** @type {number[]} */ b) =>
      a.reduce((sum, value, i) => sum + value * b[i], 0);
    const best = dot(from, to) / dot(from, from);
    const rest = to.map((value, i) => value - best * from[i]);
    const expected = Math.sqrt(dot(rest, rest) / dot(to, to));
    assert.ok(Math.abs((residuals?.[shift - 1] ?? NaN) - expected) < 1e-5);
  }
  const huge = measuresOf({ added: '2^70 * (k == 0 ? i : 0)' });
  assert.equal(huge.closest?.distance, 2 ** 70);
  assert.equal(huge.profile.mean[255], 0);
  assert.equal(huge.profile.high[254], 2 ** 140 * 255);
  const { closest: near } = measuresOf({ added: 'k == 0 ? i : 3000' });
  assert.equal(near?.distance, 1);
});

test('encodings that layer norm removes are recognised', () => {
  for (const [added, expected] of /** @type {const} */ ([
    ['i / 10', true],
    ['1000 * sin(i)', true],
    ['0', true],
    ['i / (1 + k)', false],
    ['i + (k == 0)', false],
  ])) {
    assert.equal(isRemovedByLayerNorm(measuresOf({ added })), expected, added);
  }
  assert.equal(isRemovedByLayerNorm(measuresOf({ bias: '1' })), false);
});
