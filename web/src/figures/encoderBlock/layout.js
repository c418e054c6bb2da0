import { narrowLayout } from './narrowLayout.js';
import { wideLayout } from './wideLayout.js';

/**
 * Positions of the block's matrices and the lines between them, in CSS pixels. In a wide layout,
 * the block is drawn in two rows, attention above and the feed-forward network below. In a narrow
 * layout, the block is drawn from top to bottom. All matrices except the attention weights have the
 * same row height and, in a wide layout, the same column width.
 */

/** @typedef {{ x: number, y: number, width: number, height: number }} Box */

/**
 * @typedef {object} Layout
 * @property {boolean} wide
 * @property {number} width
 * @property {number} height
 * @property {Map<string, Box>} boxes boxes of the matrices, without their titles, by stage id
 * @property {{ from: string, to: string, residual: boolean, d: string }[]} lines
 * @property {{ id: string, x: number, y: number }[]} sums points where two lines meet and are added
 * @property {Box[]} names places for token names, to the left of matrices
 * @property {Box | null} free unused space below the upper row
 */

/** Minimum width of the layout in two rows. */
const wideFrom = 960;

/**
 * @param {object} given
 * @param {number} given.available available width
 * @param {number} given.length n
 * @param {number} given.heads
 * @param {boolean} given.normFirst
 * @param {number} given.hiddenFactor ratio of the hidden layer's width to E
 * @param {boolean} [given.noNorms] true if there are no norms
 * @param {boolean} [given.parallel] true if the feed-forward network reads the block's input
 * @param {number} [given.firstHead]
 * @returns {Layout}
 */
export function layOut({ firstHead = 0, ...given }) {
  const layout = given.available >= wideFrom ? wideLayout(given) : narrowLayout(given);
  const isHead = /^weights(\d+)$/;
  const named = (/** @type {string} */ id) =>
    id.replace(isHead, (_, head) => `weights${Number(head) + firstHead}`);
  return {
    ...layout,
    boxes: new Map([...layout.boxes].map(([id, box]) => [named(id), box])),
    lines: layout.lines.map((line) => ({ ...line, from: named(line.from), to: named(line.to) })),
  };
}
