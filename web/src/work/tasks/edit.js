import { editOf, effectOf, projectionOf } from '../../core/edit.js';
import { turnsBy, withSentence } from '../../core/sentence.js';
import { coarse, largestMagnitude } from '../../drawing/matrix.js';
import { timed } from '../timed.js';
import { sentence } from './task.js';

/** Computes the effect of changing one number in a projection. */
export const editTask = {
  name: /** @type {const} */ ('edit'),
  reads: /** @type {const} */ ([...sentence, 'head', 'editMatrix', 'editCell', 'editBy']),
  own: true,
  /** @param {import('attn').Attn} attn @param {import('../../core/sentence.js').Given} given */
  *run(attn, given) {
    yield 0;
    const { value, milliseconds } = withSentence(attn, given, ({ x, layer, exclusion, own }) =>
      timed(() => {
        if (own) return own.edit(given);
        const which = given.editMatrix;
        const edit = editOf(projectionOf(layer, which), given);
        return effectOf(
          attn,
          layer,
          { which, ...edit, base: turnsBy(given) },
          x,
          exclusion,
          given.head,
        );
      }),
    );
    yield 0;
    const { weights } = value;
    weights.coarse = coarse(weights);
    weights.largest = largestMagnitude(weights.data);
    return { value, milliseconds };
  },
};
