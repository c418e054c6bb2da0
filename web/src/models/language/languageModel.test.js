import assert from 'node:assert/strict';
import test from 'node:test';

import { load } from 'attn';

import { smallLanguageModel } from '../../../../tests/smallLanguageModel.js';
import { candidates, chosen, LanguageModel } from './languageModel.js';

const attn = await load({ threads: 1 });
const ids = [3, 20, 7, 7, 0, 3, 20, 11];

/** @param {ArrayLike<number>} a @param {ArrayLike<number>} b @param {number} within */
function assertClose(a, b, within) {
  assert.equal(a.length, b.length);
  for (let i = 0; i < a.length; i++) {
    assert.ok(Math.abs(a[i] - b[i]) <= within, `${i}: ${a[i]} for ${b[i]}`);
  }
}

/**
 * The reference: one pass through the core's stack.
 * @param {'rotary' | 'sinusoidal'} positions
 * @param {import('attn').ExclusionOptions} exclusion
 * @param {boolean} [placed]
 */
function whole(positions, exclusion, placed = true) {
  const { bytes, config } = smallLanguageModel(attn, positions);
  const file = new attn.Safetensors(bytes);
  const { dModel, base } = config;
  const encoder = new attn.TransformerEncoder({
    ...{ dModel, numHeads: config.numHeads, numLayers: config.numLayers, activation: 'gelu' },
    ...{ dimFeedforward: config.dimFeedforward, normFirst: true, finalNorm: true },
    positions: placed && positions === 'rotary' ? { rotary: { base } } : {},
  });
  encoder.loadStateDict(file, { prefix: 'encoder.' });
  const weight = file.read('embedding.weight');
  /** @type {import('attn').Tensor} */
  let x = {
    data: Float32Array.from(
      { length: ids.length * dModel },
      (_, i) =>
        weight.data[ids[Math.floor(i / dModel)] * dModel + (i % dModel)] * Math.sqrt(dModel),
    ),
    shape: [ids.length, dModel],
  };
  if (placed && positions === 'sinusoidal') x = attn.positionalEncoding(x, { base });
  const names = ['norm1.output', 'self_attn.weights', 'resid_pre'].flatMap((name) =>
    [0, 1].map((layer) => `layers.${layer}.${name}`),
  );
  const { output, intermediates } = encoder.forward(x, {
    attention: exclusion,
    intermediates: names,
  });
  const logits = ids.map((_, row) =>
    Array.from({ length: config.vocabularySize }, (_, token) => {
      let sum = 0;
      for (let i = 0; i < dModel; i++) {
        sum += output.data[row * dModel + i] * weight.data[token * dModel + i];
      }
      return sum;
    }),
  );
  return { intermediates, logits };
}

for (const positions of /** @type {const} */ (['rotary', 'sinusoidal'])) {
  for (const [name, exclusion, placed] of /** @type {const} */ ([
    ['as it was trained', { causal: true }, true],
    ['without positions', { causal: true }, false],
    ['with other masks', { window: { left: 2, right: 2 } }, true],
  ])) {
    test(`a model with ${positions} positions matches the core’s stack, ${name}`, () => {
      const { model } = smallLanguageModel(attn, positions);
      const reading = model.read(model.embed(ids), { exclusion, positions: placed });
      const { intermediates, logits } = whole(positions, exclusion, placed);
      for (const layer of [1, 0]) {
        const x = reading.layerInput(layer);
        assertClose(x.data, intermediates[`layers.${layer}.norm1.output`].data, 1e-5);
        assertClose(
          reading.stream(layer).data,
          intermediates[`layers.${layer}.resid_pre`].data,
          2e-5,
        );
        const { weights } = model
          .attention(layer, placed)
          .forward(x, x, x, { ...exclusion, needWeights: true });
        assertClose(weights.data, intermediates[`layers.${layer}.self_attn.weights`].data, 1e-5);
      }
      assertClose(reading.logits().data, logits.flat(), 1e-4);
      assertClose(reading.logits(5).data, logits.slice(5).flat(), 1e-4);
      model.dispose();
    });
  }

  test(`writing token by token with ${positions} positions matches one pass`, () => {
    const { model } = smallLanguageModel(attn, positions);
    const { logits } = whole(positions, { causal: true });
    const writer = model.writer();
    assertClose(writer.next(ids.slice(0, 3)), logits[2], 1e-4);
    ids.slice(3).forEach((id, i) => assertClose(writer.next([id]), logits[3 + i], 1e-4));
    writer.dispose();
    model.dispose();
  });
}

test('a token’s prediction score is its log-probability given the tokens before it', () => {
  const { model } = smallLanguageModel(attn);
  const { logits } = whole('rotary', { causal: true });
  const logProbabilities = model.logProbabilities(ids);
  assertClose(
    logProbabilities,
    ids.slice(1).map((id, i) => {
      const sum = logits[i].reduce((sum, logit) => sum + Math.exp(logit), 0);
      return logits[i][id] - Math.log(sum);
    }),
    1e-4,
  );
});

test('candidates are the most probable tokens, at a temperature, and their probabilities add up to one', () => {
  const logits = Float32Array.of(1, 3, 2, 3);
  const all = candidates(logits, { temperature: 1, topK: 0 });
  assert.deepEqual(
    all.map(({ id }) => id),
    [1, 3, 2, 0],
  );
  const total = 2 * Math.exp(3) + Math.exp(2) + Math.exp(1);
  assertClose(
    all.map(({ probability }) => probability),
    [3, 3, 2, 1].map((logit) => Math.exp(logit) / total),
    1e-7,
  );
  const two = candidates(logits, { temperature: 0.5, topK: 3 });
  assert.equal(two.length, 3);
  assertClose([two[2].probability / two[0].probability], [Math.exp(-2)], 1e-7);
  assert.equal(chosen(two, 0).id, 1);
  assert.equal(chosen(two, 0.999).id, 2);
});

test('a file that is truncated or lacks the model’s description is rejected', () => {
  const { bytes } = smallLanguageModel(attn);
  assert.throws(() => new LanguageModel(attn, bytes.slice(0, 1000)));
  const silent = attn.toSafetensors({ a: { data: [1], shape: [1] } });
  assert.throws(() => new LanguageModel(attn, silent), /does not describe the model/);
});
