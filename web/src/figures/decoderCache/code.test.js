import assert from 'node:assert/strict';
import test from 'node:test';

import { load } from 'attn';

import { reasonToSkip, run } from '../../../../tests/programs.js';
import { Decoder } from '../../core/decode.js';
import { encoderLayer } from '../../core/layer.js';
import { decoderCacheCode } from './code.js';

const tokens = ['man', 'bites', 'dog', 'bites', 'man'];
const settings = /** @type {any} */ ({
  tokens,
  ...{ dModel: 16, heads: 2, seed: 3, base: 100, weights: 'xavier', norm: 'pre' },
  ...{ encoding: 'sinusoidal', causal: false, window: 0, validLen: 0, blocked: [] },
});

for (const language of /** @type {const} */ (['python', 'cpp', 'javascript'])) {
  const skip = await reasonToSkip(language);
  test(`the ${language} program prints the decoded output`, { skip }, async () => {
    const attn = await load({ threads: 1 });
    const x = attn.positionalEncoding(attn.ngramEmbedding(tokens, { dModel: 16 }), { base: 100 });
    const { output } = new Decoder(encoderLayer(attn, { ...settings, normFirst: true })).decode(x);
    const printed = (await run(language, decoderCacheCode(settings, null)[language])).flat();
    assert.equal(printed.length, output.data.length);
    printed.forEach((value, i) =>
      assert.ok(Math.abs(value - output.data[i]) < 1e-5, `${i}: ${value}`),
    );
  });
}

test('the Python program states that it has no cache', () => {
  assert.match(decoderCacheCode(settings, null).python, /PyTorch's layer has no cache/);
});
