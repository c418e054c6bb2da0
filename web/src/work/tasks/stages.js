import { withSentence } from '../../core/sentence.js';
import { stagesOf } from '../../core/stages.js';
import { coarse, largestMagnitude } from '../../drawing/matrix.js';
import { timed } from '../timed.js';
import { sentence } from './task.js';

/** Computes scores, scaled and masked scores, and weights of a head. */
export const stagesTask = {
  name: /** @type {const} */ ('stages'),
  reads: /** @type {const} */ ([...sentence, 'head']),
  own: true,
  /** @param {import('attn').Attn} attn @param {import('../../core/sentence.js').Given} given */
  *run(attn, given) {
    yield 0;
    const { value, milliseconds } = withSentence(attn, given, ({ x, layer, exclusion, own }) =>
      timed(() => own?.stages(given) ?? stagesOf(attn, x, layer, exclusion, given.head)),
    );
    const { scores, scaled, capped, masked, weights } = value;
    for (const matrix of [scores, scaled, ...(capped ? [capped] : []), masked, weights]) {
      yield 0;
      matrix.coarse = coarse(matrix);
      matrix.largest = largestMagnitude(matrix.data);
    }
    return { value, milliseconds };
  },
};
