// Compares layers of all kinds of models with values recorded from PyTorch; see
// tests/native/models/recorded/record.py.

import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import test from 'node:test';

import { load } from 'attn';

import { Block } from '../../core/block.js';
import { explain } from '../../core/explain.js';
import { finish } from '../../core/finish.js';
import { encoderFlow } from '../../core/flow.js';
import { editedBy } from './ownEdit.js';
import { addedPlaces, lossesOf, orderedBy } from './ownOrder.js';
import { howOf, stagesOf } from './ownStages.js';

/** @import { LanguageModel, Tensor } from 'attn' */

const attn = await load({ threads: 1, models: true });
const recorded = new URL('../../../../tests/native/models/recorded/', import.meta.url);

/** @param {string} name */
async function recordedModel(name) {
  const at = (/** @type {string} */ file) => {
    const own = new URL(`${name}/${file}`, recorded);
    // Variants of Llama have their own configuration and share Llama's weights.
    return existsSync(own) || !name.startsWith('llama') ? own : new URL(`llama/${file}`, recorded);
  };
  const files = Object.fromEntries(
    [
      ...['model.safetensors', 'config.json', 'model.safetensors.index.json'],
      ...[1, 2].map((part) => `model-0000${part}-of-00002.safetensors`),
    ].flatMap((file) => (existsSync(at(file)) ? [[file, readFileSync(at(file))]] : [])),
  );
  const expected = new attn.Safetensors(readFileSync(at('expected.safetensors')));
  const model = await attn.loadModel(files);
  const ids = Array.from(expected.read('ids').data);
  const streams = model.description.layers.map((_, layer) => `encoder.layers.${layer}.resid_pre`);
  const { intermediates } = model.forward(ids, { intermediates: streams, needLogits: false });
  return { model, expected, ids, streams: streams.map((stream) => intermediates[stream]) };
}

/** @param {LanguageModel} model @param {number} at */
const blockOf = (model, at) =>
  new Block(/** @type {any} */ (model.layers[at]), model.description.layers[at], {
    parameter: (name) => model.parameter(`encoder.layers.${at}.${name}`),
  });

/** @param {ArrayLike<number>} got @param {ArrayLike<number>} want @param {string} where */
function near(got, want, where, tolerance = 2e-5) {
  assert.equal(got.length, want.length, where);
  for (let i = 0; i < got.length; i++) {
    assert.ok(Math.abs(got[i] - want[i]) <= tolerance, `${where}, ${i}: ${got[i]}, ${want[i]}`);
  }
}

/** The masks of a layer. @param {LanguageModel} model @param {number} layer */
function masksOf({ description: { causal, layers } }, layer) {
  const { windowLeft } = layers[layer];
  return {
    ...(causal ? { causal } : {}),
    ...(windowLeft === undefined ? {} : { window: { left: windowLeft } }),
  };
}

const families = [
  ...['gpt_neox', 'gpt_neox_sequential', 'gpt_neo', 'opt', 'opt_projected'],
  ...['gpt2', 'roberta', 'distilbert', 'llama', 'llama_yarn', 'qwen2', 'qwen3', 'gemma', 'gemma2'],
  ...['gemma3', 'gpt_oss_dense', 'olmo2'],
];

for (const name of families) {
  test(`the stages of each head end in the recorded weights, ${name}`, async () => {
    const { model, expected, ids, streams } = await recordedModel(name);
    const names = ['q', 'k', 'v', 'head_output', 'output'];
    model.description.layers.forEach((layer, at) => {
      const { intermediates } = model.layers[at].forward(streams[at], {
        attention: masksOf(model, at),
        intermediates: names.map((each) => `self_attn.${each}`),
      });
      const shown = /** @type {any} */ (
        Object.fromEntries(names.map((each) => [each, intermediates[`self_attn.${each}`]]))
      );
      const { data } = expected.read(`weights.${at}`);
      const n = ids.length;
      for (let head = 0; head < layer.numHeads; head++) {
        const how = howOf(model, { layer: at, head, length: n });
        const { weights, attended, output } = stagesOf(
          ...[attn, shown, layer, how, head, masksOf(model, at)],
        );
        near(weights.data, data.subarray(head * n * n, (head + 1) * n * n), `${at}.${head}`);
        // The terms in the explanation of an output add up to the output.
        const { weight, bias } = /** @type {any} */ (how.projections.o);
        const width = attended.columns;
        const sum = attended.data
          .subarray(0, width)
          .reduce((all, value, i) => all + value * weight.data[width + i], bias?.[1] ?? 0);
        near([sum], [output.data[1]], 'output');
      }
    });
    model.dispose();
  });

  test(`the matrices of a block follow from each other as explained, ${name}`, async () => {
    const { model, ids, streams } = await recordedModel(name);
    const { layers, causal } = model.description;
    const layer = layers[1];
    const block = blockOf(model, 1);
    const run = block.forward(streams[1], { causal });
    if (layer.normFirst) near(run.stages.sum2.data, streams[2]?.data ?? run.stages.sum2.data, 'Y');
    const parameters = block.parameters();
    const how = {
      ...{ depth: layer.headDim, shared: layer.numHeads / layer.numKvHeads },
      ...{ normalises: layer.qkNorm, meanSquare: layer.rmsNorm, epsilon: layer.normEps },
      ...{ aroundOne: layer.zeroCentredNorm },
      turn: howOf(model, { layer: 1, head: 0, length: ids.length }).turn,
    };
    const variation = {
      ...{ noNorms: layer.normOutputs && !layer.normFirst, gated: layer.gatedFeedForward },
      ...{ normsOutputs: layer.normOutputs, parallel: layer.parallelResidual },
    };
    const flow = encoderFlow(layer.normFirst, layer.numHeads, 'GELU', variation);
    for (const stage of flow) {
      const { data, shape } = run.stages[stage.id];
      const cell = { row: shape[0] - 1, column: shape[1] - 1 };
      const value = data[data.length - 1];
      const { terms, operands, bias = 0, factor = 1 } = explain(stage, cell, run, parameters, how);
      const sum = terms.reduce((all, [a, b]) => all + a * b, bias);
      const where = `${name}, ${stage.id}`;
      if (stage.kind === 'sum') near([operands[0] + operands[1]], [value], where);
      if (stage.kind === 'mix') near([sum], [value], where);
      if (stage.kind === 'norm') {
        const [from, mean, deviation] = operands;
        near([((from - mean) / deviation) * factor + bias], [value], where);
      }
      if (stage.kind === 'product' && stage.id !== 'hidden' && terms.length) {
        near([sum], [value], where, 1e-4);
      }
    }
    model.dispose();
  });

  test(`a change of a projection is undone, ${name}`, async () => {
    const { model, ids, streams } = await recordedModel(name);
    const before = model.forward(ids, { needLogits: false, needHidden: true }).hidden;
    const run = () => {
      const { weights, intermediates } = model.layers[0].forward(streams[0], {
        attention: { needWeights: true },
        intermediates: ['self_attn.output'],
      });
      return { weights, output: intermediates['self_attn.output'] };
    };
    for (const editMatrix of /** @type {const} */ (['q', 'k', 'v', 'o'])) {
      const given = { layer: 0, head: 1, editMatrix, editCell: { row: 1, column: 2 }, editBy: 1 };
      const { projection, edit, output } = editedBy(model, given, run);
      const [, columns] = projection.shape;
      assert.equal(edit.original, projection.data[columns + 2]);
      assert.equal(edit.value, Math.fround(edit.original + 1));
      assert.ok(output.data.some((value) => Math.abs(value) > 1e-4));
    }
    assert.deepEqual(
      model.forward(ids, { needLogits: false, needHidden: true }).hidden.data,
      before.data,
    );
    model.dispose();
  });

  test(`order matters only with positions, ${name}`, async () => {
    const { model, ids } = await recordedModel(name);
    const order = ids.map((_, i) => (i + 3) % ids.length);
    const { without, with: placed } = orderedBy(attn, model, { ids, causal: false, order });
    assert.ok(without.largest < 2e-5, `${without.largest}`);
    const has = addedPlaces(attn, model, 1) ?? model.rotaryFrequencies(0);
    assert.ok(!has || placed.largest > 1e-3, `${placed.largest}`);
    model.dispose();
  });
}

test('the loss follows from the recorded logits', async () => {
  for (const name of ['gpt2', 'llama']) {
    const { model, expected, ids } = await recordedModel(name);
    const { data, shape } = expected.read('logits');
    const size = shape[1];
    let sum = 0;
    for (let i = 1; i < ids.length; i++) {
      const row = data.subarray((i - 1) * size, i * size);
      sum += Math.log(row.reduce((all, value) => all + Math.exp(value), 0)) - row[ids[i]];
    }
    const order = ids.map((_, i) => i).reverse();
    const { losses, length } = finish(lossesOf(attn, model, { ids, order }));
    near([losses[0]], [sum / (ids.length - 1)], name);
    assert.equal(losses.length, name === 'gpt2' ? 3 : 2);
    assert.equal(length, ids.length);
    model.dispose();
  }
});

test('running a layer token by token matches one pass, also with shared keys', async () => {
  for (const name of ['gpt2', 'llama', 'gemma2']) {
    const { model, streams } = await recordedModel(name);
    for (const at of [1, 0]) {
      const { differences, keys } = blockOf(model, at).decode(streams[at]);
      const { numKvHeads, headDim } = model.description.layers[at];
      assert.equal(keys.shape[1], numKvHeads * headDim);
      assert.ok(differences[differences.length - 1] < 1e-5, name);
    }
  }
});
