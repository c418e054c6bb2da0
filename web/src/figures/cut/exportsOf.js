import * as texts from '../../texts/figures/changes.js';

/** @param {import('../../models/model.js').Likely[]} likely */
const listed = (likely) => ({
  data: Float32Array.from(likely, ({ probability }) => probability),
  shape: [likely.length, 1],
  names: texts.exported,
  rowNames: likely.map(({ label }) => label),
});

/**
 * The numbers of a figure that shows predictions without and with changes.
 * @param {import('../../models/model.js').ChangeAnswer} answer
 * @param {string[]} tokens
 */
export const exportsOf = ({ before, after, moved }, tokens) => ({
  before: listed(before),
  after: listed(after),
  moved: {
    data: Float32Array.from(moved.flatMap(({ divergence, change }) => [divergence, change ?? NaN])),
    shape: [moved.length, 2],
    names: texts.exportedMoves,
    rowNames: tokens,
  },
});
