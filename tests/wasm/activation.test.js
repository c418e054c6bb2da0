import { test } from 'node:test';

import { assertClose, assertThrows } from './compare.js';
import { everyVariant } from './everyVariant.js';
import { activations } from './reference.js';

/** @import { Activation } from 'attn' */

await everyVariant('applyActivation', (attn) => {
  const x = { data: Float32Array.from({ length: 96 }, (_, i) => (i - 48) / 12), shape: [2, 4, 12] };

  const names = /** @type {Activation[]} */ (Object.keys(activations));
  for (const activation of names) {
    test(`${activation}_agrees_with_the_reference`, () => {
      const expected = Array.from(x.data, activations[activation]);
      assertClose(attn.applyActivation(x, activation), [2, 4, 12], expected, 2e-6);
    });
  }

  test('errors_name_the_argument', () => {
    assertThrows(
      // @ts-expect-error: the test passes wrong arguments
      () => attn.applyActivation(x, 'swish'),
      'invalid_argument',
      `activation: got 'swish', needs '${names.slice(0, -1).join("', '")}' or '${names.at(-1)}'`,
    );
  });
});
