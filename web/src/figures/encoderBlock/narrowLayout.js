import { middle, radius, route, titleHeight } from './lines.js';

/** @typedef {import('./layout.js').Box} Box */
/** @typedef {import('./layout.js').Layout} Layout */

/**
 * Draws the block from top to bottom.
 * @param {Omit<Parameters<typeof import('./layout.js').layOut>[0], 'firstHead'>} given
 * @returns {Layout}
 */
export function narrowLayout({
  available,
  length,
  heads,
  normFirst,
  noNorms = false,
  parallel = false,
}) {
  const normLast = !normFirst && !noNorms;
  const lane = parallel ? 38 : 26;
  const rowHeight = Math.min(9, 96 / length);
  const height = rowHeight * length;
  const gap = 20;
  const inside = available - lane;
  /** @type {Map<string, Box>} */
  const boxes = new Map();
  let y = 0;
  /** @param {string[]} ids matrices to place side by side */
  const row = (ids, tall = height) => {
    y += titleHeight;
    const between = 12;
    const width = (inside - (ids.length - 1) * between) / ids.length;
    ids.forEach((id, i) => {
      boxes.set(id, { x: lane + i * (width + between), y, width, height: tall });
    });
    y += tall + gap;
  };
  row(['x']);
  if (normFirst) row(['norm1']);
  row(['q', 'k', 'v']);
  const perRow = Math.min(heads, 4);
  const headSize = Math.min(Math.max(height, 110), (inside - (perRow - 1) * 12) / perRow);
  for (let head = 0; head < heads; head += perRow) {
    y += titleHeight;
    for (let i = 0; i < perRow; i++) {
      const at = lane + (i * (inside + 12)) / perRow;
      boxes.set(`weights${head + i}`, { x: at, y, width: headSize, height: headSize });
    }
    y += headSize + (head + perRow < heads ? 0 : gap);
  }
  for (const id of ['heads', 'attention', 'sum1']) row([id]);
  if (!noNorms) row([normFirst ? 'norm2' : 'norm1']);
  for (const id of ['hidden', 'feedForward', 'sum2']) row([id]);
  if (normLast) row(['norm2']);

  const box = (/** @type {string} */ id) => /** @type {Box} */ (boxes.get(id));
  const bottom = (/** @type {string} */ id) => box(id).y + box(id).height;
  /** @type {Layout['lines']} */
  const lines = [];
  /** @param {string} from @param {string} to */
  const down = (from, to) => {
    // The line runs near the left edge of the second matrix, from the end of the first matrix to
    // the title of the second.
    const x = box(to).x + 8;
    lines.push({
      ...{ from, to, residual: false },
      d: `M${x} ${bottom(from) + 3}V${box(to).y - titleHeight + 2}`,
    });
  };
  const attended = normFirst ? 'norm1' : 'x';
  if (normFirst) down('x', 'norm1');
  for (const id of ['q', 'k', 'v']) down(attended, id);
  down('q', 'weights0');
  down(`weights${heads - 1}`, 'heads');
  down('heads', 'attention');
  down('attention', 'sum1');
  if (normFirst) {
    if (!parallel) down('sum1', 'norm2');
    down('norm2', 'hidden');
  } else if (noNorms) {
    down('sum1', 'hidden');
  } else {
    down('sum1', 'norm1');
    down('norm1', 'hidden');
  }
  down('hidden', 'feedForward');
  down('feedForward', 'sum2');
  if (normLast) down('sum2', 'norm2');

  /** @type {Layout['sums']} */
  const sums = ['sum1', 'sum2'].map((id) => ({ id, x: lane / 2 - 3, y: middle(box(id)).y }));
  [
    ['x', sums[0]],
    [normLast ? 'norm1' : 'sum1', sums[1]],
  ].forEach(([from, sum]) => {
    const { id, x, y } = /** @type {Layout['sums'][number]} */ (sum);
    const start = box(/** @type {string} */ (from));
    // The line starts below the middle of the matrix, where no line into a sum ends.
    const out = start.y + 0.85 * start.height;
    lines.push({
      ...{ from: /** @type {string} */ (from), to: id, residual: true },
      d: route([
        [lane - 4, out],
        [x, out],
        [x, y - radius],
      ]),
    });
    lines.push({
      ...{ from: /** @type {string} */ (from), to: id, residual: true },
      d: route([
        [x + radius, y],
        [lane - 4, y],
      ]),
    });
  });
  if (parallel) {
    // The line from the input to the second norm runs to the left of the residual stream.
    const { y: top } = middle(box('x'));
    const { y: end } = middle(box('norm2'));
    lines.push({
      ...{ from: 'x', to: 'norm2', residual: false },
      d: route([
        [lane - 4, top],
        [4, top],
        [4, end],
        [lane - 4, end],
      ]),
    });
  }
  return {
    ...{ wide: false, width: available, height: y - gap + 4, boxes, lines, sums },
    ...{ names: [], free: null },
  };
}
