import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import test from 'node:test';

import { load } from 'attn';

import { smallLanguageModel } from '../../../tests/smallLanguageModel.js';
import { LanguageModel } from '../models/language/languageModel.js';
import { LanguageTokens } from '../models/language/languageTokens.js';
import { untrained as settings } from '../state/properties/index.js';
import { exclusionOf } from './exclusion.js';
import { Embedder, encoded, layerOf } from './sentence.js';
import { bits, divisionOf, keysOf, rowsOf, splitWord, walkOf } from './walk.js';

const attn = await load({ threads: 1 });
const tokens = ['the', 'cat', 'sat', 'on', 'the', 'mat', 'and', 'the', 'cat', 'slept'];

/** @param {Partial<import('./sentence.js').Given>} changes */
function untrained(changes = {}) {
  const given = { ...settings, tokens, ids: [], rotary: false, ...changes };
  const layer = layerOf(attn, { ...given, weights: 'xavier' });
  const embedding = new Embedder(attn).embed(tokens, given.dModel);
  const exclusion = exclusionOf(given, tokens.length);
  const x = encoded(attn, embedding, given);
  return walkOf(attn, given, {
    ...{ embedding, x, layer, exclusion, model: null, reading: null },
  });
}

/** @param {Partial<import('./sentence.js').Given>} changes */
function learned(changes = {}) {
  const { bytes, config } = smallLanguageModel(attn, 'rotary');
  const model = new LanguageModel(attn, bytes);
  const { dModel, numHeads: heads, base } = config;
  const ids = [3, 20, 7, 7, 0, 3, 20, 11];
  const given = {
    ...{ ...settings, tokens: ids.map(String), ids, rotary: true, dModel, heads, base },
    ...{ weights: /** @type {const} */ ('learned'), causal: true, layer: 1, ...changes },
  };
  const exclusion = exclusionOf(given, ids.length);
  const embedding = model.embed(ids);
  const positions = given.encoding !== 'none';
  const reading = model.read(embedding, { exclusion, positions });
  const x = reading.layerInput(given.layer);
  const layer = model.attention(given.layer, true);
  return walkOf(attn, given, { embedding, x, layer, exclusion, model, reading });
}

/** The walk through the page's first sentence, in the head that the page shows first. */
async function opening() {
  const file = (/** @type {string} */ name) =>
    readFile(new URL(`../../languageModel/${name}`, import.meta.url));
  const model = new LanguageModel(attn, new Uint8Array(await file('model.safetensors')));
  const { tokens, ids } = new LanguageTokens(
    JSON.parse((await file('tokenizer.json')).toString()),
  ).of('the lady sat by the fire because the lady was tired');
  const { dModel, numHeads: heads, base } = model.config;
  const given = {
    ...{ ...settings, tokens, ids, rotary: true, dModel, heads, base, layer: 1, head: 0 },
    ...{ weights: /** @type {const} */ ('learned'), causal: true },
  };
  const exclusion = exclusionOf(given, ids.length);
  const embedding = model.embed(ids);
  const reading = model.read(embedding, { exclusion, positions: true });
  const x = reading.layerInput(1);
  const layer = model.attention(1, true);
  return { tokens, walk: walkOf(attn, given, { embedding, x, layer, exclusion, model, reading }) };
}

test('in the first sentence, the weights of the word whose blend is shown are spread', async () => {
  const { tokens, walk } = await opening();
  const { word, division, values, blend, depth } = walk;
  assert.deepEqual([tokens[word], tokens[division.word]], ['lady', 'was']);
  assert.ok(walk.divided.largest > 0.9, String(walk.divided.largest));
  const { weights, largest } = division.divided;
  assert.ok(largest < 0.5, String(largest));
  assert.ok(weights.filter((weight) => weight > 0.05).length >= 5, String(weights));
  assertClose(
    blend.data,
    Array.from({ length: depth }, (_, c) =>
      weights.reduce((sum, weight, j) => sum + weight * values.data[j * depth + c], 0),
    ),
    1e-5,
  );
});

/** Softmax in float64. @param {number[]} scores */
function softmax(scores) {
  const largest = Math.max(...scores);
  const powers = scores.map((score) => Math.exp(score - largest));
  const sum = powers.reduce((a, b) => a + b);
  return powers.map((power) => power / sum);
}

/** @param {ArrayLike<number>} a @param {ArrayLike<number>} b @param {number} within */
function assertClose(a, b, within) {
  assert.equal(a.length, b.length);
  for (let i = 0; i < a.length; i++) {
    assert.ok(Math.abs(a[i] - b[i]) <= within, `${i}: ${a[i]} for ${b[i]}`);
  }
}

test('if the division hardly affects a word, another word shows the effect of the division', () => {
  const matrix = (/** @type {number[][]} */ rows) => ({
    ...{ data: new Float32Array(rows.flat()), rows: 3, columns: 3 },
  });
  const divided = matrix([
    [0.98, 0.01, 0.01],
    [0.4, 0.3, 0.3],
    [0.6, 0.2, 0.2],
  ]);
  const undivided = matrix([
    [1, 0, 0],
    [1, 0, 0],
    [0.8, 0.1, 0.1],
  ]);
  const words = [0, 1, 2].map((word) => divisionOf(divided, undivided, divided, word).word);
  assert.deepEqual(words, [1, 1, 2]);
});

for (const [name, walkWith] of /** @type {const} */ ([
  ['a layer that has learned nothing', untrained],
  ['a layer of a language model', learned],
])) {
  test(`in ${name}, each step follows from the previous one`, () => {
    const { word, depth, query, keys, scores, masked, divided, division, values, blend } = walkWith(
      { walkWord: 6 },
    );
    const { undivided } = division;
    assert.deepEqual([division.word, division.divided], [word, divided]);
    assert.equal(word, 6);
    const n = keys.rows;
    const dots = Array.from({ length: n }, (_, j) =>
      query.data.reduce((sum, q, c) => sum + q * keys.data[j * depth + c], 0),
    );
    assertClose(scores, dots, 1e-4);
    const seen = [...masked.keys()].filter((j) => masked[j] > -Infinity);
    for (const [share, scale] of /** @type {const} */ ([
      [divided, 1 / Math.sqrt(depth)],
      [undivided, 1],
    ])) {
      const weights = softmax(seen.map((j) => scale * scores[j]));
      assertClose(
        seen.map((j) => share.weights[j]),
        weights,
        1e-5,
      );
      assertClose([share.largest], [Math.max(...weights)], 1e-5);
    }
    assert.ok(undivided.entropy < divided.entropy);
    assertClose(
      blend.data,
      Array.from({ length: depth }, (_, c) =>
        seen.reduce((sum, j) => sum + divided.weights[j] * values.data[j * depth + c], 0),
      ),
      1e-5,
    );
  });

  test(`in ${name}, shuffling the words changes the output only with positions`, () => {
    const { shuffled } = walkWith();
    assert.ok(shuffled.without.difference < 1e-5, String(shuffled.without.difference));
    assert.ok(shuffled.with.difference > 1e-2, String(shuffled.with.difference));
    assert.notDeepEqual(
      shuffled.order,
      shuffled.order.map((_, i) => i),
    );
  });
}

test('the walk follows the repeated word that attends most strongly to another word, unless a word is selected', () => {
  const { word } = untrained();
  const most = (/** @type {number} */ i) =>
    Math.max(...untrained({ walkWord: i }).divided.weights.filter((_, j) => j !== i));
  assert.equal(word, most(7) > most(8) ? 7 : 8);
  assert.equal(untrained({ walkWord: 1 }).word, 1);
  assert.equal(untrained({ walkWord: 400 }).word, word);
});

test('without a repeated word, the walk prefers words to pieces and punctuation', () => {
  const followed = (/** @type {string[]} */ ...tokens) => tokens[learned({ tokens }).word];
  assert.equal(followed('we', 'like', 'to', 'play', 'at', 'foot', '-b', '-all'), 'at');
  assert.equal(followed('we', 'play', 'foot', '-b', '-all', '.', 'foot', '-b'), 'play');
  assert.equal(followed('we', 'and', 'we', 'play', 'foot', '-b', '-all', 'now'), 'we');
  assert.equal(followed('a', 'b', 'c', 'd', 'foot', '-b', '.', 'now'), 'now');
});

test('the first word that the language model has split is found', () => {
  assert.deepEqual(splitWord(['we', 'foot', '-b', '-all', '.']), ['foot', '-b', '-all']);
  assert.deepEqual(splitWord(['a', 'sho', '-e']), ['sho', '-e']);
  assert.equal(splitWord(['a', 'shoe']), null);
});

test('the last clocks are at the word’s position, and their angles rotate neighbouring numbers of its query', () => {
  const { places, start, word } = untrained({ walkWord: 3 });
  assert.equal(start + places.rows - 1, word);
  assertClose([places.data[3 * places.columns]], [Math.sin(3)], 1e-6);
  const { unturned, query, places: turns } = learned({ walkWord: 5 });
  assert.ok(unturned);
  // The angle of each clock's hand rotates one pair of neighbouring numbers of the query.
  const hands = turns.data.slice(-turns.columns);
  const turned = Array.from(unturned.data, (value, i) => {
    const [sine, cosine] = [hands[i - (i % 2)], hands[i - (i % 2) + 1]];
    return i % 2
      ? cosine * value + sine * unturned.data[i - 1]
      : cosine * value - sine * unturned.data[i + 1];
  });
  assertClose(query.data, turned, 1e-5);
  assert.notDeepEqual(unturned.data, query.data);
  assert.equal(untrained().unturned, null);
  assert.equal(untrained().logits, null);
  assert.ok(learned().logits);
});

test('hidden keys are omitted, and of many keys those with the largest weights remain', () => {
  const walk = learned({ walkWord: 3 });
  const { keys, others, rest } = keysOf(walk, 3);
  assert.equal(keys.length, 3);
  assert.deepEqual(
    keys,
    [...keys].sort((a, b) => a - b),
  );
  assert.equal(others, 1);
  assert.ok(rest >= 0 && rest < 0.25);
  assert.equal(keysOf(walk, 9).others, 0);
  assert.deepEqual(rowsOf({ data: Float32Array.of(1, 2, 3, 4), rows: 2, columns: 2 }, [1]), {
    ...{ data: Float32Array.of(3, 4), rows: 1, columns: 2 },
  });
});

test('an entropy near 0 is not printed as 0', () => {
  assert.deepEqual([0, 0.001, 0.856].map(bits), ['0.00', '< 0.01', '0.86']);
});
