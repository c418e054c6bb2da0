import '../../../../tests/svelte.js';

import assert from 'node:assert/strict';
import test from 'node:test';

import { render } from 'svelte/server';

import * as words from '../../texts/figures/cut.js';

const { default: Changes } = await import('./Changes.svelte');

const known = [{ id: 1, label: 'sat', probability: 0.5 }];

/**
 * The text of the component for one token.
 * @param {Partial<import('../../models/model.js').ChangeAnswer>} answer
 * @param {Partial<import('../../models/model.js').Moved>} [moved]
 */
const textFor = (answer, moved) =>
  render(Changes, {
    props: {
      answer: {
        weights: { data: new Float32Array(), shape: [1, 0, 0] },
        ...{ before: known, after: known },
        chosen: { id: 1, label: 'sat', before: -1, after: -1, change: 0 },
        moved: [{ divergence: 0, isSame: true, change: null, ...moved }],
        ...answer,
      },
      ...{ words, tokens: ['cat'], isChanged: true, onfollow: () => {} },
    },
  }).body.replace(/<[^>]*>/g, '');

for (const { divergence, isSame = false, shows } of [
  { divergence: 0, isSame: true, shows: /cat\s*–/ },
  { divergence: 0, shows: /&lt; 0\.01/ },
  { divergence: 0.004, shows: /&lt; 0\.01/ },
  { divergence: 0.014, shows: /divergence 0\.01/ },
  { divergence: Infinity, shows: /divergence ∞/ },
  { divergence: NaN, shows: /divergence NaN.* NaN means that one of the two predictions/ },
]) {
  test(`only equal predictions have a dash: ${divergence}, ${isSame ? 'equal' : 'not equal'}`, () => {
    assert.match(textFor({}, { divergence, isSame }), shows);
  });
}

for (const { before, after, shows } of [
  { before: known, after: [], shows: /output with the cuts is not a number.*without cuts\s*sat/ },
  { before: [], after: known, shows: /output without cuts is not a number.*with the cuts\s*sat/ },
  { before: [], after: [], shows: /without cuts is not a number.*with the cuts is not a number/ },
]) {
  test(`a prediction that is not a number is named, and the other is listed: ${shows}`, () => {
    assert.match(textFor({ before, after }), shows);
  });
}
