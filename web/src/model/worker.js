// What is computed for long sentences, off the page's thread.

import { serve } from 'attn/worker/serve';

import { mostLines, strongestArcs } from '../figures/attention/arcs.js';
import { headStatistics } from '../figures/attention/statistics.js';
import { editOf, effectOf, projectionOf } from '../figures/edit/edit.js';
import { orderEffects } from '../figures/shuffle/effects.js';
import { stagesOf } from '../figures/stages/stages.js';
import { coarse, largestMagnitude, matrixOf } from '../drawing/matrix.js';
import { withSentence } from './sentence.js';
import { orderOf } from './shuffle.js';
import { timed } from './timed.js';

/** @typedef {import('attn').Attn} Attn */
/** @typedef {import('../drawing/matrix.js').Matrix} Matrix */
/** @typedef {import('./sentence.js').Given} Given */

/**
 * What is drawn of a head, and would take too long to find out on the page's thread.
 * @typedef {object} Survey
 * @property {Matrix} [coarse]
 * @property {Matrix} [small]
 * @property {import('../figures/attention/arcs.js').Arc[]} arcs the strongest
 * @property {import('../figures/attention/statistics.js').HeadStatistics} statistics
 */

/** Cells along a side of the small picture of a head. */
const thumbnail = 128;

/**
 * Each yields before it begins, so that one that is no longer wanted never does.
 */
export const tasks = {
  /**
   * Holds a lock as long as the worker lives.
   * @param {Attn} _ @param {string} lock
   * @returns {Promise<void>}
   */
  hold: (_, lock) =>
    new Promise((held, failed) => {
      const holding = navigator.locks.request(lock, () => {
        held();
        return new Promise(() => {});
      });
      holding.catch(failed);
    }),

  /** @param {Attn} attn @param {Given} given */
  *attention(attn, given) {
    yield 0;
    const { value, milliseconds } = withSentence(attn, given, ({ x, layer, exclusion }) =>
      timed(() => layer.forward(x, x, x, { ...exclusion, needWeights: true })),
    );
    const weights = /** @type {import('attn').Tensor} */ (value.weights);
    const heads = [];
    let largest = 0;
    for (let head = 0; head < given.heads; head++) {
      yield 0;
      const matrix = matrixOf(weights, head);
      heads.push({
        ...{ coarse: coarse(matrix), small: coarse(matrix, thumbnail) },
        arcs: strongestArcs(matrix, null, mostLines),
        statistics: headStatistics(weights, head),
      });
      largest = Math.max(largest, largestMagnitude(matrix.data));
    }
    return { value: { output: value.output, weights, heads, largest }, milliseconds };
  },

  /** @param {Attn} attn @param {Given} given */
  *stages(attn, given) {
    yield 0;
    const { value, milliseconds } = withSentence(attn, given, ({ x, layer, exclusion }) =>
      timed(() => stagesOf(attn, x, layer, exclusion, given.head)),
    );
    const { scores, scaled, masked, weights } = value;
    for (const matrix of [scores, scaled, masked, weights]) {
      yield 0;
      matrix.coarse = coarse(matrix);
      matrix.largest = largestMagnitude(matrix.data);
    }
    return { value, milliseconds };
  },

  /** @param {Attn} attn @param {Given} given */
  *edit(attn, given) {
    yield 0;
    const { value, milliseconds } = withSentence(attn, given, ({ x, layer, exclusion }) =>
      timed(() => {
        const which = given.editMatrix;
        const edit = { which, ...editOf(projectionOf(layer, which), given) };
        return effectOf(attn, layer, edit, x, exclusion, given.head);
      }),
    );
    yield 0;
    const { weights } = value;
    weights.coarse = coarse(weights);
    weights.largest = largestMagnitude(weights.data);
    return { value, milliseconds };
  },

  /** @param {Attn} attn @param {Given} given */
  *shuffle(attn, given) {
    yield 0;
    return withSentence(attn, given, ({ embedding, layer, exclusion }) =>
      timed(() => {
        const order = orderOf(given.tokens.length, given);
        return orderEffects(attn, layer, embedding, exclusion, { base: given.base, order });
      }),
    );
  },
};

serve(tasks);
