import { product } from '../../core/product.js';
import { matrixOf } from '../../drawing/matrix.js';
import * as texts from '../../texts/figures/schemes.js';
import { ruleTitles, schemeTitles } from '../../texts/schemes.js';

/** @typedef {import('attn').Attn} Attn */
/** @typedef {import('attn').Tensor} Tensor */
/** @typedef {import('../../drawing/matrix.js').Matrix} Matrix */

/** Number of tokens to compare. With more, the cells would be too small to read. */
export const mostTokens = 64;

/**
 * T5's values: the number of buckets, and the distance from which all positions share the last
 * bucket.
 */
export const t5 = { numBuckets: 32, maxDistance: 128 };

/** Standard deviation of the initial values of learned tables, as in torch.nn.Embedding. */
const deviation = 1;

/**
 * Index of the head whose ALiBi slope is used. The first head has the steepest slope. The effect of
 * the last head's slope would be invisible within a sentence.
 */
export const alibiHead = 0;

/** Random-number streams of the tables. They differ, so that no two tables are alike. */
export const streams = { t5: 1, shaw: 2 };

/**
 * @typedef {object} SchemeSettings
 * @property {number} heads
 * @property {number} head the head to compare
 * @property {import('../../state/properties/index.js').Weights} weights
 * @property {number} seed seed of the weights and the learned tables
 * @property {number} base
 * @property {number} factor length factor of scaled rotary embeddings
 * @property {number} trained number of positions for which scaled rotary embeddings were trained
 * @property {number} clip largest distance that Shaw's keys distinguish
 * @property {boolean} causal
 *
 * @typedef {object} Comparison
 * @property {SchemeName} name
 * @property {Matrix | null} matrix the encoding or bias; null if there is none
 * @property {Matrix | null} weights (n, n); null if the scheme does not support the head's width
 */

/**
 * Positional schemes for attention. `kind` describes the scheme's matrix: one row per position, one
 * number per query and key, or one row per distance.
 */
export const schemes = /** @type {const} */ ({
  none: { title: schemeTitles.none, kind: 'nothing' },
  sinusoidal: { title: schemeTitles.sinusoidal, kind: 'positions' },
  learned: { title: schemeTitles.learned, kind: 'positions' },
  alibi: { title: schemeTitles.alibi, kind: 'bias' },
  t5: { title: schemeTitles.t5, kind: 'bias' },
  shaw: { title: schemeTitles.shaw, kind: 'distances' },
  rotary: { title: schemeTitles.rotary, kind: 'rotation' },
  linear: { title: ruleTitles.linear, kind: 'rotation' },
  dynamic: { title: ruleTitles.dynamic, kind: 'rotation' },
  yarn: { title: ruleTitles.yarn, kind: 'rotation' },
  llama3: { title: ruleTitles.llama3, kind: 'rotation' },
  yours: { title: schemeTitles.yours, kind: 'positions' },
});

/**
 * The ways to encode positions that the lesson compares, by what they change: the word, the score,
 * or the query and the key.
 * @type {Readonly<Record<'word' | 'score' | 'inside', readonly SchemeName[]>>}
 */
export const inLesson = {
  word: ['sinusoidal', 'learned'],
  score: ['alibi', 't5'],
  inside: ['shaw', 'rotary'],
};
/** @param {SchemeName} name */
export const isInLesson = (name) => Object.values(inLesson).flat().includes(name);

/** @typedef {keyof typeof schemes} SchemeName */

/**
 * The text about a scheme: the idea, the meaning of its matrix, who uses it, its strengths, and
 * its behaviour beyond the training length.
 * @typedef {Record<'idea' | 'drawn' | 'users' | 'good' | 'beyond', string>} Card
 * @typedef {Exclude<SchemeName, 'yours'>} BuiltIn
 * @typedef {Comparison & { name: BuiltIn }} BuiltInComparison
 * @typedef {Record<BuiltIn, Card> & {
 *   labels: Record<'users' | 'good' | 'beyond' | 'attention', string>,
 *   kinds: Record<keyof typeof inLesson, { title: string, text: string }>,
 * }} Cards
 */

/** The built-in schemes. */
export const schemeNames = /** @type {SchemeName[]} */ (
  Object.keys(schemes).filter((name) => name !== 'yours')
);

/**
 * The scaling rule of a rotary embedding as an option of the core.
 * @param {SchemeName} name
 * @param {{ factor: number, trained: number }} settings
 */
export function scalingOf(name, { factor, trained }) {
  switch (name) {
    case 'linear':
      return { type: /** @type {const} */ ('linear'), factor };
    case 'dynamic':
      return { type: /** @type {const} */ ('dynamic'), factor, maxPositionEmbeddings: trained };
    case 'yarn':
      return {
        type: /** @type {const} */ ('yarn'),
        factor,
        originalMaxPositionEmbeddings: trained,
      };
    case 'llama3':
      return {
        type: /** @type {const} */ ('llama3'),
        factor,
        originalMaxPositionEmbeddings: trained,
      };
    default:
      return undefined;
  }
}

/**
 * A layer, or the projections of the head, (D, E) and (D).
 * @typedef {InstanceType<Attn['MultiHeadAttention']> | {
 *   projections: { weight: Tensor, bias?: Float32Array }[],
 * }} Learned projections: projections of queries and of keys
 */

/**
 * Compares all schemes with the same sentence and the same weights.
 * @param {Attn} attn
 * @param {Tensor} x embeddings (n, E)
 * @param {SchemeSettings} settings
 * @param {Learned} [learned] the layer, if its weights are learned
 * @returns {Generator<undefined, Comparison[]>} results in the order of `schemeNames`, one step
 *   per scheme
 */
export function* compare(attn, x, settings, learned) {
  const head = new Head(attn, x.shape[1], settings, learned);
  const compared = [];
  for (const name of schemeNames) {
    compared.push({ name, ...head.under(name, x) });
    yield;
  }
  return compared;
}

/**
 * Like compare(), for a scheme that the reader has written.
 * @param {Attn} attn
 * @param {Tensor} x embeddings (n, E)
 * @param {SchemeSettings} settings
 * @param {Learned | undefined} learned
 * @param {Tables} tables
 * @returns {Comparison}
 */
export function compareYours(attn, x, settings, learned, tables) {
  const weights = new Head(attn, x.shape[1], settings, learned).withTables(x, tables);
  const matrix = tables.added ?? tables.bias;
  return { name: 'yours', matrix: matrix && matrixOf(matrix), weights };
}

/**
 * The tables of a scheme: an encoding (n, E) to add to the words, and a bias (1, n, n) to add to
 * the scores.
 * @typedef {{ added: Tensor | null, bias: Tensor | null }} Tables
 */

/** One head: its query and key projections with D columns each. */
class Head {
  #attn;
  #settings;
  /** @type {{ weight: Tensor, bias: Float32Array }[]} each (D, E) and (D) */
  #projections;

  /**
   * @param {Attn} attn
   * @param {number} dModel
   * @param {SchemeSettings} settings
   * @param {Learned} [learned]
   */
  constructor(attn, dModel, settings, learned) {
    this.#attn = attn;
    this.#settings = settings;
    if (learned && 'projections' in learned) {
      this.#projections = learned.projections.map(({ weight, bias }) => ({
        weight,
        bias: bias ?? new Float32Array(weight.shape[0]),
      }));
      return;
    }
    const { heads, head, weights, seed } = settings;
    const dim = dModel / heads;
    const layer =
      learned ??
      new attn.MultiHeadAttention({
        ...{ dModel, numHeads: heads, bias: false, seed },
        init: weights === 'identity' ? weights : 'xavier',
      });
    try {
      const { data } = layer.parameter('in_proj_weight');
      const bias = learned?.parameter('in_proj_bias').data ?? new Float32Array(2 * dModel);
      this.#projections = [0, 1].map((part) => {
        const first = part * dModel + head * dim;
        const rows = data.slice(first * dModel, (first + dim) * dModel);
        return {
          weight: { data: rows, shape: [dim, dModel] },
          bias: bias.slice(first, first + dim),
        };
      });
    } finally {
      if (!learned) layer.dispose();
    }
  }

  /** D */
  get #dim() {
    return this.#projections[0].weight.shape[0];
  }

  /**
   * @param {SchemeName} name
   * @param {Tensor} x
   * @returns {{ matrix: Matrix | null, weights: Matrix | null }}
   */
  under(name, x) {
    const attn = this.#attn;
    const { heads, head, base, seed, clip } = this.#settings;
    const [n, dModel] = x.shape;
    switch (name) {
      case 'none':
        return { matrix: null, weights: this.#attend(x) };
      case 'sinusoidal':
        return {
          matrix: matrixOf(attn.sinusoidalEncoding({ length: n, dModel, base })),
          weights: this.#attend(attn.positionalEncoding(x, { base })),
        };
      case 'learned': {
        const table = new attn.LearnedPositionalEncoding({ maxLength: n, dModel, seed, deviation });
        try {
          return {
            matrix: matrixOf(table.parameter('weight')),
            weights: this.#attend(table.forward(x)),
          };
        } finally {
          table.dispose();
        }
      }
      case 'alibi':
        return {
          matrix: matrixOf(attn.alibiBias({ numHeads: heads, numQueries: n }), alibiHead),
          weights: this.#attend(x, { alibiSlopes: [attn.alibiSlopes(heads).data[alibiHead]] }),
        };
      case 't5': {
        const { numBuckets, maxDistance } = t5;
        const table = attn.randomNormal({
          ...{ shape: [numBuckets, heads], seed, stream: streams.t5, deviation },
        });
        const column = {
          data: Float32Array.from({ length: numBuckets }, (_, i) => table.data[i * heads + head]),
          shape: [numBuckets, 1],
        };
        return {
          matrix: matrixOf(attn.t5Bias(column, { numQueries: n, maxDistance })),
          weights: this.#attend(x, { t5Bias: { table: column, maxDistance } }),
        };
      }
      case 'shaw': {
        const relativeKeys = attn.randomNormal({
          ...{ shape: [2 * clip + 1, this.#dim], seed, stream: streams.shaw, deviation },
        });
        return { matrix: matrixOf(relativeKeys), weights: this.#attend(x, { relativeKeys }) };
      }
      default:
        return this.#rotated(name, x);
    }
  }

  /** @param {Tensor} x @param {Tables} tables @returns {Matrix} */
  withTables(x, { added, bias }) {
    const attn = this.#attn;
    const terms = bias ? { bias } : {};
    if (!added) return this.#attend(x, terms);
    const [maxLength, dModel] = added.shape;
    const table = new attn.LearnedPositionalEncoding({ maxLength, dModel });
    try {
      table.setParameter('weight', added);
      return this.#attend(table.forward(x), terms);
    } finally {
      table.dispose();
    }
  }

  /** @param {SchemeName} name @param {Tensor} x */
  #rotated(name, x) {
    const [n] = x.shape;
    const dim = this.#dim;
    const rotaryDim = dim - (dim % 2);
    if (rotaryDim === 0) return { matrix: null, weights: null };
    const rotary = new this.#attn.RotaryEmbedding({
      ...{ rotaryDim, base: this.#settings.base, scaling: scalingOf(name, this.#settings) },
    });
    try {
      const [query, key] = this.#project(x).map((tensor) => rotary.forward(tensor));
      const { cos, sin } = rotary.tables({ length: n });
      return { matrix: beside(matrixOf(cos), matrixOf(sin)), weights: this.#weights(query, key) };
    } finally {
      rotary.dispose();
    }
  }

  /** @param {Tensor} x @returns {Tensor[]} query and key (n, D) */
  #project(x) {
    return this.#projections.map(({ weight, bias }) => {
      const { data, shape } = product(this.#attn, x, weight);
      return { data: data.map((value, i) => value + bias[i % bias.length]), shape };
    });
  }

  /** @param {Tensor} x @param {object} [terms] terms to add to the scores */
  #attend(x, terms = {}) {
    const [query, key] = this.#project(x);
    return this.#weights(query, key, terms);
  }

  /** @param {Tensor} query @param {Tensor} key @param {object} [terms] */
  #weights(query, key, terms = {}) {
    const { weights } = this.#attn.scaledDotProductAttention(query, key, key, {
      ...terms,
      causal: this.#settings.causal,
      needWeights: true,
    });
    return matrixOf(weights);
  }
}

/**
 * Puts two matrices with the same number of rows side by side.
 * @param {Matrix} a
 * @param {Matrix} b
 * @returns {Matrix}
 */
function beside(a, b) {
  const columns = a.columns + b.columns;
  const data = new Float32Array(a.rows * columns);
  for (let row = 0; row < a.rows; row++) {
    data.set(a.data.subarray(row * a.columns, (row + 1) * a.columns), row * columns);
    data.set(b.data.subarray(row * b.columns, (row + 1) * b.columns), row * columns + a.columns);
  }
  return { data, rows: a.rows, columns };
}

/**
 * Describes a cell of a scheme's matrix.
 * @param {SchemeName} name
 * @param {{ row: number, column: number }} cell
 * @param {Matrix} matrix
 * @param {number} clip
 */
export function describe(name, { row, column }, { columns }, clip) {
  switch (schemes[name].kind) {
    case 'rotation': {
      const pair = column % (columns / 2);
      return texts.wave(row, pair, column < columns / 2);
    }
    case 'distances': {
      const distance = row - clip;
      return distance === 0
        ? texts.ownPosition(column)
        : texts.distance({ distance, isLast: Math.abs(distance) === clip, column });
    }
    default:
      return texts.position(row, column);
  }
}
