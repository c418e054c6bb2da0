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

/** Space above each matrix. */
export const titleHeight = 24;

/** Minimum width of the layout in two rows. */
const wideFrom = 960;

const radius = 9;

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

/** @param {Box} box */
const middle = ({ x, y, width, height }) => ({ x: x + width / 2, y: y + height / 2 });

/**
 * A line with rounded corners through points, each of which is left of, right of, above or below
 * the previous point.
 * @param {[number, number][]} points
 */
function route(points) {
  const [first, ...rest] = points;
  let d = `M${first[0]} ${first[1]}`;
  rest.forEach(([x, y], i) => {
    const next = rest[i + 1];
    if (!next) {
      d += `L${x} ${y}`;
      return;
    }
    const [px, py] = points[i];
    const before = Math.abs(x - px) + Math.abs(y - py);
    const after = Math.abs(next[0] - x) + Math.abs(next[1] - y);
    const r = Math.min(radius, before / 2, after / 2);
    d += `L${x - Math.sign(x - px) * r} ${y - Math.sign(y - py) * r}`;
    d += `Q${x} ${y} ${x + Math.sign(next[0] - x) * r} ${y + Math.sign(next[1] - y) * r}`;
  });
  return d;
}

/**
 * @param {Omit<Parameters<typeof layOut>[0], 'firstHead'>} given
 * @returns {Layout}
 */
function wideLayout({ available, length, heads, normFirst, hiddenFactor, noNorms, parallel }) {
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

/**
 * @param {Omit<Parameters<typeof layOut>[0], 'firstHead'>} given
 * @returns {Layout}
 */
function narrowLayout({ available, length, heads, normFirst, noNorms = false, parallel = false }) {
  const normLast = !normFirst && !noNorms;
  const lane = parallel ? 38 : 26;
  const rowHeight = Math.min(9, 96 / length);
  const height = rowHeight * length;
  const gap = 20;
  const inside = available - lane;
  /** @type {Map<string, Box>} */
  const boxes = new Map();
  let y = 0;
  /** @param {string[]} ids matrices placed side by side */
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
