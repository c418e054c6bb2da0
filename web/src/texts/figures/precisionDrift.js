/** Text shown in the figure about the effect of rounding on attention. */

export const title = 'What rounding does to attention';
/** @param {{ length: number, start: string, changes: { code: string, drift: string }[] }} of */
export const summary = ({ length, start, changes }) =>
  `Attention weights of ${length} neighbouring positions should not depend on where the window starts. In the window that starts at ${start}, these weights have changed: ${changes
    .map(({ code, drift }) => `${code} by ${drift}`)
    .join(', ')}.`;
export const hint = 'Move along the chart to slide the window.';
export const cell =
  'window from {start}: position +{query} attends to position +{key} with weight {usual} (usual float32 code) and {core} (the core)';
export const query = 'query';
export const key = 'key';
/** @param {string} code @param {number} length */
export const label = (code, length) =>
  `Attention weights by ${code}, ${length} queries by ${length} keys`;
/** @param {string} code @param {string} start */
export const from = (code, start) => `${code}, from ${start}`;
export const changed = 'changed by {drift}';
/** @param {{ name: string, most: string }[]} series */
export const chart = (series) =>
  `Largest change of a weight against the position where the window starts: ${series
    .map(({ name, most }) => `${name} ${most} at most`)
    .join(', ')}`;
export const start = 'position where the window starts';
