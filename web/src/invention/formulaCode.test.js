import assert from 'node:assert/strict';
import test, { before } from 'node:test';

import { load } from 'attn';

import { reasonToSkip, run } from '../../../tests/programs.js';
import { inventedPrograms } from '../figures/schemes/inventCode.js';
import { examples } from './examples.js';
import { Invention } from './invention.js';

/** @type {import('attn').Attn} */
let attn;
before(async () => (attn = await load({ threads: 1 })));

const tokens = ['the', 'cat', 'sat', 'on', 'the', 'mat'];
const [n, dModel] = [tokens.length, 32];

/** @param {import('./invention.js').Written} written @param {boolean} causal */
function expectedOf(written, causal) {
  const invention = new Invention(written);
  const x = attn.ngramEmbedding(tokens, { dModel });
  const [added, bias] = [invention.added(n, dModel), invention.bias(n, 1, dModel)];
  const data = Float32Array.from(x.data, (value, i) => value + (added?.data[i] ?? 0));
  const encoded = { data, shape: [n, dModel] };
  const { weights } = attn.scaledDotProductAttention(encoded, encoded, encoded, {
    ...{ causal, needWeights: true },
    ...(bias && { bias: { data: bias.data, shape: [n, n] } }),
  });
  return weights.data;
}

const others = {
  'every function': {
    added:
      '(i > 2 && !(k == 1) || i != k ? max(i, k, 2) - min(i, 3) : -round(i / 2) % 3) / 9 + sign(i - 2) * abs(trunc(-1.5)) + (i <= k) + atan2(i, 1 + k) + log2(i + 1) - log10(i + 1) + sqrt(i) + e - ceil(i / 3) + tanh(i) + pi * sinh(0) + n / d',
    bias: 'random(i, j) - cosh(h) + mod(i - j, 3) - a * tan(i / 9) + exp(-abs(i - j)) + acos(i / n)',
    parameters: [{ name: 'a', value: 0.5, min: 0, max: 1 }],
  },
};

for (const language of /** @type {const} */ (['javascript', 'cpp', 'python'])) {
  const skip = await reasonToSkip(language);
  const all = /** @type {Record<string, import('./invention.js').Written>} */ ({
    ...others,
    ...(language === 'cpp' ? {} : examples),
  });
  for (const [name, written] of Object.entries(all)) {
    test(`the ${language} program uses the tables of ${name}`, { skip }, async () => {
      const causal = name !== 'sinusoid';
      const { [language]: text = '' } = inventedPrograms(written, { tokens, dModel, causal });
      const printed = await run(language, text);
      const expected = expectedOf(written, causal);
      assert.equal(printed.flat().length, n * n);
      printed
        .flat()
        .forEach((value, i) => assert.ok(Math.abs(value - expected[i]) < 2e-6, `${i}: ${value}`));
    });
  }
}
