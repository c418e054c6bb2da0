import '../../../../tests/svelte.js';

import assert from 'node:assert/strict';
import test from 'node:test';

import { render } from 'svelte/server';

const { default: Bars } = await import('./Bars.svelte');

const walk = /** @type {any} */ ({
  ...{ scores: Float32Array.of(-1, 3), scaled: Float32Array.of(-0.5, 1.5), depth: 4 },
  divided: { weights: Float32Array.of(0.0004, 0.9996) },
  division: { undivided: { weights: Float32Array.of(0, 1) } },
});

/** @param {'scores' | 'weights' | 'undivided' | 'values'} shows */
const barsFor = (shows) => {
  const props = { ...{ walk, of: walk, shows, keys: [0, 1], lit: 1, narrow: false } };
  const { body } = render(Bars, { props });
  return {
    text: body
      .replace(/<[^>]*>/g, ' ')
      .replaceAll('&lt;', '<')
      .replace(/\s+/g, ' ')
      .trim(),
    bars: [...body.matchAll(/left: ([^%]*)%; width: ([^%]*)%/g)].map(([, ...all]) =>
      all.map(Number),
    ),
  };
};

test('the bars of scores begin at zero, and negative scores extend to the left', () => {
  const { text, bars } = barsFor('scores');
  assert.equal(text, '−1.0 3.0');
  assert.deepEqual(bars, [
    [0, 25],
    [25, 75],
  ]);
});

test('a weight follows from its score, and a small weight is not written as zero', () => {
  assert.equal(barsFor('weights').text, '−1.00 / 2 = −0.50 < 0.001 3.00 / 2 = 1.50 1.000');
  assert.equal(barsFor('values').text, '< 0.001 1.000');
});

test('the weights without the division are next to the weights', () => {
  assert.equal(barsFor('undivided').text, '< 0.001 0.000 1.000 1.000');
  assert.equal(barsFor('undivided').bars.length, 4);
});
