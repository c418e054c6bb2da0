/** @typedef {import('./layout.js').Box} Box */

/**
 * Position and size, in CSS pixels, of a region in the picture of a matrix.
 * @param {import('../../core/flow.js').Region} region
 * @param {{ rows: number, columns: number }} matrix
 * @param {Box} box the matrix's picture
 * @returns {Box}
 */
export function areaOf({ left, right, top, bottom }, { rows, columns }, { width, height }) {
  const [w, h] = [width / columns, height / rows];
  return { x: left * w, y: top * h, width: (right - left) * w, height: (bottom - top) * h };
}

/**
 * SVG path around a picture. If `part` is not null, the path leaves it out.
 * @param {Box} box
 * @param {Box | null} part
 */
export function pathAround({ width, height }, part) {
  const whole = `M0 0H${width}V${height}H0Z`;
  return part ? `${whole}M${part.x} ${part.y}h${part.width}v${part.height}h${-part.width}Z` : whole;
}

/**
 * The label next to the symbol of a matrix. It is shortened or left out if the matrix is narrow.
 * @param {import('../../core/flow.js').Stage} stage
 * @param {number} width
 */
export function titleOf({ kind, name, symbol, head = 0 }, width) {
  if (kind === 'weights') return width < 48 ? String(head + 1) : name;
  return symbol && (name === symbol || width < 92) ? '' : name;
}

/**
 * The name of a block's equation in `equations.js`.
 * @param {boolean} normFirst
 * @param {import('../../core/flow.js').Variation} variation
 * @returns {keyof typeof import('./equations.js').block}
 */
export function equationOf(normFirst, { gated, noNorms, normsOutputs, parallel }) {
  if (noNorms) return 'normsOutputs';
  if (normsOutputs) return 'normsBoth';
  if (gated) return 'gated';
  if (parallel) return 'parallel';
  return normFirst ? 'normFirst' : 'normLast';
}
