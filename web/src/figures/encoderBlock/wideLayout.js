import { middle, radius, route, titleHeight } from './lines.js';

/** @typedef {import('./layout.js').Box} Box */
/** @typedef {import('./layout.js').Layout} Layout */

/**
 * Draws the block in two rows, attention above and the feed-forward network below.
 * @param {Omit<Parameters<typeof import('./layout.js').layOut>[0], 'firstHead'>} given
 * @returns {Layout}
 */
export function wideLayout({
  available,
  length,
  heads,
  normFirst,
  hiddenFactor,
  noNorms,
  parallel,
}) {
  const normLast = !normFirst && !noNorms;
  const rowHeight = Math.min(28, 136 / length);
  const height = rowHeight * length;
  const gutter = rowHeight >= 10.5 ? 84 : 24;
  const gap = Math.max(30, Math.min(44, available / 32));
  // Leave at least the height of three lines of text below the upper row.
  const pitch = Math.max(height + titleHeight + 10, 96);
  const bus = 22;

  // Arrange several heads in two rows: one beside the queries, the other beside the keys.
  const headRows = heads === 1 ? 1 : 2;
  const headColumns = Math.ceil(heads / headRows);
  const headGap = 12;
  const share = headColumns > 2 ? 0.3 : 0.24;
  const headSize = Math.min(height, (share * available) / headColumns - headGap);
  const headsWidth = headColumns * headSize + (headColumns - 1) * headGap;
  const panel = (available - gutter - headsWidth - 6 * gap) / 6;

  const first = bus + titleHeight;
  const centre = first + pitch;
  /** @type {Map<string, Box>} */
  const boxes = new Map();
  let x = gutter;
  const place = (/** @type {string} */ id, /** @type {number} */ y, width = panel) =>
    boxes.set(id, { x, y, width, height });

  place('x', centre);
  x += panel + gap;
  if (normFirst) {
    place('norm1', centre);
    x += panel + gap;
  }
  ['q', 'k', 'v'].forEach((id, i) => place(id, first + i * pitch));
  x += panel + gap;
  const headPitch = headRows === 1 ? 0 : pitch;
  const headTop = headRows === 1 ? first + pitch / 2 : first;
  for (let head = 0; head < heads; head++) {
    const column = Math.floor(head / headRows);
    boxes.set(`weights${head}`, {
      x: x + column * (headSize + headGap),
      y: headTop + (head % headRows) * headPitch + (height - headSize) / 2,
      width: headSize,
      height: headSize,
    });
  }
  const headsLeft = x;
  x += headsWidth + gap;
  place('heads', centre);
  x += panel + gap;
  place('attention', centre);
  x += panel + gap;
  place('sum1', centre);
  x += panel + gap;
  if (normLast) place('norm1', centre);
  const ending = normLast ? 'norm1' : 'sum1';

  const stream = first + 3 * pitch + 4;
  const below = stream + 26 + titleHeight;
  x = gutter;
  if (normFirst) {
    place('norm2', below);
    x += panel + gap;
  }
  place('hidden', below, hiddenFactor * panel);
  x += hiddenFactor * panel + gap;
  place('feedForward', below);
  x += panel + gap;
  place('sum2', below);
  x += panel + gap;
  if (normLast) {
    place('norm2', below);
    x += panel + gap;
  }
  const total = below + height + 4;

  const box = (/** @type {string} */ id) => /** @type {Box} */ (boxes.get(id));
  const right = (/** @type {string} */ id) => box(id).x + box(id).width;
  const y = (/** @type {string} */ id) => middle(box(id)).y;
  const before = (/** @type {string} */ id) => box(id).x - 5;
  /** @type {Layout['lines']} */
  const lines = [];
  const line = (
    /** @type {string} */ from,
    /** @type {string} */ to,
    /** @type {[number, number][]} */ points,
    residual = false,
  ) => lines.push({ from, to, residual, d: route(points) });
  const straight = (/** @type {string} */ from, /** @type {string} */ to) =>
    line(from, to, [
      [right(from) + 3, y(from)],
      [before(to), y(to)],
    ]);

  const attended = normFirst ? 'norm1' : 'x';
  if (normFirst) straight('x', 'norm1');
  for (const id of ['q', 'k', 'v']) {
    const turn = right(attended) + gap / 2;
    line(attended, id, [
      [right(attended) + 3, y(attended)],
      [turn, y(attended)],
      [turn, y(id)],
      [before(id), y(id)],
    ]);
  }
  for (let head = 0; head < heads; head++) {
    // Only the heads in the first column have lines, which represent the lines of all heads.
    if (head >= headRows) break;
    const id = `weights${head}`;
    const turn = right('q') + gap / 2;
    for (const from of ['q', 'k']) {
      line(from, id, [
        [right(from) + 3, y(from)],
        [turn, y(from)],
        [turn, y(id)],
        [headsLeft - 5, y(id)],
      ]);
    }
  }
  const meet = box('heads').x - gap / 2;
  for (let head = Math.max(0, heads - headRows); head < heads; head++) {
    const id = `weights${head}`;
    line(id, 'heads', [
      [right(id) + 3, y(id)],
      [meet, y(id)],
      [meet, y('heads')],
      [before('heads'), y('heads')],
    ]);
  }
  line('v', 'heads', [
    [right('v') + 3, y('v')],
    [meet, y('v')],
    [meet, y('heads')],
    [before('heads'), y('heads')],
  ]);
  straight('heads', 'attention');
  straight('attention', 'sum1');
  if (normLast) straight('sum1', 'norm1');

  /** @type {Layout['sums']} */
  const sums = ['sum1', 'sum2'].map((id) => ({ id, x: box(id).x - gap / 2, y: y(id) }));
  const leave = right('x') + gap / 2;
  line(
    'x',
    'sum1',
    [
      [leave, y('x')],
      [leave, bus / 2],
      [sums[0].x, bus / 2],
      [sums[0].x, sums[0].y - radius],
    ],
    true,
  );
  // Two lines leave the end of the upper row. One leads into the sum. The other leads to the
  // beginning of the lower row. It is missing if both rows begin with the input.
  const fed = normFirst ? 'norm2' : 'hidden';
  const out = Math.min(available - 2, right(ending) + gap / 2);
  const turn = out > right(ending) + 8 ? out : middle(box(ending)).x;
  const start = /** @type {[number, number][]} */ (
    turn === out
      ? [
          [right(ending) + 3, y(ending)],
          [turn, y(ending)],
        ]
      : [[turn, box(ending).y + height + 3]]
  );
  if (parallel) {
    // The second norm is drawn below the input.
    const { x: across } = middle(box('x'));
    line('x', fed, [
      [across, box('x').y + height + 3],
      [across, below - titleHeight + 2],
    ]);
  } else {
    line(ending, fed, [
      ...start,
      [turn, stream],
      [gutter / 2 - 4, stream],
      [gutter / 2 - 4, y(fed)],
      [before(fed), y(fed)],
    ]);
  }
  line(
    ending,
    'sum2',
    [...start, [turn, stream], [sums[1].x, stream], [sums[1].x, sums[1].y - radius]],
    true,
  );
  if (normFirst) straight('norm2', 'hidden');
  straight('hidden', 'feedForward');
  straight('feedForward', 'sum2');
  if (normLast) straight('sum2', 'norm2');

  const named = rowHeight >= 10.5;
  return {
    wide: true,
    width: available,
    height: total,
    boxes,
    lines,
    sums,
    names: named ? [{ x: 0, y: centre, width: gutter - 8, height }] : [],
    free: {
      ...{ x: meet + 28, y: centre + height + 10, width: turn - 28 - (meet + 28) },
      height: stream - 8 - (centre + height + 10),
    },
  };
}
