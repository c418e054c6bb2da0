// The page's language model, and the same file opened by a reader, must answer every question in
// the same way.

import assert from 'node:assert/strict';
import test from 'node:test';

import { load } from 'attn';

import { smallLanguageModel } from '../../../tests/smallLanguageModel.js';
import { exclusionOf } from '../core/exclusion.js';
import { finish } from '../core/finish.js';
import { Pages } from './language/pages.js';
import { OwnModel } from './own/ownServer.js';
import { Spelled } from './spelled.js';

const attn = await load({ threads: 1, models: true });

/** @type {any} */
const tokenizer = {
  added_tokens: [],
  pre_tokenizer: { type: 'Whitespace' },
  decoder: null,
  model: {
    ...{ type: 'WordLevel', unk_token: 'w0' },
    vocab: Object.fromEntries(Array.from({ length: 24 }, (_, id) => [`w${id}`, id])),
  },
};
const ids = [3, 20, 7, 7, 0, 3, 20, 11];
const masks = { causal: true, window: 0, validLen: 0, blocked: [] };

/**
 * Opens the same file in both kinds of model.
 * @param {'rotary' | 'sinusoidal'} positions
 * @param {number} [huge] a token whose logit overflows after some tokens in the reader's model
 */
async function both(positions, huge) {
  const { bytes, model, config } = smallLanguageModel(attn, positions);
  if (huge !== undefined) {
    const view = new DataView(bytes.buffer, bytes.byteOffset);
    const start = 8 + Number(view.getBigUint64(0, true));
    const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, start)));
    const [begin] = header['embedding.weight'].data_offsets;
    const at = start + begin + 4 * (huge * config.dModel + 2);
    view.setFloat32(at, 3e38, true);
  }
  const files = [
    new File([/** @type {any} */ (bytes)], 'model.safetensors'),
    new File([JSON.stringify(tokenizer)], 'tokenizer.json'),
  ];
  const given = files.map((file) => /** @type {[string, File]} */ ([file.name, file]));
  const opening = OwnModel.open(attn, { files: given, pageTokens: null });
  for (;;) {
    const { done, value } = await opening.next();
    if (done)
      return { pages: new Pages(attn, model), own: /** @type {OwnModel} */ (value), config };
  }
}

/** @param {any} config @param {object} [changes] @returns {any} */
const givenOf = ({ dModel, numHeads, base, positions }, changes) => ({
  ...{ ids, tokens: ids.map(String), dModel, heads: numHeads, head: 1, layer: 1, base, seed: 1 },
  ...{ weights: 'learned', encoding: 'sinusoidal', rotary: positions === 'rotary', norm: 'pre' },
  ...masks,
  ...changes,
});

/** @param {any} a @param {any} b @param {string} where */
function near(a, b, where) {
  assert.deepEqual([...a.shape], [...b.shape], where);
  a.data.forEach((/** @type {number} */ value, /** @type {number} */ i) =>
    assert.ok(Math.abs(value - b.data[i]) < 1e-5, `${where} ${i}: ${value}, ${b.data[i]}`),
  );
}

for (const positions of /** @type {const} */ (['rotary', 'sinusoidal'])) {
  test(`both models describe and compute a layer alike, ${positions}`, async () => {
    const { pages, own, config } = await both(positions);
    for (const changes of [{}, { layer: 0 }, { window: 2, blocked: [{ row: 4, column: 3 }] }]) {
      const given = givenOf(config, changes);
      const described = /** @type {any} */ (own.facts.description.layers[given.layer]);
      for (const [name, value] of Object.entries(pages.described(given))) {
        if (name !== 'normEps') assert.equal(described[name], value, name);
      }
      const runs = [pages.block(given), own.block(given)];
      assert.deepEqual(Object.keys(runs[0].stages), Object.keys(runs[1].stages));
      for (const id of Object.keys(runs[0].stages)) {
        near(runs[0].stages[id], runs[1].stages[id], id);
      }
      const known = [pages.parameters(given).parameters, own.parameters(given).parameters];
      assert.deepEqual(Object.keys(known[0]), Object.keys(known[1]));
      for (const id of Object.keys(known[0])) assert.deepEqual(known[0][id], known[1][id], id);
      const exclusion = exclusionOf(given, ids.length);
      const [a, b] = [pages, own].map((model) => model.sentence(given, exclusion).attend());
      near(a.weights, b.weights, 'weights');
      near(a.output, b.output, 'output');
    }
    const given = givenOf(config);
    const decoded = [pages.decode(given), own.decode(given)];
    for (const part of /** @type {const} */ (['keys', 'values', 'output'])) {
      near(decoded[0][part], decoded[1][part], part);
    }
  });
}

test('both models have the same losses in any order', async () => {
  const { pages, own } = await both('rotary');
  const given = { ids, order: ids.map((_, i) => i).reverse() };
  const [a, b] = [finish(pages.losses(given)), finish(own.losses(given))];
  b.losses.forEach((loss, i) => assert.ok(Math.abs(loss - a.losses[i]) < 1e-5));
});

for (const positions of /** @type {const} */ (['rotary', 'sinusoidal'])) {
  test(`both models give the same predictions after each layer and the same contributions, ${positions}`, async () => {
    const { pages, own, config } = await both(positions);
    pages.tokens = /** @type {any} */ ({ label: String });
    const given = { ids, encoding: 'sinusoidal' };
    const [a, b] = [finish(pages.lens(given)), own.lens(given)];
    assert.deepEqual([a.layers.length, a.first, b.first], [config.numLayers + 1, 0, 0]);
    a.layers.forEach((rows, layer) =>
      rows.forEach((likely, row) => {
        const other = b.layers[layer][row];
        assert.deepEqual(
          likely.map(({ id }) => id),
          other.map(({ id }) => id),
        );
        likely.forEach(({ probability }, i) =>
          assert.ok(Math.abs(probability - other[i].probability) < 1e-5),
        );
      }),
    );
    for (const token of [-1, 9]) {
      const question = { ...given, token, drawn: 4 };
      const [c, d] = [pages.contributions(question), own.contributions(question)];
      assert.deepEqual(c.chosen?.id, d.chosen?.id);
      assert.deepEqual(
        c.likely.map(({ id }) => id),
        d.likely.map(({ id }) => id),
      );
      c.parts.forEach(({ value, ...part }, i) => {
        const { value: other, ...same } = d.parts[i];
        assert.deepEqual(part, same);
        assert.ok(Math.abs(value - other) < 1e-5);
      });
      const sum = c.parts.reduce((sum, { value }) => sum + value, 0);
      assert.ok(Math.abs(sum - c.total) < 1e-4);
    }
  });
}

for (const stage of /** @type {const} */ (['residual', 'attention', 'mlp', 'head'])) {
  test(`both models compare two sentences alike and give the same results for patches, ${stage}`, async () => {
    const { pages, own, config } = await both('rotary');
    /** @param {string} text */
    const of = (text) => {
      const all = text.split(' ').map((word) => Number(word.slice(1)));
      return { ids: all, tokens: all.map(String), total: all.length };
    };
    pages.tokens = /** @type {any} */ ({ label: String, of });
    const text = 'w3 w5 w7 w7 w0 w3 w20 w11';
    const common = { ids, encoding: 'sinusoidal', stage, head: 1 };
    const question = { ...common, total: ids.length, text, token: -1, drawn: 3 };
    const [a, b] = [pages.compare(question), own.compare(question)];
    assert.ok(a.compared && b.compared);
    assert.deepEqual(a.ids, b.ids);
    assert.equal(a.compared.chosen.id, b.compared.chosen.id);
    near(a.compared.distances, b.compared.distances, 'distances');
    const [rows, columns] = a.compared.distances.shape;
    assert.deepEqual([rows, columns], [8, config.numLayers + (stage === 'residual' ? 1 : 0)]);
    const patch = { ...common, other: a.ids, token: a.compared.chosen.id };
    const [c, d] = [finish(pages.patch(patch)), finish(own.patch(patch))];
    assert.deepEqual([c.cells.length, c.total], [rows * columns, rows * columns]);
    c.cells.forEach(({ value }, i) => assert.ok(Math.abs(value - d.cells[i].value) < 1e-5));
    // The first tokens are the same, so their patches change nothing.
    for (let column = 0; column < columns; column++) {
      assert.equal(c.cells[column * rows].value, a.compared.chosen.second);
      assert.equal(a.compared.distances.data[column], 0);
    }
    // The prediction is made from the last row after the last layer.
    if (stage === 'residual') {
      assert.equal(c.cells.at(-1)?.value, a.compared.chosen.first);
      assert.equal(d.cells.at(-1)?.value, b.compared.chosen.first);
    }
  });
}

test('the last row after the last layer restores every bit of the first sentence’s logits', async () => {
  const { pages, config } = await both('rotary');
  const options = { layer: null, positions: true };
  const name = `layers.${config.numLayers - 1}.output`;
  const other = [3, 5, 7, 7, 0, 3, 20, 11];
  const first = pages.model.changed(ids, {}, { ...options, names: [name] });
  const second = pages.model.changed(other, {}, options);
  assert.notDeepEqual(second.logits, first.logits);
  const { data, shape } = first.intermediates[name];
  const values = { data: data.subarray(7 * shape[1]), shape: [shape[1]] };
  const patch = [{ name, position: 7, values }];
  assert.deepEqual(pages.model.changed(other, { patch }, options).logits, first.logits);
  assert.deepEqual(pages.model.changed(other, { patch: [] }, options).logits, second.logits);
});

test('sentences with different numbers of tokens are not compared, and patching them is an error', async () => {
  const { own } = await both('rotary');
  const common = { ids, encoding: 'sinusoidal', stage: /** @type {const} */ ('mlp'), head: 0 };
  const question = { ...common, total: ids.length, text: 'w3 w5', token: -1, drawn: 3 };
  const answer = own.compare(question);
  assert.deepEqual([answer.total, answer.compared], [2, null]);
  assert.throws(() => finish(own.patch({ ...common, other: answer.ids, token: 1 })), {
    message: /^The sentences have 8 and 2 tokens\./,
  });
});

test('if a logit overflows, the model answers with the results that are known', async () => {
  const { own } = await both('rotary', 1);
  const given = { ids, encoding: '' };
  const { layers } = own.lens(given);
  const known = layers.map((rows) => rows.map(({ length }) => length === 3));
  assert.ok(known[0].includes(true) && known[0].includes(false));
  assert.ok(!known[2].includes(true));
  /** @param {import('../core/silence.js').Part[]} silenced */
  const change = (...silenced) =>
    own.change({
      ...{ ...given, layer: 1, cuts: [], silenced, replacement: 'zero', token: -1, drawn: 4 },
    });
  const unchanged = change();
  assert.deepEqual([unchanged.before, unchanged.after], [[], []]);
  assert.ok(unchanged.weights.data.every(Number.isFinite));
  const silenced = change({ layer: 0, part: 1 });
  assert.deepEqual([silenced.before.length, silenced.after.length], [0, 4]);
  assert.equal(silenced.chosen.id, silenced.after[0].id);
  assert.deepEqual(own.contributions({ ...given, token: -1, drawn: 4 }), {
    ...{ chosen: null, likely: [], total: NaN, parts: [] },
  });
  assert.equal(finish(own.rank({ ids, token: -1, of: 'parts', replacement: 'zero' })).total, 0);
  const values = /** @type {const} */ ({ stage: 'mlp', head: 0, total: ids.length });
  const text = ids.map((id) => `w${id}`).join(' ');
  const { compared } = own.compare({ ...given, ...values, text, token: -1, drawn: 3 });
  assert.deepEqual(compared?.likely, [[], []]);
});

test('the page’s model keeps the values of a sentence only for the same masks', async () => {
  const { pages, config } = await both('rotary');
  const given = givenOf(config);
  const first = pages.stream(given);
  assert.equal(pages.stream(given), first);
  const other = pages.stream(givenOf(config, { causal: false }));
  assert.notDeepEqual(other.data, first.data);
  assert.equal(pages.stream(given), first);
});

test('an untrained layer gives the same results after the settings change and change back', () => {
  const spelled = new Spelled(attn);
  const given = (/** @type {number} */ seed, /** @type {'pre' | 'post'} */ norm) => ({
    ...givenOf({ dModel: 16, numHeads: 2, base: 100, positions: '' }, { layer: 0, seed, norm }),
    ...{ weights: 'xavier', tokens: ['the', 'cat', 'sat'], ids: [] },
  });
  const before = spelled.decode(given(1, 'post')).output;
  spelled.block(given(2, 'pre'));
  assert.deepEqual(spelled.decode(given(1, 'post')).output, before);
  const { parameters } = spelled.parameters(given(1, 'post'));
  assert.deepEqual(Object.keys(parameters).sort(), [
    ...['attention', 'feedForward', 'hidden', 'k', 'q', 'v'],
  ]);
});
