/**
 * The encoder block as a graph of matrices. The graph lists the inputs of each matrix and of each
 * cell. Rows interact only in attention. All other steps process each token separately.
 */

/** @typedef {import('../drawing/selection.svelte.js').Cell} Cell */

/**
 * How a matrix is computed:
 * - `input`: given;
 * - `product`: rows times a matrix of parameters, (n, ·);
 * - `weights`: softmax(Q Kᵀ / √D) of one head, (n, n);
 * - `mix`: weights times values, head by head, (n, H·D);
 * - `sum`: the sum of two matrices, the residual first;
 * - `norm`: each row with mean 0 and deviation 1, or with a mean square of 1;
 * - `gated`: a product passed through the activation, times another product;
 * - `normed`: a product with normalised rows.
 * @typedef {'input' | 'product' | 'weights' | 'mix' | 'sum' | 'norm' | 'gated' | 'normed'} Kind
 *
 * @typedef {object} Stage
 * @property {string} id
 * @property {Kind} kind
 * @property {string[]} from ids of its inputs
 * @property {string} symbol symbol in the figure's equation, if it has one
 * @property {string} name
 * @property {number} [head]
 */

/**
 * Differences from a standard block. noNorms: no norms before or after attention and the
 * feed-forward network; firstHead: the first of the drawn heads; gated: a feed-forward network with
 * a gate; normsOutputs: norms of the outputs that are added to the residual; parallel: a
 * feed-forward network that reads the block's input, in parallel with attention.
 * @typedef {{ noNorms?: boolean, firstHead?: number, gated?: boolean, normsOutputs?: boolean,
 *   parallel?: boolean }} Variation
 */

/**
 * The ids of the stages that contain attention weights, one for each head.
 * @param {number} heads
 * @param {number} first
 */
const weightsOf = (heads, first) =>
  Array.from({ length: heads }, (_, head) => `weights${first + head}`);

/**
 * The stages in order of computation. The last stage is the block's output. norm1 and norm2 are
 * PyTorch's names.
 * @param {boolean} normFirst pre-norm instead of post-norm
 * @param {number} heads
 * @param {string} [activation] activation of the feed-forward network
 * @param {Variation} [variation]
 * @returns {Stage[]}
 */
export function encoderFlow(normFirst, heads, activation = 'ReLU', variation = {}) {
  const { noNorms = false, firstHead = 0, gated = false, normsOutputs = false } = variation;
  const { parallel = false } = variation;
  const attended = normFirst ? 'norm1' : 'x';
  const [middle, fed] = noNorms
    ? ['sum1', 'sum1']
    : normFirst
      ? ['sum1', 'norm2']
      : ['norm1', 'norm1'];
  const sumIsLast = normFirst || noNorms;
  const ids = weightsOf(heads, firstHead);
  /** @type {Stage} */
  const norm1 = {
    ...{ id: 'norm1', kind: 'norm', from: [normFirst ? 'x' : 'sum1'] },
    symbol: normFirst ? '' : 'H',
    name: parallel ? 'norm₁(X)' : normFirst ? 'norm(X)' : 'normalised',
  };
  /** @type {Stage} */
  const norm2 = {
    ...{ id: 'norm2', kind: 'norm', from: [parallel ? 'x' : normFirst ? 'sum1' : 'sum2'] },
    symbol: normFirst ? '' : 'Y',
    name: parallel ? 'norm₂(X)' : normFirst ? 'norm(H)' : 'output',
  };
  const product = (
    /** @type {string} */ id,
    /** @type {string} */ from,
    /** @type {string} */ symbol,
    /** @type {string} */ name,
  ) => /** @type {Stage} */ ({ id, kind: 'product', from: [from], symbol, name });
  return /** @type {Stage[]} */ ([
    { id: 'x', kind: 'input', from: [], symbol: 'X', name: 'input' },
    ...(normFirst ? [norm1] : []),
    product('q', attended, 'Q', 'queries'),
    product('k', attended, 'K', 'keys'),
    product('v', attended, 'V', 'values'),
    ...ids.map(
      (id, i) =>
        /** @type {Stage} */ ({
          ...{ id, kind: 'weights', from: ['q', 'k'], head: firstHead + i },
          ...{ symbol: '', name: `head ${firstHead + i + 1}` },
        }),
    ),
    {
      ...{ id: 'heads', kind: 'mix', from: [...ids, 'v'] },
      ...{ symbol: 'W V', name: 'joined' },
    },
    {
      ...product('attention', 'heads', 'A', 'projected'),
      ...(normsOutputs ? { kind: 'normed' } : {}),
    },
    {
      ...{ id: 'sum1', kind: 'sum', from: ['x', 'attention'] },
      ...{ symbol: sumIsLast ? 'H' : 'X + A', name: sumIsLast ? 'X + A' : 'sum' },
    },
    ...(noNorms ? [] : normFirst ? [norm2] : [norm1]),
    {
      ...product('hidden', fed, '', `hidden, ${activation}${gated ? ', gated' : ''}`),
      ...(gated ? { kind: 'gated' } : {}),
    },
    {
      ...product('feedForward', 'hidden', 'F', 'feed-forward'),
      ...(normsOutputs ? { kind: 'normed' } : {}),
    },
    {
      ...{ id: 'sum2', kind: 'sum', from: [middle, 'feedForward'] },
      ...{ symbol: sumIsLast ? 'Y' : 'H + F', name: sumIsLast ? 'H + F, output' : 'sum' },
    },
    ...(sumIsLast ? [] : [norm2]),
  ]);
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
 * @property {number} [depth] D; by default E / heads
 * @property {number} [shared] number of heads that share keys and values; 1 by default
 */

/** @param {Sizes} sizes */
const depthOf = ({ dModel, heads, depth = dModel / heads }) => depth;

/** @param {string} id @param {Sizes} sizes */
export function columnsOf(id, sizes) {
  const { length, dModel, hidden, heads, shared = 1 } = sizes;
  if (id === 'hidden') return hidden;
  if (id.startsWith('weights')) return length;
  if (id === 'q' || id === 'heads') return heads * depthOf(sizes);
  return id === 'k' || id === 'v' ? (heads / shared) * depthOf(sizes) : dModel;
}

/**
 * The direct inputs of a part of a matrix.
 * @param {Stage} stage
 * @param {Region} region part of the stage's matrix
 * @param {Sizes} sizes
 * @returns {Region[]}
 */
function madeOf(stage, { top, bottom, left, right }, sizes) {
  const { length, shared = 1 } = sizes;
  const depth = depthOf(sizes);
  const wholeRows = (/** @type {string} */ id) => ({
    ...{ id, top, bottom },
    ...{ left: 0, right: columnsOf(id, sizes) },
  });
  switch (stage.kind) {
    case 'input':
      return [];
    case 'product':
    case 'norm':
    case 'gated':
    case 'normed':
      return [wholeRows(stage.from[0])];
    case 'sum':
      return stage.from.map((id) => ({ id, top, bottom, left, right }));
    case 'weights': {
      const band = (/** @type {number} */ head) => ({
        left: head * depth,
        right: (head + 1) * depth,
      });
      const head = Number(stage.head);
      // A weight depends on all keys, because softmax normalises over them.
      return [
        { id: 'q', top, bottom, ...band(head) },
        { id: 'k', top: 0, bottom: length, ...band(Math.floor(head / shared)) },
      ];
    }
    case 'mix': {
      const first = Math.floor(left / depth);
      const last = Math.ceil(right / depth);
      const isMeant = (/** @type {string} */ id) => {
        const head = Number(id.slice('weights'.length));
        return id.startsWith('weights') && head >= first && head < last;
      };
      const before = (/** @type {number} */ head) => (head - Math.floor(head / shared)) * depth;
      return [
        ...stage.from.filter(isMeant).map(wholeRows),
        {
          ...{ id: 'v', top: 0, bottom: length },
          ...{ left: left - before(first), right: right - before(last - 1) },
        },
      ];
    }
  }
}

/** The smallest region that contains both regions. @param {Region} a @param {Region} b */
const union = (a, b) => ({
  id: a.id,
  top: Math.min(a.top, b.top),
  bottom: Math.max(a.bottom, b.bottom),
  left: Math.min(a.left, b.left),
  right: Math.max(a.right, b.right),
});

/**
 * Finds the regions of the matrices from which a cell is computed.
 * @param {Stage[]} flow
 * @param {string} id the cell's matrix
 * @param {Cell} cell
 * @param {Sizes} sizes
 * @returns {{ direct: Region[], all: Map<string, Region> }} `direct` has the cell's direct inputs;
 *   `all` has its direct and indirect inputs, with one region for each matrix
 */
export function originsOf(flow, id, { row, column }, sizes) {
  const stages = new Map(flow.map((stage) => [stage.id, stage]));
  const start = { id, top: row, bottom: row + 1, left: column, right: column + 1 };
  const direct = madeOf(/** @type {Stage} */ (stages.get(id)), start, sizes);
  /** @type {Map<string, Region>} */
  const all = new Map();
  // Goes backwards through the flow, so each matrix's region is complete when the loop reaches the
  // matrix and determines its inputs.
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
