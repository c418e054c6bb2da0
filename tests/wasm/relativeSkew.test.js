import { test } from 'node:test';

import { assertClose, assertThrows } from './compare.js';
import { everyVariant } from './everyVariant.js';
import { Random } from './random.js';
import { relative } from './reference.js';

await everyVariant('relativeSkew', (attn) => {
  const random = new Random();
  const query = random.tensor(2, 3, 4, 6);

  for (const bidirectional of [false, true]) {
    for (const apart of [false, true]) {
      const name = `${bidirectional ? 'bidirectional' : 'causal'}${apart ? '_of_each_head' : ''}`;
      test(`${name}_agrees_with_the_reference`, () => {
        const rows = bidirectional ? 9 : 5;
        const embeddings = apart ? random.tensor(3, rows, 6) : random.tensor(rows, 6);
        const table = bidirectional ? embeddings : attn.relativeKeysOfSkew(embeddings);
        const expected = new Float64Array(2 * 3 * 4 * 4);
        for (let at = 0; at < expected.length; ++at) {
          const [j, i] = [at % 4, Math.floor(at / 4) % 4];
          const row = Math.floor(at / 4);
          const h = Math.floor(row / 4) % 3;
          for (let d = 0; d < 6; ++d) {
            expected[at] += 0.5 * query.data[row * 6 + d] * relative(table, h, j - i, d);
          }
        }
        const options = { bidirectional, scale: 0.5 };
        assertClose(attn.relativeSkew(query, embeddings, options), [2, 3, 4, 4], expected, 1e-6);
      });
    }
  }

  test('relative_keys_have_zeros_for_keys_after_the_query', () => {
    const table = attn.relativeKeysOfSkew({ data: [1, 2, 3, 4], shape: [2, 2] });
    assertClose(table, [3, 2], [1, 2, 3, 4, 0, 0], 0);
  });

  test('errors_name_the_argument', () => {
    assertThrows(
      () => attn.relativeSkew(query, random.tensor(3, 6)),
      'shape_mismatch',
      /^embeddings: /,
    );
  });
});
