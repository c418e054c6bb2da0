// The programs for a head of a reader's model print what PyTorch recorded of it.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';

import { load } from 'attn';

import { reasonToSkip, run } from '../../../../tests/programs.js';
import { ownAttentionCode } from './ownCode.js';

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
      const given = {
        ids,
        tokens: ids.map((id) => `t${id}\\`),
        layer: 1,
        head,
        heads,
        causal: name !== 'roberta',
      };
      const program = ownAttentionCode(given)[language];
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
