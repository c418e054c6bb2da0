// Checks that the programs for a head of a reader's model print what PyTorch computed for it.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';

import { load } from 'attn';

import { reasonToSkip, run } from '../../../../tests/programs.js';
import * as programs from './ownPrograms.js';

const noMasks = { window: 0, validLen: 0, blocked: [] };
const recorded = new URL('../../../../tests/native/models/recorded/', import.meta.url);

for (const name of ['gpt2', 'roberta', 'gemma3']) {
  const read = (/** @type {string} */ file) => readFileSync(new URL(`${name}/${file}`, recorded));
  for (const language of /** @type {const} */ (['cpp', 'javascript'])) {
    const skip = await reasonToSkip(language);
    test(`the ${language} program prints the weights of a head of ${name}`, { skip }, async () => {
      const attn = await load({ threads: 1 });
      const file = new attn.Safetensors(read('expected.safetensors'));
      const weights = file.read('weights.1');
      const ids = Array.from(file.read('ids').data);
      const [heads, n] = weights.shape;
      const head = heads - 1;
      const given = /** @type {any} */ ({
        ...noMasks,
        ids,
        tokens: ids.map((id) => `t${id}\\`),
        layer: 1,
        head,
        heads,
        causal: name !== 'roberta',
      });
      const program = programs.attentionCode(given)[language];
      const files = {
        'model.safetensors': read('model.safetensors'),
        'config.json': read('config.json'),
      };
      const printed = (await run(language, program, files)).flat();
      assert.equal(printed.length, n * n);
      printed.forEach((value, i) => {
        const want = weights.data[head * n * n + i];
        assert.ok(Math.abs(value - want) < 2e-5, `${i}: ${value} for ${want}`);
      });
    });
  }
}

test('the programs for a model that generates text agree with each other and with the recorded values', async (t) => {
  const skip = await reasonToSkip('cpp');
  /** @type {('javascript' | 'cpp')[]} */
  const languages = skip ? ['javascript'] : ['javascript', 'cpp'];
  if (skip) t.diagnostic(skip);
  const read = (/** @type {string} */ file) => readFileSync(new URL(`gpt2/${file}`, recorded));
  const attn = await load({ threads: 1, models: true });
  const file = new attn.Safetensors(read('expected.safetensors'));
  const ids = Array.from(file.read('ids').data);
  const { data: logits, shape } = file.read('logits');
  const [heads, n, size] = [4, ids.length, shape[1]];
  const tokens = ids.map((id) => `t${id}`);
  const order = ids.map((_, i) => i).reverse();
  const edit = { row: 1, column: 2, value: 0.5 };
  const given = /** @type {any} */ ({
    ...{ ...noMasks, ids, tokens, layer: 1, head: 2, heads, causal: true, order, edit },
    ...{ at: n - 1, temperature: 1, topK: 0 },
  });
  const files = {
    'model.safetensors': read('model.safetensors'),
    'config.json': read('config.json'),
  };
  const description = await attn.describeModel(files);
  const facts = /** @type {any} */ ({ description, dModel: 20, numHeads: heads, numLayers: 2 });
  const pair = { other: ids.with(1, (ids[1] + 1) % size), target: ids[0] };
  const all = {
    stages: programs.stagesCode(given, facts),
    block: programs.encoderBlockCode(given, facts),
    cache: programs.decoderCacheCode(given, facts),
    query: programs.editCode({ ...given, editMatrix: 'q' }, facts),
    output: programs.editCode({ ...given, editMatrix: 'o' }, facts),
    loss: programs.lossCode(given, facts),
    next: programs.nextWordCode(given, facts),
    wall: programs.wallCode({ ...given, wallOrder: 'layer' }, facts),
    again: programs.wallCode({ ...given, wallOrder: 'induction' }, facts),
    patches: programs.compareCode({ ...given, ...pair, stage: 'residual' }, facts),
    patchedHead: programs.compareCode({ ...given, ...pair, stage: 'head' }, facts),
  };
  /** @type {Record<string, number[]>} */
  const printed = {};
  for (const [name, program] of Object.entries(all)) {
    for (const language of languages) {
      const values = (await run(language, program[language], files)).flat();
      printed[name] ??= values;
      assert.equal(values.length, printed[name].length, name);
      values.forEach((value, i) =>
        assert.ok(Math.abs(value - printed[name][i]) < 2e-5 || Number.isNaN(value), name),
      );
    }
  }
  printed.block.forEach((value, i) => assert.ok(Math.abs(value - printed.cache[i]) < 2e-5));
  // Patching the last row after the last layer restores the whole difference.
  assert.ok(Math.abs(printed.patches[3 * n - 1] - 1) < 2e-5);
  const powers = logits.subarray((n - 1) * size).map((logit) => Math.exp(logit));
  const most = Math.max(...powers) / powers.reduce((sum, power) => sum + power, 0);
  assert.ok(Math.abs(printed.next[1] - most) < 2e-5);
  let loss = 0;
  for (let i = 1; i < n; i++) {
    const row = logits.subarray((i - 1) * size, i * size);
    loss += Math.log(row.reduce((all, value) => all + Math.exp(value), 0)) - row[ids[i]];
  }
  assert.ok(Math.abs(printed.loss[0] - loss / (n - 1)) < 2e-5);
  const { data } = file.read('weights.1');
  const shares = Array.from({ length: n - 2 }, (_, i) => data[(2 * n + i + 2) * n + i + 1]);
  const share = shares.reduce((sum, value) => sum + value, 0) / shares.length;
  assert.ok(Math.abs(printed.wall[heads + 2] - share) < 2e-5);
});

for (const folder of ['t5', 'marian']) {
  test(`the programs for ${folder} print what PyTorch computed for each part of it`, async (t) => {
    const read = (/** @type {string} */ file) =>
      readFileSync(new URL(`${folder}/${file}`, recorded));
    const attn = await load({ threads: 1, models: true });
    const file = new attn.Safetensors(read('expected.safetensors'));
    const wordsOf = (/** @type {string} */ key) => {
      const ids = Array.from(file.read(key).data);
      return { ids, tokens: ids.map((id) => `t${id}`), total: ids.length };
    };
    const [source, target] = [wordsOf('ids'), wordsOf('targets')];
    const files = {
      'model.safetensors': read('model.safetensors'),
      'config.json': read('config.json'),
    };
    const { encoderLayers, decoderLayers, vocabSize } = await attn.describeEncoderDecoder(files);
    const model = await attn.loadEncoderDecoder(files);
    const { memory, intermediates } = model.encode(source.ids, {
      intermediates: ['encoder.layers.0.output'],
    });
    const name = 'decoder.layers.1.multihead_attn.head_output';
    const decoded = model.decode(target.ids, memory, {
      intermediates: ['decoder.layers.1.output', name],
    });
    const logits = file.read('logits').data.slice(-vocabSize);
    const powers = logits.map((logit) => Math.exp(logit));
    const likeliest = Math.max(...powers) / powers.reduce((sum, power) => sum + power, 0);
    const head = 1;
    const ofHead = (/** @type {import('attn').Tensor} */ { data, shape: [heads] }) =>
      data.subarray((head * data.length) / heads, ((head + 1) * data.length) / heads);
    /** @type {[string, import('../../core/sentence.js').PartName, number, ArrayLike<number>][]} */
    const all = [
      ['attentionCode', 'encoder', 1, ofHead(file.read('encoder_weights.1'))],
      ['attentionCode', 'decoder', 1, ofHead(file.read('self_weights.1'))],
      ['attentionCode', 'cross', 1, ofHead(file.read('cross_weights.1'))],
      ['stagesCode', 'cross', 1, ofHead(decoded.intermediates[name])],
      ['decoderCacheCode', 'decoder', 1, decoded.intermediates['decoder.layers.1.output'].data],
      ['encoderBlockCode', 'encoder', 0, intermediates['encoder.layers.0.output'].data],
      ['nextWordCode', 'decoder', 1, [likeliest]],
    ];
    for (const language of /** @type {const} */ (['javascript', 'cpp'])) {
      const skip = await reasonToSkip(language);
      if (skip) {
        t.diagnostic(skip);
        continue;
      }
      for (const [code, part, layer, want] of all) {
        const layers = part === 'encoder' ? encoderLayers : decoderLayers;
        const words = part === 'encoder' ? source : target;
        const given = /** @type {any} */ ({
          ...{ ...noMasks, ...words, layer, head, heads: layers[0].numHeads },
          ...{ causal: part === 'decoder', pair: { part, source, target } },
          ...{ temperature: 1, topK: 0 },
        });
        const { dModel } = layers[0];
        const facts = { description: { layers, vocabSize }, dModel };
        const program = /** @type {any} */ (programs)[code](given, facts)[language];
        const printed = (await run(language, program, files)).flat();
        const got = code === 'nextWordCode' ? [printed[1]] : printed;
        const where = `${code}, ${part}, ${language}`;
        assert.equal(got.length, want.length, where);
        got.forEach((value, i) =>
          assert.ok(Math.abs(value - want[i]) < 2e-5, `${where}, ${i}: ${value} for ${want[i]}`),
        );
      }
    }
  });
}

test('programs pass the token types of a pair of sentences', async (t) => {
  const read = (/** @type {string} */ file) => readFileSync(new URL(`bert/${file}`, recorded));
  const attn = await load({ threads: 1 });
  const file = new attn.Safetensors(read('expected.safetensors'));
  const [ids, types] = ['ids', 'token_types'].map((name) => Array.from(file.read(name).data));
  const { data, shape } = file.read('weights.1');
  const [heads, n] = shape;
  const given = /** @type {any} */ ({
    ...{ ...noMasks, ids, types, tokens: ids.map(String), layer: 1, head: 1, heads, causal: false },
  });
  const files = {
    'model.safetensors': read('model.safetensors'),
    'config.json': read('config.json'),
  };
  for (const language of /** @type {const} */ (['javascript', 'cpp'])) {
    const skip = await reasonToSkip(language);
    if (skip) {
      t.diagnostic(skip);
      continue;
    }
    const printed = (await run(language, programs.attentionCode(given)[language], files)).flat();
    printed.forEach((value, i) => {
      assert.ok(Math.abs(value - data[n * n + i]) < 2e-5, `${language}, ${i}: ${value}`);
    });
  }
  const wall = programs.wallCode(
    { ...given, wallOrder: 'layer' },
    { numHeads: heads, numLayers: 2 },
  );
  assert.match(wall.javascript, /tokenTypes: \[[01, ]+\]/);
  assert.match(wall.cpp, /\.token_types = /);
});
