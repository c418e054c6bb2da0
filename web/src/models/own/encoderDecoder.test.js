// The attention of recorded encoder–decoder models, as figures receive it, equals the attention that
// PyTorch recorded.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';

import { load } from 'attn';

import { finish } from '../../core/finish.js';
import { matrixOf } from '../../drawing/matrix.js';
import { wall } from '../wall/wall.js';
import { OwnModel } from './ownServer.js';

const attn = await load({ threads: 1, models: true });
const recorded = new URL('../../../../tests/native/models/recorded/', import.meta.url);
const masks = { causal: false, window: 0, validLen: 0, blocked: [] };

/** A tokenizer with one word for each id. The id 1 ends a text. @param {number} size */
const tokenizerOf = (size) => ({
  added_tokens: [
    {
      ...{ id: 1, content: 'w1', special: true, normalized: false },
      ...{ single_word: false, lstrip: false, rstrip: false },
    },
  ],
  pre_tokenizer: { type: 'WhitespaceSplit' },
  post_processor: {
    ...{ type: 'TemplateProcessing', pair: [] },
    single: [{ Sequence: { id: 'A', type_id: 0 } }, { SpecialToken: { id: 'w1', type_id: 0 } }],
    special_tokens: { w1: { id: 'w1', ids: [1], tokens: ['w1'] } },
  },
  model: {
    ...{ type: 'WordLevel', unk_token: 'w1' },
    vocab: Object.fromEntries(Array.from({ length: size }, (_, id) => [`w${id}`, id])),
  },
});

/** @param {string} name @param {number} size size of the vocabulary */
async function opened(name, size) {
  const files = ['model.safetensors', 'config.json'].map(
    (file) => new File([readFileSync(new URL(`${name}/${file}`, recorded))], file),
  );
  files.push(new File([JSON.stringify(tokenizerOf(size))], 'tokenizer.json'));
  const given = files.map((file) => /** @type {[string, File]} */ ([file.name, file]));
  const opening = OwnModel.open(attn, { files: given, pageTokens: null });
  let step = await opening.next();
  while (!step.done) step = await opening.next();
  const own = /** @type {import('./encoderDecoder.js').EncoderDecoder} */ (step.value);
  const file = new attn.Safetensors(
    new Uint8Array(readFileSync(new URL(`${name}/expected.safetensors`, recorded))),
  );
  return { own, want: (/** @type {string} */ key) => file.read(key) };
}

/** @param {import('attn').Tensor} ids */
const wordsOf = ({ data }) => {
  const ids = [...data];
  return { ids, tokens: ids.map((id) => `w${id}`), total: ids.length };
};

/** @param {any} given @returns {import('../../core/sentence.js').Given} */
const givenOf = (given) => ({ ...masks, ...given });

/** @param {import('attn').Tensor} got @param {import('attn').Tensor} want @param {string} where */
function near(got, want, where) {
  assert.deepEqual([...got.shape], [...want.shape], where);
  got.data.forEach((value, i) =>
    assert.ok(Math.abs(value - want.data[i]) < 2e-5, `${where} ${i}: ${value}, ${want.data[i]}`),
  );
}

/** @param {import('../../drawing/matrix.js').Matrix} matrix */
const tensorOf = ({ data, rows, columns }) => ({ data, shape: [rows, columns] });

/**
 * Computes A·Bᵀ + b in double precision.
 * @param {import('../../drawing/matrix.js').Matrix} a
 * @param {import('attn').Tensor} b
 * @param {ArrayLike<number>} [bias]
 */
function product({ data, rows, columns }, { data: other, shape: [outputs] }, bias) {
  const sums = Float32Array.from({ length: rows * outputs }, (_, i) => {
    const [row, column] = [Math.floor(i / outputs), i % outputs];
    let sum = bias?.[column] ?? 0;
    for (let k = 0; k < columns; k++) {
      sum += data[row * columns + k] * other[column * columns + k];
    }
    return sum;
  });
  return { data: sums, shape: [rows, outputs] };
}

/** @param {import('../../drawing/matrix.js').Matrix} x @param {import('../../core/stages.js').Affine} by */
const projected = (x, { weight, bias }) => product(x, weight, bias);

for (const [name, size, positions] of /** @type {[string, number, string][]} */ ([
  ['t5', 29, 'bias'],
  ['t5_gated', 26, 'bias'],
  ['marian', 27, 'sinusoidal'],
  ['marian_table', 31, 'learned'],
])) {
  test(`every part of ${name} has the weights that PyTorch recorded`, async () => {
    const { own, want } = await opened(name, size);
    const { parts, positions: found } = own.facts;
    assert.equal(found, positions);
    assert.ok(parts);
    const [source, target] = [wordsOf(want('ids')), wordsOf(want('targets'))];
    for (const [part, recorded] of /** @type {const} */ ([
      ['encoder', 'encoder'],
      ['decoder', 'self'],
      ['cross', 'cross'],
    ])) {
      const { ids, tokens } = part === 'encoder' ? source : target;
      for (let layer = 0; layer < parts[part].numLayers; layer++) {
        const causal = part === 'decoder';
        const given = givenOf({ ids, tokens, layer, causal, pair: { part, source, target } });
        const sentence = own.sentence(given, causal ? { causal } : {});
        const { output, weights } = sentence.attend();
        near(weights, want(`${recorded}_weights.${layer}`), `${part} ${layer}`);
        const rows = [ids.length, own.facts.dModel];
        for (const each of [output, sentence.embedding, sentence.input]) {
          assert.deepEqual([...each.shape], rows);
        }
        assert.deepEqual(sentence.positions?.shape, positions === 'bias' ? undefined : rows);
        /** @type {number} */
        const head = parts[part].numHeads - 1;
        const { how, ...stages } = own.stages({ ...given, head }, causal ? { causal } : {});
        const where = /** @type {string} */ (`${part} ${layer}, head ${head}`);
        const wanted = matrixOf(want(`${recorded}_weights.${layer}`), head);
        near(tensorOf(stages.weights), tensorOf(wanted), where);
        assert.equal(stages.memory !== undefined, part === 'cross');
        if (stages.memory) near(tensorOf(stages.memory), want('memory'), where);
        assert.equal(how.hasBias, positions === 'bias' && part !== 'cross');
        assert.equal(how.scale, positions === 'bias' ? 1 : undefined);
        // Each stage follows from the stages before it, as the figure explains.
        const { q, k, v, o } = how.projections;
        const x = matrixOf(sentence.input);
        const memory = stages.memory ?? x;
        near(tensorOf(stages.query), projected(x, q), `${where}, queries`);
        near(tensorOf(stages.key), projected(memory, k), `${where}, keys`);
        near(tensorOf(stages.value), projected(memory, v), `${where}, values`);
        near(
          tensorOf(stages.scores),
          product(stages.query, tensorOf(stages.key)),
          `${where}, scores`,
        );
        const scale = how.scale ?? 1 / Math.sqrt(how.depth);
        let isBiased = false;
        stages.masked.data.forEach((value, i) => {
          const [row, column] = [Math.floor(i / wanted.columns), i % wanted.columns];
          assert.ok(Math.abs(stages.scaled.data[i] - scale * stages.scores.data[i]) < 2e-5, where);
          if (causal && column > row) assert.equal(value, -Infinity, where);
          else if (Math.abs(value - stages.scaled.data[i]) > 1e-3) isBiased = true;
        });
        assert.equal(isBiased, how.hasBias, where);
        if (o) near(tensorOf(stages.output), projected(stages.attended, o), `${where}, output`);
      }
    }

    // A block of the encoder has the recorded weights, and softmax of its scores gives them.
    const inEncoder = { ...source, layer: 1, pair: { part: 'encoder', source, target } };
    const block = own.block(givenOf({ ...inEncoder, head: 1 }));
    const { layers: described } = parts.encoder.description;
    assert.equal(block.heads, described[1].numHeads);
    for (let head = 0; head < described[1].numHeads; head++) {
      const { data, rows, columns } = matrixOf(want('encoder_weights.1'), head);
      const id = `weights${head}`;
      near(block.stages[id], { data, shape: [rows, columns] }, `block, head ${head}`);
      for (let row = 0; row < rows; row++) {
        const scores = block.scores[id].data.subarray(row * columns, (row + 1) * columns);
        const powers = scores.map((score) => Math.exp(score));
        const sum = powers.reduce((total, power) => total + power, 0);
        const weights = { data: powers.map((power) => power / sum), shape: [columns] };
        const recorded = data.subarray(row * columns, (row + 1) * columns);
        near(weights, { data: recorded, shape: [columns] }, `block, scores of head ${head}`);
      }
    }
    assert.deepEqual(block.stages.sum2.shape, [source.ids.length, own.facts.dModel]);
    assert.deepEqual(own.parameters({ layer: 1 }).parameters.q.shape, [
      described[1].numHeads * described[1].headDim,
      own.facts.dModel,
    ]);

    // Token by token with a cache, a layer of the decoder gives the same as in one pass.
    const run = own.decode({
      pair: { part: 'decoder', source, target },
      ids: target.ids,
      layer: 1,
    });
    assert.ok(Math.max(...run.differences) < 2e-5, `${run.differences}`);
    const self = want('self_weights.1');
    const [numHeads, length] = self.shape;
    assert.equal(run.weights.length, length);
    run.weights.forEach(({ data, shape }, step) => {
      assert.deepEqual(shape, [numHeads, step + 1]);
      data.forEach((weight, i) => {
        const [head, key] = [Math.floor(i / (step + 1)), i % (step + 1)];
        assert.ok(Math.abs(weight - self.data[(head * length + step) * length + key]) < 2e-5);
      });
    });
    const { headDim } = parts.decoder.description.layers[1];
    for (const each of [run.q, run.keys, run.values]) {
      assert.deepEqual(each.shape, [length, numHeads * headDim]);
    }

    const given = givenOf({ ...source, pair: { part: 'encoder', source, target } });
    const progress = [...wall(own.reader(given), given)];
    const layers = progress.flatMap((each) => (each && 'found' in each ? [each] : []));
    assert.deepEqual(
      layers.map(({ layer }) => layer),
      layers.map((_, i) => i),
    );
    const all = Object.entries({ encoder: 'encoder', decoder: 'self', cross: 'cross' }).flatMap(
      ([part, recorded]) =>
        Array.from(
          { length: parts[/** @type {keyof typeof parts} */ (part)].numLayers },
          (_, layer) => want(`${recorded}_weights.${layer}`),
        ),
    );
    assert.equal(layers.length, all.length);
    layers.forEach(({ found: { pictures, shares } }, i) => {
      near(pictures, all[i], `picture ${i}`);
      const isCross = i >= all.length - parts.cross.numLayers;
      shares.forEach(({ firstToken, previousToken, place }, head) => {
        const { data, rows, columns } = matrixOf(all[i], head);
        let sum = 0;
        for (let row = 2; row < rows; row++) sum += data[row * columns];
        assert.ok(Math.abs(/** @type {number} */ (firstToken) - sum / (rows - 2)) < 1e-5);
        assert.equal(previousToken === null, isCross);
        assert.equal(place === null, isCross);
      });
    });
  });

  test(`${name} predicts the tokens of a target as PyTorch does`, async () => {
    const { own, want } = await opened(name, size);
    const [source, target] = [wordsOf(want('ids')), wordsOf(want('targets'))];
    const pair = { part: /** @type {const} */ ('decoder'), source, target };
    const { ids } = target;
    const at = ids.length - 1;
    const options = { temperature: 1, topK: 0 };
    const found = own.next({ pair, ids, at, layer: 1, head: 2, drawn: 5, ...options });
    const logits = want('logits');
    const row = [...logits.data.slice(at * size, (at + 1) * size)];
    const total = row.reduce((sum, logit) => sum + Math.exp(logit), 0);
    const likely = row.map((logit) => Math.exp(logit) / total).sort((a, b) => b - a);
    found.candidates.forEach(({ probability }, i) =>
      assert.ok(Math.abs(probability - likely[i]) < 2e-5),
    );
    const head = matrixOf(want('self_weights.1'), 2).data;
    found.weights.forEach((weight, j) =>
      assert.ok(Math.abs(weight - head[at * ids.length + j]) < 2e-5),
    );
    // With top-k sampling from one candidate, the model writes the most probable tokens.
    const start = ids.slice(0, 1);
    const written = own.write({ pair, ids: start, count: 8, temperature: 1, topK: 1, seed: 0 });
    const texts = [...written].map(({ text }) => text.trim()).filter(Boolean);
    const greedy = [...want('greedy').data].map((id) => `w${id}`);
    const end = greedy.indexOf('w1');
    assert.deepEqual(texts, end < 0 ? greedy : greedy.slice(0, end));
  });
}

test('a target begins with the start token, and has no token at its end', async () => {
  const { own } = await opened('t5_gated', 26);
  const { source, target } = own.encode({ text: 'w5 w6', target: 'w7' });
  assert.deepEqual(source.ids, [5, 6, 1]);
  assert.deepEqual(target.ids, [2, 7]);
  assert.deepEqual(own.encode({ text: '', target: '' }).target.ids, [2]);
});

test('a learned table of positions is drawn for each stack', async () => {
  const { own } = await opened('marian_table', 31);
  for (const part of /** @type {const} */ (['encoder', 'decoder'])) {
    const places = finish(own.places({ part }));
    assert.ok('learned' in places && places.learned.all === 17);
  }
});
