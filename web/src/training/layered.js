import { attentionPositions, sizes } from './model.js';
import { worlds } from './worlds.js';

/** @import { Attn, Integers, Tensor, Variable } from 'attn' */
/** @import { Invention, LaneOptions, Model } from './model.js' */

/** Index of the largest value. @param {Float32Array} values */
const largestAt = (values) =>
  values.reduce((best, value, i) => (value > values[best] ? i : best), 0);

/** The most probable symbols. @param {Tensor} logits (…, symbols) */
export function mostProbable({ data, shape }) {
  const symbols = shape[shape.length - 1];
  return Int32Array.from({ length: data.length / symbols }, (_, i) =>
    largestAt(data.subarray(i * symbols, (i + 1) * symbols)),
  );
}

/** The probability of each answer. @param {Tensor} logits @param {Int32Array} answer */
export function probabilityOf({ data }, answer) {
  const symbols = data.length / answer.length;
  return Float32Array.from(answer, (best, i) => {
    const row = data.subarray(i * symbols, (i + 1) * symbols);
    return 1 / row.reduce((sum, value) => sum + Math.exp(value - row[best]), 0);
  });
}

/** The number of positions. @param {Integers} ids (examples, length) */
export const lengthOf = (ids) => /** @type {Tensor} */ (ids).shape[1];

/** Tokens as a batch of one. @param {Int32Array} ids */
export const alone = (ids) => ({ data: ids, shape: [1, ids.length] });

/** The base class of all models that are trained. */
export class Layered {
  /** @type {Record<string, any>} */
  parts;

  #invention;

  /**
   * @param {Attn} attn
   * @param {LaneOptions} options
   * @param {Record<string, any>} parts
   * @param {Invention} [invention]
   */
  constructor(attn, options, parts, invention) {
    this.attn = attn;
    this.options = options;
    this.#invention = invention;
    const { length, symbols } = worlds[options.world];
    const { dModel } = sizes;
    const { seed } = options;
    this.parts = {
      tokens: new attn.Embedding({
        ...{ numEmbeddings: symbols.length, embeddingDim: dModel, deviation: 0.5, seed, stream: 1 },
      }),
      ...(options.positions === 'learned' && {
        positions: new attn.LearnedPositionalEncoding({
          ...{ maxLength: length, dModel, deviation: 0.5, seed },
        }),
      }),
      ...parts,
    };
  }

  /**
   * @template {Tensor | Variable} T
   * @param {T} tokens embedded tokens
   * @param {number} [start] position of the first token
   * @param {number} [n] number of positions
   * @returns {T}
   */
  withPositions(tokens, start = 0, n = tokens.shape[1]) {
    const x = /** @type {any} */ (tokens);
    const added = this.#invention?.added(n, sizes.dModel);
    if (added) return /** @type {any} */ (this.#withTable(x, added, start));
    if (this.options.positions === 'sinusoidal') {
      return /** @type {any} */ (this.attn.positionalEncoding(x, { start }));
    }
    return this.parts.positions ? this.parts.positions.forward(x, { start }) : x;
  }

  /**
   * Adds a table that is not learned.
   * @param {any} x tokens (B, N, dModel), a tensor or a variable
   * @param {Tensor} table (n, dModel)
   * @param {number} start
   */
  #withTable(x, { data, shape: [maxLength, dModel] }, start) {
    if (x.tape) {
      const [batch, length] = x.shape;
      const rows = new Float32Array(batch * length * dModel);
      const some = data.subarray(start * dModel, (start + length) * dModel);
      for (let i = 0; i < batch; i++) rows.set(/** @type {Float32Array} */ (some), i * some.length);
      return x.add(x.tape.constant({ data: rows, shape: x.shape }));
    }
    const positions = new this.attn.LearnedPositionalEncoding({ maxLength, dModel });
    try {
      positions.setParameter('weight', { data, shape: [maxLength, dModel] });
      return positions.forward(x, { start });
    } finally {
      positions.dispose();
    }
  }

  /**
   * The bias of the reader's scheme, as an option of attention.
   * @param {number} queries
   * @param {number} [start] how many keys come before the first query
   * @param {number} [n] number of positions
   * @returns {{ bias?: Tensor }} bias: (heads, queries, start + queries)
   */
  biasOf(queries, start = 0, n = queries) {
    const { heads } = this.options;
    const all = this.#invention?.bias(n, heads, sizes.dModel);
    if (!all) return {};
    const keys = start + queries;
    if (keys === n && queries === n) return { bias: all };
    const data = new Float32Array(heads * queries * keys);
    for (let row = 0; row < heads * queries; row++) {
      const first = (Math.floor(row / queries) * n + start + (row % queries)) * n;
      data.set(/** @type {Float32Array} */ (all.data).subarray(first, first + keys), row * keys);
    }
    return { bias: { data, shape: [heads, queries, keys] } };
  }

  stateDict() {
    return Object.assign(
      {},
      ...this.#layers().map(([name, layer]) => layer.stateDict({ prefix: `${name}.` })),
    );
  }

  /** @type {Model['loadStateDict']} */
  loadStateDict(weights) {
    for (const [name, layer] of this.#layers()) {
      layer.loadStateDict(weights, { prefix: `${name}.` });
    }
  }

  /** @type {Model['pathNotFinite']} */
  pathNotFinite(tape) {
    for (const [name, layer] of this.#layers()) {
      const parameter = layer
        .parameterNames()
        .find((each) => tape.gradient(layer, each)?.data.some((value) => !Number.isFinite(value)));
      if (parameter) return `${name}.${parameter}`;
    }
    return undefined;
  }

  /** The learned table, for display. */
  get table() {
    const { positions } = this.parts;
    return positions && { table: /** @type {Tensor} */ (positions.parameter('weight')) };
  }

  dispose() {
    for (const [, layer] of this.#layers()) layer.dispose();
  }

  /** @returns {[string, import('attn').Linear][]} */
  #layers() {
    return Object.entries(this.parts);
  }
}

/**
 * Options for a stack of Transformer layers.
 * @param {LaneOptions} options
 * @param {number} stream
 */
export const stack = (options, stream) => ({
  ...{ dModel: sizes.dModel, dimFeedforward: sizes.dimFeedforward },
  ...{ numHeads: options.heads, numLayers: options.layers, normFirst: true, finalNorm: true },
  ...{ positions: attentionPositions(options), seed: options.seed, stream },
});

/** @param {Attn} attn @param {number} symbols @param {number} seed */
export const unembedding = (attn, symbols, seed) =>
  new attn.Linear({ inFeatures: sizes.dModel, outFeatures: symbols, seed, stream: 2000 });
