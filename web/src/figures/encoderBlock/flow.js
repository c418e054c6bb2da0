/**
 * The encoder block as a graph of matrices: which one is made of which, and of which of their cells.
 * The only step in which rows meet is attention; all others work on each token by itself.
 */

/** @typedef {import('../../state/selection.svelte.js').Cell} Cell */

/**
 * How a matrix is made:
 * - `input`: given;
 * - `product`: rows times a matrix of parameters, (n, ·);
 * - `weights`: softmax(Q Kᵀ / √D) of one head, (n, n);
 * - `mix`: weights times values, head by head, (n, E);
 * - `sum`: of two matrices, the residual first;
 * - `norm`: each row with mean 0 and deviation 1.
 * @typedef {'input' | 'product' | 'weights' | 'mix' | 'sum' | 'norm'} Kind
 *
 * @typedef {object} Stage
 * @property {string} id
 * @property {Kind} kind
 * @property {string[]} from ids
 * @property {string} symbol
 * @property {string} name
 * @property {number} [head]
 */

/** The ids of a block's stages that hold weights, one for each head. @param {number} heads */
const weightsOf = (heads) => Array.from({ length: heads }, (_, head) => `weights${head}`);

/**
 * The stages in the order in which they are computed; the last one is the block's output. norm1 and
 * norm2 are PyTorch's names.
 * @param {boolean} normFirst pre-norm instead of post-norm
 * @param {number} heads
 * @param {string} [activation] of the feed-forward network
 * @returns {Stage[]}
 */
export function encoderFlow(normFirst, heads, activation = 'ReLU') {
  const attended = normFirst ? 'norm1' : 'x';
  const [middle, fed] = normFirst ? ['sum1', 'norm2'] : ['norm1', 'norm1'];
  /** @type {Stage} */
  const norm1 = {
    ...{ id: 'norm1', kind: 'norm', symbol: 'N', name: 'normalised' },
    from: [normFirst ? 'x' : 'sum1'],
  };
  /** @type {Stage} */
  const norm2 = {
    ...{ id: 'norm2', kind: 'norm', symbol: normFirst ? 'M' : 'Y' },
    ...{ name: normFirst ? 'normalised' : 'output', from: [normFirst ? 'sum1' : 'sum2'] },
  };
  const product = (
    /** @type {string} */ id,
    /** @type {string} */ from,
    /** @type {string} */ symbol,
    /** @type {string} */ name,
  ) => /** @type {Stage} */ ({ id, kind: 'product', from: [from], symbol, name });
  return [
    { id: 'x', kind: 'input', from: [], symbol: 'X', name: 'input' },
    ...(normFirst ? [norm1] : []),
    product('q', attended, 'Q', 'queries'),
    product('k', attended, 'K', 'keys'),
    product('v', attended, 'V', 'values'),
    ...weightsOf(heads).map(
      (id, head) =>
        /** @type {Stage} */ ({
          ...{ id, kind: 'weights', from: ['q', 'k'], head },
          ...{ symbol: 'W', name: `head ${head + 1}` },
        }),
    ),
    {
      ...{ id: 'heads', kind: 'mix', from: [...weightsOf(heads), 'v'] },
      ...{ symbol: 'W V', name: 'joined' },
    },
    product('attention', 'heads', 'A', 'projected'),
    {
      ...{ id: 'sum1', kind: 'sum', from: ['x', 'attention'] },
      ...{ symbol: normFirst ? 'H' : 'X + A', name: normFirst ? 'X + A' : 'sum' },
    },
    ...(normFirst ? [norm2] : [{ ...norm1, symbol: 'H' }]),
    product('hidden', fed, 'R', `hidden, ${activation}`),
    product('feedForward', 'hidden', 'F', 'feed-forward'),
    {
      ...{ id: 'sum2', kind: 'sum', from: [middle, 'feedForward'] },
      ...{ symbol: normFirst ? 'Y' : 'H + F', name: normFirst ? 'H + F, output' : 'sum' },
    },
    ...(normFirst ? [] : [norm2]),
  ];
}

/**
 * A part of a matrix: rows [top, bottom) and columns [left, right).
 * @typedef {{ id: string, top: number, bottom: number, left: number, right: number }} Region
 */

/**
 * The sizes that regions depend on.
 * @typedef {object} Sizes
 * @property {number} length n
 * @property {number} dModel E
 * @property {number} hidden
 * @property {number} heads
 */

/** @param {string} id @param {Sizes} sizes */
export function columnsOf(id, { length, dModel, hidden }) {
  return id === 'hidden' ? hidden : id.startsWith('weights') ? length : dModel;
}

/**
 * What one part of a matrix is directly made of.
 * @param {Stage} stage
 * @param {Region} region of its matrix
 * @param {Sizes} sizes
 * @returns {Region[]}
 */
function madeOf(stage, { top, bottom, left, right }, sizes) {
  const { length, dModel, heads } = sizes;
  const depth = dModel / heads;
  const wholeRows = (/** @type {string} */ id) => ({
    ...{ id, top, bottom },
    ...{ left: 0, right: columnsOf(id, sizes) },
  });
  switch (stage.kind) {
    case 'input':
      return [];
    case 'product':
    case 'norm':
      return [wholeRows(stage.from[0])];
    case 'sum':
      return stage.from.map((id) => ({ id, top, bottom, left, right }));
    case 'weights': {
      const first = Number(stage.head) * depth;
      const band = { left: first, right: first + depth };
      // A weight depends on all keys: they share what softmax divides among them.
      return [
        { id: 'q', top, bottom, ...band },
        { id: 'k', top: 0, bottom: length, ...band },
      ];
    }
    case 'mix': {
      const first = Math.floor(left / depth);
      const last = Math.ceil(right / depth);
      return [
        ...stage.from.slice(first, last).map(wholeRows),
        { id: 'v', top: 0, bottom: length, left, right },
      ];
    }
  }
}

/** The smallest region that holds both. @param {Region} a @param {Region} b */
const union = (a, b) => ({
  id: a.id,
  top: Math.min(a.top, b.top),
  bottom: Math.max(a.bottom, b.bottom),
  left: Math.min(a.left, b.left),
  right: Math.max(a.right, b.right),
});

/**
 * What made a cell.
 * @param {Stage[]} flow
 * @param {string} id the cell's matrix
 * @param {Cell} cell
 * @param {Sizes} sizes
 * @returns {{ direct: Region[], all: Map<string, Region> }} what it was computed from, and all that
 *   this was made of in turn, one region for each matrix
 */
export function originsOf(flow, id, { row, column }, sizes) {
  const stages = new Map(flow.map((stage) => [stage.id, stage]));
  const start = { id, top: row, bottom: row + 1, left: column, right: column + 1 };
  const direct = madeOf(/** @type {Stage} */ (stages.get(id)), start, sizes);
  /** @type {Map<string, Region>} */
  const all = new Map();
  // Backwards through the flow, so that a matrix is complete before its own origins are asked for.
  for (const region of direct) all.set(region.id, region);
  for (const stage of flow.toReversed()) {
    const region = all.get(stage.id);
    if (!region) continue;
    for (const origin of madeOf(stage, region, sizes)) {
      const known = all.get(origin.id);
      all.set(origin.id, known ? union(known, origin) : origin);
    }
  }
  return { direct, all };
}
