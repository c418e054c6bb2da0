// The workloads, in the order in which they are reported. Used in Node and in the browser.

/**
 * @typedef {object} AttentionShape
 * @property {number} batch
 * @property {number} heads
 * @property {number} queries
 * @property {number} keys
 * @property {number} dim
 * @property {boolean} [causal]
 * @property {number} [kvHeads]  number of key and value heads; `heads` by default
 * @property {boolean} [columnSums]  whether the sums of the columns of weights are computed, too
 * @property {number} [window]  number of keys that a query attends to: the key at its own position,
 *   and earlier keys
 *
 * @typedef {{ heads: number, keys: number, dim: number, each: number }} DocumentsShape  documents of
 *   `each` tokens that follow one another
 * @typedef {{ tokens: number, width: number, heads: number }} LayerShape
 * @typedef {{ rows: number, depth: number, columns: number }} ProductShape
 * @typedef {{ rows: number, width: number }} TableShape
 * @typedef {{ width: number, layers: number, heads: number, tokens: number, batch: number }}
 *   GptShape
 * @typedef {'bfloat16' | 'float16' | 'int8'} ElementType
 */

/**
 * @typedef {object} WorkOfAnyKind
 * @property {string} name
 * @property {number} amount  floating-point operations or bytes in one call
 * @property {'GFLOP/s' | 'GB/s'} unit
 * @property {'multiply-add' | 'bfloat16 multiply-add' | 'read' | 'fill'} roof the bare loop that
 *   bounds the speed of the workload
 * @property {boolean} [hasPeers]
 * @property {boolean} [isLong]  skipped in a quick run
 *
 * @typedef {WorkOfAnyKind & { kind: 'attention', shape: AttentionShape }} AttentionWork
 * @typedef {WorkOfAnyKind & {
 *   kind: 'documents', shape: DocumentsShape, separation: 'mask' | 'cu_seqlens'
 * }} DocumentsWork
 * @typedef {WorkOfAnyKind & { kind: 'layer', shape: LayerShape }} LayerWork
 * @typedef {WorkOfAnyKind & { kind: 'product', shape: ProductShape }} ProductWork
 * @typedef {WorkOfAnyKind & { kind: 'sinusoid', shape: TableShape }} SinusoidWork
 * @typedef {WorkOfAnyKind & { kind: 'gradients', shape: AttentionShape, withForward: boolean }}
 *   GradientsWork
 * @typedef {WorkOfAnyKind & { kind: 'step', shape: GptShape }} StepWork
 * @typedef {WorkOfAnyKind & {
 *   kind: 'stored attention', shape: AttentionShape, type: 'bfloat16'
 * }} StoredAttentionWork  queries, keys, values and output have this type
 * @typedef {WorkOfAnyKind & {
 *   kind: 'stored cache', shape: AttentionShape, type: ElementType
 * }} StoredCacheWork  one query over a cache of this type
 * @typedef {WorkOfAnyKind & {
 *   kind: 'stored weights', shape: ProductShape, type: 'bfloat16'
 * }} StoredWeightsWork  a layer with weights of this type
 * @typedef {object} ModelShape  a Llama model; `hidden` is the width inside its feed-forward networks
 * @property {number} vocabulary
 * @property {number} width
 * @property {number} layers
 * @property {number} heads
 * @property {number} kvHeads
 * @property {number} hidden
 * @property {number} tokens  tokens in the cache
 * @typedef {WorkOfAnyKind & { kind: 'token', shape: ModelShape }} TokenWork
 * @typedef {StoredAttentionWork | StoredCacheWork | StoredWeightsWork} FewerBytesWork
 * @typedef {AttentionWork | DocumentsWork | LayerWork | ProductWork | SinusoidWork | TokenWork | GradientsWork | StepWork
 *   | FewerBytesWork} Work
 */

const kFloatBytes = 4;

/**
 * @param {string} name
 * @param {Partial<AttentionShape>} shape
 * @param {Partial<WorkOfAnyKind>} [more]
 * @returns {AttentionWork}
 */
function attention(name, shape, more = {}) {
  const keys = shape.keys ?? 512;
  const full = { batch: 1, heads: 1, queries: keys, keys, dim: 64, ...shape };
  const rows = full.batch * full.heads * full.queries;
  // Causal attention uses the lower triangle of the scores, including the diagonal. With a window,
  // the first queries have fewer keys.
  const { causal, window } = full;
  const pairs = causal
    ? (rows * (keys + 1)) / 2
    : window
      ? rows * window - (full.batch * full.heads * window * (window - 1)) / 2
      : rows * keys;
  return {
    kind: 'attention',
    name,
    shape: full,
    // Column sums take another product of queries and keys.
    amount: (full.columnSums ? 6 : 4) * pairs * full.dim,
    unit: 'GFLOP/s',
    roof: 'multiply-add',
    hasPeers: true,
    ...more,
  };
}

/** @param {number} batch @param {number} heads @param {number} keys */
const square = (batch, heads, keys) =>
  attention(`attention (${batch},${heads},${keys}), D 64`, { batch, heads, keys });

/**
 * @param {number} heads
 * @param {number} keys
 * @param {number} [kvHeads]
 */
function oneQuery(heads, keys, kvHeads = heads) {
  const grouped = kvHeads < heads ? `, ${heads} query heads` : '';
  const name = `one query, cache ${kvHeads} × ${keys}, D 64${grouped}`;
  // Counts the keys and values, each of which is read once. All other reads and writes are
  // negligible.
  const amount = 2 * kvHeads * keys * 64 * kFloatBytes;
  const more = {
    amount,
    unit: /** @type {const} */ ('GB/s'),
    roof: /** @type {const} */ ('read'),
  };
  return attention(name, { heads, kvHeads, queries: 1, keys }, more);
}

/**
 * The share of tiles that contain a query and a key of the same document. A tile has 48 queries and
 * `tile` keys.
 * @param {number} keys
 * @param {number} each
 * @param {number} tile
 */
function attendedTiles(keys, each, tile) {
  let attended = 0;
  let all = 0;
  for (let first = 0; first < keys; first += 48) {
    const last = Math.min(first + 48, keys) - 1;
    const begin = Math.floor(first / each) * each;
    const end = Math.min((Math.floor(last / each) + 1) * each, keys);
    attended += Math.ceil(end / tile) - Math.floor(begin / tile);
    all += Math.ceil(keys / tile);
  }
  return attended / all;
}

/**
 * Attention within documents of 64 tokens, with eight heads. With a mask, the peer is attention
 * without a mask, and the name gives the largest possible gain from skipping whole blocks and tiles.
 * With cu_seqlens, the peer is one call for each document.
 * @param {number} keys
 * @returns {DocumentsWork[]}
 */
function documents(keys) {
  const shape = { heads: 8, keys, dim: 64, each: 64 };
  const limit = (/** @type {number} */ tile) => 1 / attendedTiles(keys, shape.each, tile);
  const limits = `limit ${limit(64).toFixed(1)}×, with tiles of 128 ${limit(128).toFixed(1)}×`;
  const work = {
    kind: /** @type {const} */ ('documents'),
    shape,
    amount: 4 * shape.heads * keys * shape.each * shape.dim,
    unit: /** @type {const} */ ('GFLOP/s'),
    roof: /** @type {const} */ ('multiply-add'),
  };
  const name = `${keys / shape.each} documents of ${shape.each}`;
  return [
    { ...work, name: `${name}, mask (${limits})`, separation: 'mask' },
    { ...work, name: `${name}, cu_seqlens`, separation: 'cu_seqlens' },
  ];
}

/** @param {number} tokens @param {number} width @param {number} heads @returns {LayerWork} */
const layer = (tokens, width, heads) => ({
  kind: 'layer',
  name: `self-attention layer ${tokens} × ${width}, ${heads} heads`,
  shape: { tokens, width, heads },
  amount: 8 * tokens * width * width + 4 * tokens * tokens * width,
  unit: 'GFLOP/s',
  roof: 'multiply-add',
  hasPeers: true,
});

/** @param {number} size @returns {ProductWork} */
const product = (size) => ({
  kind: 'product',
  name: `dense product ${size}³`,
  shape: { rows: size, depth: size, columns: size },
  amount: 2 * size ** 3,
  unit: 'GFLOP/s',
  roof: 'multiply-add',
  hasPeers: true,
});

/** @param {number} rows @param {number} width @returns {SinusoidWork} */
const sinusoid = (rows, width) => ({
  kind: 'sinusoid',
  name: `sinusoidal table ${rows} × ${width}`,
  shape: { rows, width },
  amount: rows * width * kFloatBytes,
  unit: 'GB/s',
  roof: 'fill',
});

/**
 * The backward pass of eight heads. It has five products, and the forward pass has two.
 * @param {number} keys
 * @param {boolean} causal
 * @param {boolean} withForward
 *
 * @returns {GradientsWork}
 */
function gradients(keys, causal, withForward) {
  const { shape, amount } = attention('', { heads: 8, keys, causal });
  const passes = withForward ? 'forward and backward' : 'backward';
  return {
    kind: 'gradients',
    name: `${passes}${causal ? ', causal' : ''} (1,8,${keys}), D 64`,
    shape,
    withForward,
    amount: (withForward ? 3.5 : 2.5) * amount,
    unit: 'GFLOP/s',
    roof: 'multiply-add',
    hasPeers: true,
  };
}

export const kVocabulary = 256;

/**
 * A training step of a pre-norm GPT with GELU, cross entropy and AdamW.
 * @param {GptShape} shape
 * @returns {StepWork}
 */
function step(shape) {
  const { width, layers, tokens, batch } = shape;
  const weights = layers * 12 * width * width + kVocabulary * width;
  const pairs = (batch * tokens * (tokens + 1)) / 2;
  return {
    kind: 'step',
    name: `training step, GPT of ${layers} × ${width}, T ${tokens}, B ${batch}`,
    shape,
    // The backward pass computes twice as many products as the forward pass, and for attention 2.5
    // times as many.
    amount: 6 * weights * batch * tokens + 3.5 * 4 * layers * pairs * width,
    unit: 'GFLOP/s',
    roof: 'multiply-add',
    hasPeers: true,
  };
}

/**
 * Attention with eight heads in bfloat16.
 * @param {number} keys
 * @param {number} dim
 * @param {boolean} [causal]
 * @returns {StoredAttentionWork}
 */
function storedAttention(keys, dim, causal = false) {
  const { shape, amount } = attention('', { heads: 8, keys, dim, causal });
  return {
    kind: 'stored attention',
    name: `bfloat16${causal ? ', causal' : ''} (1,8,${keys}), D ${dim}`,
    shape,
    type: 'bfloat16',
    amount,
    unit: 'GFLOP/s',
    roof: 'bfloat16 multiply-add',
  };
}

const kBytes = { bfloat16: 2, float16: 2, int8: 1 };

/**
 * One query over a key-value cache that is too large for any processor's caches.
 * @param {ElementType} type
 * @param {number} dim
 *
 * @returns {StoredCacheWork}
 */
function storedCache(type, dim) {
  const { shape } = attention('', { heads: 32, queries: 1, keys: 4096, dim });
  // Each row of int8 numbers also has a scale in float32.
  const row = kBytes[type] * dim + (type === 'int8' ? kFloatBytes : 0);
  return {
    kind: 'stored cache',
    name: `one query, ${type} cache 32 × 4096, D ${dim}`,
    shape,
    type,
    amount: 2 * shape.heads * shape.keys * row,
    unit: 'GB/s',
    roof: 'read',
  };
}

const kStoredCaches = [64, 128].flatMap((dim) =>
  /** @type {const} */ (['float16', 'bfloat16', 'int8']).map((type) => storedCache(type, dim)),
);

/** @param {number} rows @returns {StoredWeightsWork} */
const storedWeights = (rows) => ({
  kind: 'stored weights',
  name: `bfloat16 weights 768 × 768, ${rows === 1 ? 'one row' : `${rows} rows`}`,
  shape: { rows, depth: 768, columns: 768 },
  type: 'bfloat16',
  // The number of operations or, for one row, the number of bytes of the weights. The same formula
  // gives both.
  amount: 2 * rows * 768 * 768,
  unit: rows === 1 ? 'GB/s' : 'GFLOP/s',
  roof: rows === 1 ? 'read' : 'bfloat16 multiply-add',
});

/**
 * One token of a language model with bfloat16 weights. Counts the bytes of the matrices, each of
 * which is read once.
 * @param {ModelShape} shape
 * @returns {TokenWork}
 */
function token(shape) {
  const { vocabulary, width, layers, heads, kvHeads, hidden, tokens } = shape;
  const attention = 2 * width * width * (1 + kvHeads / heads);
  const weights = vocabulary * width + layers * (attention + 3 * width * hidden);
  return {
    kind: 'token',
    name: `one token, ${Math.round(weights / 1e6)} M bfloat16 weights, ${tokens} in the cache`,
    shape,
    amount: kBytes.bfloat16 * weights,
    unit: 'GB/s',
    roof: 'read',
    isLong: true,
  };
}

/** Lengths over which the time of one head should grow in proportion to N². */
export const kSquareLengths = [1024, 2048, 4096, 8192, 16384];
export const kWindow = 256;
/** Lengths over which the time of one head with a window should grow in proportion to N. */
export const kWindowLengths = [4096, 16384, 65536];
export const kCausalLength = 2048;

/** @param {number} keys */
export const oneHeadName = (keys) => `attention (1,1,${keys}), D 64`;
/** @param {number} keys */
export const windowName = (keys) => `window ${kWindow}, (1,1,${keys}), D 64`;
/** @param {number} keys */
export const causalName = (keys) => `causal (1,8,${keys}), D 64`;

const kTiny = attention('tiny (2,5,4), D 20', { batch: 2, heads: 5, keys: 4, dim: 20 });

/** Attention without a mask. */
const kFullAttention = [
  square(1, 8, 128),
  square(1, 8, 512),
  square(1, 8, 1024),
  square(1, 8, 2048),
  square(1, 12, 512),
  ...kSquareLengths.map((keys) =>
    attention(oneHeadName(keys), { keys }, { hasPeers: keys <= 4096, isLong: keys > 4096 }),
  ),
];

/** @type {Work[]} */
export const kNativeWorks = [
  ...kFullAttention,
  ...[32, 80, 128, 256].map((dim) =>
    attention(`attention (1,8,1024), D ${dim}`, { heads: 8, keys: 1024, dim }),
  ),
  attention(causalName(kCausalLength), { heads: 8, keys: kCausalLength, causal: true }),
  attention(`${causalName(kCausalLength)}, 2 key heads`, {
    ...{ heads: 8, kvHeads: 2, keys: kCausalLength, causal: true },
  }),
  attention(
    `${causalName(kCausalLength)}, column sums`,
    { heads: 8, keys: kCausalLength, causal: true, columnSums: true },
    { hasPeers: false },
  ),
  ...kWindowLengths.map((keys) =>
    attention(windowName(keys), { keys, window: kWindow }, { hasPeers: false }),
  ),
  ...documents(1024),
  ...documents(4096),
  oneQuery(8, 2048),
  oneQuery(32, 4096),
  oneQuery(32, 4096, 8),
  kTiny,
  layer(512, 768, 12),
  layer(1024, 512, 8),
  product(512),
  sinusoid(4096, 512),
  ...[512, 1024, 2048, 4096].map((keys) => storedAttention(keys, 64)),
  ...[512, 1024, 2048].map((keys) => storedAttention(keys, 64, true)),
  ...[512, 1024, 2048].map((keys) => storedAttention(keys, 128)),
  ...kStoredCaches,
  storedWeights(512),
  storedWeights(1),
  // The sizes of SmolLM-135M.
  token({
    ...{ vocabulary: 49152, width: 576, layers: 30, heads: 9, kvHeads: 3, hidden: 1536 },
    tokens: 16,
  }),
  ...[512, 1024, 2048].flatMap((keys) =>
    [false, true].flatMap((causal) => [
      gradients(keys, causal, true),
      gradients(keys, causal, false),
    ]),
  ),
  step({ width: 64, layers: 2, heads: 4, tokens: 32, batch: 32 }),
  step({ width: 96, layers: 4, heads: 4, tokens: 64, batch: 16 }),
  step({ width: 128, layers: 4, heads: 4, tokens: 128, batch: 16 }),
  step({ width: 256, layers: 6, heads: 8, tokens: 128, batch: 8 }),
];

/** TinyGPT's sizes. @type {Work[]} */
export const kTinyGptSteps = [
  step({ width: 96, layers: 3, heads: 3, tokens: 64, batch: 16 }),
  { ...step({ width: 128, layers: 4, heads: 4, tokens: 96, batch: 16 }), isLong: true },
  { ...step({ width: 192, layers: 6, heads: 6, tokens: 128, batch: 12 }), isLong: true },
];

/** Workloads of the browser half. @type {Work[]} */
export const kBrowserWorks = [
  ...kFullAttention,
  attention(causalName(kCausalLength), { heads: 8, keys: kCausalLength, causal: true }),
  kTiny,
  ...kStoredCaches,
  layer(512, 768, 12),
  product(512),
  ...kTinyGptSteps,
];
