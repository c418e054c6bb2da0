import { maxAbsDifference } from '../../model/shuffle.js';
import { encoderLayer } from './layer.js';

/** @typedef {import('attn').Attn} Attn */
/** @typedef {import('attn').Tensor} Tensor */
/** @typedef {import('./layer.js').BlockOptions} BlockOptions */

/**
 * @typedef {object} BlockRun
 * @property {Record<string, Tensor>} stages every matrix on the way, by the id of its stage
 * @property {Record<string, Tensor>} scores Q Kᵀ / √D of each head
 * @property {number} difference the largest one between the last stage and the output of the core's
 *   layer, run as one
 */

/**
 * One encoder block, taken apart: the core's TransformerEncoderLayer keeps its intermediate matrices
 * to itself, so each step is run by a layer of its own with the same parameters.
 */
export class EncoderBlock {
  #attn;
  /** @type {{ dispose: () => void }[]} */
  #layers = [];
  #layer;
  #projections;
  #linear2;
  #linear1;
  #residual;
  #norms;

  /** @param {Attn} attn @param {BlockOptions} options */
  constructor(attn, options) {
    const { dModel } = options;
    this.options = options;
    this.#attn = attn;
    this.#layer = this.#own(encoderLayer(attn, options));
    const parameter = (/** @type {string} */ name) => this.#layer.parameter(name);
    const joined = parameter('self_attn.in_proj_weight').data;
    const square = dModel * dModel;
    /** The matrix of parameters of each `product`, (columns, columns before). @type {Record<string, Tensor>} */
    this.parameters = {
      ...Object.fromEntries(
        ['q', 'k', 'v'].map((id, i) => [
          id,
          { data: joined.slice(i * square, (i + 1) * square), shape: [dModel, dModel] },
        ]),
      ),
      attention: parameter('self_attn.out_proj.weight'),
      hidden: parameter('linear1.weight'),
      feedForward: parameter('linear2.weight'),
    };
    this.#projections = ['q', 'k', 'v', 'attention'].map((id) => this.#linear(this.parameters[id]));
    this.#linear1 = this.#linear(this.parameters.hidden, parameter('linear1.bias'));
    this.#linear2 = this.#linear(this.parameters.feedForward, parameter('linear2.bias'));
    this.#norms = ['norm1', 'norm2'].map((name) => {
      const norm = this.#own(new attn.LayerNorm({ width: dModel }));
      for (const part of ['weight', 'bias']) {
        norm.setParameter(part, parameter(`${name}.${part}`));
      }
      return norm;
    });
    this.#residual = this.#linear(twoIdentities(dModel));
  }

  /** The layer that is taken apart. */
  get layer() {
    return this.#layer;
  }

  /** The queries alone, of all heads side by side. @param {Tensor} x (n, E) @returns {Tensor} (n, E) */
  queries(x) {
    return this.#projections[0].forward(this.options.normFirst ? this.#norms[0].forward(x) : x);
  }

  /**
   * @param {Tensor} x (n, E)
   * @param {import('attn').ExclusionOptions} exclusion
   * @returns {BlockRun}
   */
  forward(x, exclusion) {
    const { normFirst, heads } = this.options;
    const [toQueries, toKeys, toValues, project] = this.#projections;
    const [norm1, norm2] = this.#norms;
    const [length, dModel] = x.shape;

    const attended = normFirst ? norm1.forward(x) : x;
    const [q, k, v] = [toQueries, toKeys, toValues].map((layer) => layer.forward(attended));
    const [queries, keys, values] = [q, k, v].map(({ data }) => ({
      data,
      shape: [1, length, dModel],
    }));
    const { output, weights, scaledScores } = this.#attn.scaledDotProductAttention(
      ...[queries, keys, values],
      { ...exclusion, numHeads: heads, needWeights: true, needScaledScores: true },
    );
    const joined = { data: output.data, shape: x.shape };
    const attention = project.forward(joined);
    const sum1 = this.#add(x, attention);
    const fed = normFirst ? norm2.forward(sum1) : norm1.forward(sum1);
    const hidden = this.#attn.applyActivation(this.#linear1.forward(fed), 'relu');
    const feedForward = this.#linear2.forward(hidden);
    const sum2 = this.#add(normFirst ? sum1 : fed, feedForward);
    const last = normFirst ? sum2 : norm2.forward(sum2);

    const stages = {
      ...{ x, q, k, v, heads: joined, attention, sum1, hidden, feedForward, sum2 },
      ...(normFirst ? { norm1: attended, norm2: fed } : { norm1: fed, norm2: last }),
      ...eachHead('weights', weights),
    };
    const whole = this.#layer.forward(x, { attention: exclusion }).output;
    return {
      stages,
      scores: eachHead('weights', scaledScores),
      difference: maxAbsDifference(last, whole),
    };
  }

  dispose() {
    for (const layer of this.#layers) layer.dispose();
    this.#layers = [];
  }

  /** @template {{ dispose: () => void }} T @param {T} layer @returns {T} */
  #own(layer) {
    this.#layers.push(layer);
    return layer;
  }

  /** @param {Tensor} weight @param {Tensor} [bias] */
  #linear(weight, bias) {
    const [outFeatures, inFeatures] = weight.shape;
    const layer = this.#own(
      new this.#attn.Linear({ inFeatures, outFeatures, bias: bias !== undefined, init: 'zeros' }),
    );
    layer.setParameter('weight', weight);
    if (bias) layer.setParameter('bias', bias);
    return layer;
  }

  /** a + b, one rounding for each sum. @param {Tensor} a @param {Tensor} b (n, E) */
  #add(a, b) {
    const [length, width] = a.shape;
    const data = new Float32Array(2 * length * width);
    for (let i = 0; i < length; i++) {
      data.set(a.data.subarray(i * width, (i + 1) * width), 2 * i * width);
      data.set(b.data.subarray(i * width, (i + 1) * width), (2 * i + 1) * width);
    }
    return this.#residual.forward({ data, shape: [length, 2 * width] });
  }
}

/**
 * (I | I): a row [a | b] times its transpose is a + b, computed by the core as everything that is
 * drawn. Products with 0 and 1 are exact, so that the only rounding is that of the sum.
 * @param {number} width
 */
function twoIdentities(width) {
  const data = new Float32Array(2 * width * width);
  for (let i = 0; i < width; i++) data[2 * i * width + i] = data[(2 * i + 1) * width + i] = 1;
  return { data, shape: [width, 2 * width] };
}

/**
 * (1, H, n, n) as one tensor for each head, named `name0` and so on.
 * @param {string} name
 * @param {Tensor} tensor
 * @returns {Record<string, Tensor>}
 */
function eachHead(name, { data, shape: [, heads, rows, columns] }) {
  const size = rows * columns;
  return Object.fromEntries(
    Array.from({ length: heads }, (_, head) => [
      `${name}${head}`,
      { data: data.subarray(head * size, (head + 1) * size), shape: [rows, columns] },
    ]),
  );
}
