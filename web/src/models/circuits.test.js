// Compares the circuits of heads with a computation in double precision that shares no code with them.

import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import test from 'node:test';

import { load } from 'attn';

import { smallLanguageModel } from '../../../tests/smallLanguageModel.js';
import { finish } from '../core/finish.js';
import { matches } from './circuits.js';
import { LanguageModel } from './language/languageModel.js';
import { Pages } from './language/pages.js';
import { aroundOf, ownCircuits } from './own/circuits.js';

const attn = await load({ threads: 1, models: true });
const root = new URL('../../../', import.meta.url);

/** @typedef {(name: string) => import('attn').Tensor} Read reads a parameter of the model */

/** @param {ArrayLike<number>} a @param {ArrayLike<number>} b */
const dot = (a, b) => Array.from(a).reduce((sum, value, i) => sum + value * b[i], 0);
/** @param {import('attn').Tensor} matrix @param {number} i */
const rowOf = ({ data, shape: [, width] }, i) => Array.from(data.slice(i * width, (i + 1) * width));

/**
 * @typedef {object} Exact
 * @property {Read} read
 * @property {boolean} rms
 * @property {boolean} [aroundOne] whether norms multiply by 1 + weight
 * @property {number} eps
 * @property {number} heads
 * @property {number} kvHeads
 * @property {number} depth
 * @property {number} scale
 * @property {number} factor factor of the embedding
 * @property {(position: number) => number[] | null} added
 * @property {number[]} [frequencies] radians per position of each rotated pair
 * @property {string} output name of the output layer's weight
 */

/**
 * The scores and the promoted logits of a head, in double precision.
 * @param {Exact} model
 * @param {{ token: number, layer: number, head: number, query: number, key: number }} given
 */
function exact(model, { token, layer, head, query, key }) {
  const { read, heads, kvHeads, depth, frequencies = [] } = model;
  /** @param {number[]} x @param {string} path */
  const norm = (x, path, biased = true) => {
    const mean = model.rms ? 0 : x.reduce((a, b) => a + b, 0) / x.length;
    const variance = x.reduce((sum, value) => sum + (value - mean) ** 2, 0) / x.length;
    const weight = read(`${path}.weight`).data;
    const bias = model.rms || !biased ? null : read(`${path}.bias`).data;
    return x.map(
      (value, i) =>
        ((value - mean) / Math.sqrt(variance + model.eps)) *
          (weight[i] + (model.aroundOne ? 1 : 0)) +
        (bias?.[i] ?? 0),
    );
  };
  const at = `encoder.layers.${layer}.`;
  const kv = Math.floor(head / (heads / kvHeads));
  /** @param {number[]} x @param {'q' | 'k' | 'v'} which @param {boolean} biased */
  const project = (x, which, biased) => {
    const joined = heads === kvHeads;
    const weight = read(`${at}self_attn.${joined ? 'in_proj' : `${which}_proj`}_weight`);
    const number = { q: head, k: kv, v: kv }[which];
    const before = { q: 0, k: heads, v: heads + kvHeads }[which];
    const bias = biased && model.rms === false ? read(`${at}self_attn.in_proj_bias`).data : null;
    return Array.from({ length: depth }, (_, d) => {
      const own = number * depth + d;
      const sum = dot(rowOf(weight, joined ? before * depth + own : own), x);
      return sum + (bias?.[before * depth + own] ?? 0);
    });
  };
  /** Rotates columns i and i + half together. @param {number[]} y @param {number} position */
  const turned = (y, position) => {
    const half = frequencies.length;
    const result = [...y];
    frequencies.forEach((frequency, i) => {
      const [cos, sin] = [Math.cos(position * frequency), Math.sin(position * frequency)];
      result[i] = y[i] * cos - y[i + half] * sin;
      result[i + half] = y[i + half] * cos + y[i] * sin;
    });
    return result;
  };
  const table = read('embedding.weight');
  /** @param {number} id @param {number} position */
  const rowAt = (id, position) => {
    const added = model.added(position);
    const row = rowOf(table, id).map((value, i) => model.factor * value + (added?.[i] ?? 0));
    return norm(row, `${at}norm1`);
  };
  const row = rowAt(token, query);
  const q = turned(project(row, 'q', true), query);
  const scores = Array.from({ length: table.shape[0] }, (_, id) => {
    const k = turned(project(rowAt(id, key), 'k', true), key);
    return dot(q, k) * model.scale;
  });
  const value = project(row, 'v', false);
  const out = read(`${at}self_attn.out_proj.weight`);
  const written = row.map((_, e) =>
    dot(rowOf(out, e).slice(head * depth, (head + 1) * depth), value),
  );
  const last = norm(written, 'encoder.norm', false);
  const output = read(model.output);
  const promoted = scores.map((_, id) => dot(rowOf(output, id), last));
  return { matches: scores, promotes: promoted };
}

/**
 * @param {import('./model.js').CircuitsAnswer} got
 * @param {ReturnType<typeof exact>} want
 * @param {number} drawn
 */
function compare(got, want, drawn) {
  for (const which of /** @type {const} */ (['matches', 'promotes'])) {
    const values = want[which];
    const largest = Math.max(...values.map(Math.abs));
    const lists = got[which];
    assert.ok(lists);
    const ascending = values.toSorted((a, b) => a - b);
    for (const [name, sorted] of /** @type {const} */ ([
      ['most', ascending.toReversed()],
      ['least', ascending],
    ])) {
      assert.equal(lists[name].length, Math.min(drawn, values.length));
      lists[name].forEach(({ id, value }, i) => {
        const where = `${which}, ${name}, ${i}`;
        assert.ok(
          Math.abs(value - values[id]) <= 2e-5 * largest,
          `${where}: ${value}, ${values[id]}`,
        );
        assert.ok(
          Math.abs(value - sorted[i]) <= 2e-5 * largest,
          `${where}: ${value}, ${sorted[i]}`,
        );
      });
    }
  }
}

/** @param {import('./language/languageModel.js').Config} config @param {Read} read @returns {Exact} */
const pageModel = ({ dModel, numHeads: heads, positions, base, scaleBySqrtDim }, read) => {
  const depth = dModel / heads;
  const isRotary = positions === 'rotary';
  return {
    ...{ read, heads, kvHeads: heads, depth, rms: false, eps: 1e-5, scale: depth ** -0.5 },
    factor: scaleBySqrtDim ? Math.sqrt(dModel) : 1,
    output: 'embedding.weight',
    added: (position) =>
      isRotary
        ? null
        : Array.from({ length: dModel }, (_, i) => {
            const angle = position / base ** ((i - (i % 2)) / dModel);
            return i % 2 ? Math.cos(angle) : Math.sin(angle);
          }),
    frequencies: isRotary
      ? Array.from({ length: depth / 2 }, (_, i) => base ** ((-2 * i) / depth))
      : [],
  };
};

/** @param {Uint8Array} bytes @param {LanguageModel} model */
function checkPages(bytes, model) {
  const file = new attn.Safetensors(bytes);
  const known = new Map();
  const read = (/** @type {string} */ name) => {
    if (!known.has(name)) known.set(name, file.read(name));
    return known.get(name);
  };
  const pages = new Pages(attn, model, /** @type {any} */ ({ label: String }));
  const { numLayers: layers, numHeads: heads } = model.config;
  for (const [layer, head] of [
    [0, 0],
    [layers - 1, heads - 1],
  ]) {
    const given = { token: 7, layer, head, query: 5, key: 2 };
    const got = finish(pages.circuits({ ...given, encoding: 'sinusoidal', drawn: 10 }));
    compare(got, exact(pageModel(model.config, read), given), 10);
  }
  file.dispose();
  model.dispose();
}

for (const positions of /** @type {const} */ (['rotary', 'sinusoidal'])) {
  test(`circuits match exact scores, small model, ${positions}`, () => {
    const { bytes, model } = smallLanguageModel(attn, positions);
    checkPages(bytes, model);
  });
}

const pageFile = new URL('web/languageModel/model.safetensors', root);
test(
  'circuits match exact scores, language model of the page',
  { skip: !existsSync(pageFile) },
  () => {
    const bytes = readFileSync(pageFile);
    checkPages(bytes, new LanguageModel(attn, bytes));
  },
);

/** @param {string} name */
async function recordedModel(name) {
  const at = (/** @type {string} */ file) => {
    const recorded = new URL('tests/native/models/recorded/', root);
    const own = new URL(`${name}/${file}`, recorded);
    // Variants of Llama have their own configuration and share Llama's weights.
    return existsSync(own) || !name.startsWith('llama') ? own : new URL(`llama/${file}`, recorded);
  };
  const files = [
    ...['model.safetensors', 'config.json', 'model.safetensors.index.json'],
    ...[1, 2].map((part) => `model-0000${part}-of-00002.safetensors`),
  ].filter((file) => existsSync(at(file)));
  return attn.loadModel(Object.fromEntries(files.map((file) => [file, readFileSync(at(file))])));
}

/** @type {Record<string, Partial<Exact>>} */
const families = {
  llama_none: { rms: true },
  gemma: { rms: true, aroundOne: true },
  gpt2: { rms: false },
};
for (const [name, differs] of Object.entries(families)) {
  test(`circuits match exact scores, model of a reader, ${name}`, async () => {
    const model = await recordedModel(name);
    const { layers, maxPositions, tied } = model.description;
    const [
      { headDim: depth, dModel, numHeads: heads, numKvHeads: kvHeads, scale, normEps, rotaryBase },
    ] = layers;
    assert.ok(name !== 'llama_none' || kvHeads < heads);
    const read = (/** @type {string} */ each) => model.parameter(each);
    /** @type {Exact} */
    const all = {
      ...{ read, rms: true, eps: normEps, heads, kvHeads, depth },
      scale: scale ?? depth ** -0.5,
      factor: name === 'gemma' ? Math.sqrt(dModel) : 1,
      output: tied ? 'embedding.weight' : 'output.weight',
      added: (position) => (maxPositions ? rowOf(read('positions.weight'), position) : null),
      frequencies: rotaryBase
        ? Array.from({ length: depth / 2 }, (_, i) => rotaryBase ** ((-2 * i) / depth))
        : [],
      ...differs,
    };
    for (const [layer, head] of [
      [0, 0],
      [layers.length - 1, heads - 1],
    ]) {
      const given = { token: 7, layer, head, query: 5, key: 2, encoding: '', drawn: 10 };
      compare(finish(ownCircuits(attn, model, given, String)), exact(all, given), 10);
    }
    model.dispose();
  });
}

for (const name of [
  ...['gpt_neo', 'gpt_neox', 'opt', 'llama', 'llama_yarn', 'qwen2', 'qwen3', 'gemma2'],
  ...['gemma3', 'gpt_oss_dense'],
]) {
  test(`the scores of a circuit are the scores of the layer itself, ${name}`, async () => {
    const model = await recordedModel(name);
    const { layers, vocabSize } = model.description;
    const layer = layers.length - 1;
    const { numHeads, softcap, windowLeft = Infinity } = layers[layer];
    const [token, head, query, key] = [7, numHeads - 1, 5, 2];
    const around = aroundOf(attn, model, { token, layer, query }, String);
    const row = around.rows(token, token + 1, query);
    const scores = finish(matches(attn, around, { row, head, query, key }));
    assert.equal(scores.length, vocabSize);
    const stage = softcap ? 'cappedScores' : 'scaledScores';
    for (const id of [0, 3, vocabSize - 1]) {
      const { data } = around.rows(id, id + 1, key);
      const both = { data: Float32Array.of(...data, ...row.data), shape: [2, data.length] };
      const got = around.layer.forward(both, {
        attention: { needScaledScores: true, needCappedScores: true },
        ...(around.turned ? { positions: [key, query] } : {}),
      });
      assert.ok(windowLeft > 0);
      const want = got[stage].data[head * 4 + 2];
      assert.ok(
        Math.abs(scores[id] - want) < 1e-5 * (1 + Math.abs(want)),
        `${scores[id]}, ${want}`,
      );
    }
    model.dispose();
  });
}
