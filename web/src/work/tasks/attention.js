import { mostLines, strongestArcs } from '../../core/arcs.js';
import { headStatistics } from '../../core/statistics.js';
import { coarse, largestMagnitude, matrixOf } from '../../drawing/matrix.js';
import { timed } from '../timed.js';
import { withSentence } from './here.js';
import { sentence } from './task.js';

/** @typedef {import('../../drawing/matrix.js').Matrix} Matrix */

/**
 * Data for drawing a head that would take too long to compute on the page's thread.
 * @typedef {object} Survey
 * @property {Matrix} [coarse]
 * @property {Matrix} [small]
 * @property {import('../../core/arcs.js').Arc[]} arcs the strongest arcs
 * @property {import('../../core/statistics.js').HeadStatistics} statistics
 */

/** Number of cells along each side of a head's small picture. */
const thumbnail = 128;

/** Computes the layer's output and weights, and the drawing data of each head. */
export const attentionTask = {
  name: /** @type {const} */ ('attention'),
  reads: sentence,
  /** @param {import('../../models/model.js').Sentence} sentence */
  compute: (sentence) => sentence.attend(),
  /** @param {import('attn').Attn} attn @param {import('../../core/sentence.js').Given} given */
  *run(attn, given) {
    yield 0;
    const { value, milliseconds } = withSentence(attn, given, (sentence) =>
      timed(() => sentence.attend()),
    );
    const { output, weights } = value;
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
    return { value: { output, weights, heads, largest }, milliseconds };
  },
};
