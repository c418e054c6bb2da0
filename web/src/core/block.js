import { joinHeads, splitHeads } from './heads.js';
import { encoderLayer } from './layer.js';

/** @typedef {import('attn').Attn} Attn */
/** @typedef {import('attn').Tensor} Tensor */
/** @typedef {import('./layer.js').BlockOptions} BlockOptions */

/**
 * @typedef {object} BlockRun
 * @property {Record<string, Tensor>} stages every matrix between input and output, by the id of
 *   its stage
 * @property {Record<string, Tensor>} scores Q Kᵀ / √D for each head
 */

/** Names of the intermediates of TransformerEncoderLayer, by stage id. */
const matrices = {
  ...{ x: 'resid_pre', attention: 'self_attn.output', sum1: 'resid_mid', norm1: 'norm1.output' },
  ...{ hidden: 'hidden', feedForward: 'linear2.output', sum2: 'resid_post', norm2: 'norm2.output' },
};
/** The intermediates that the layer returns per head. */
const byHead = {
  ...{ q: 'self_attn.q', k: 'self_attn.k', v: 'self_attn.v', heads: 'self_attn.head_output' },
};
const [weights, scores] = ['self_attn.weights', 'self_attn.scaled_scores'];
const intermediates = [...Object.values(matrices), ...Object.values(byHead), weights, scores];

/** An encoder block that returns every matrix between its input and its output. */
export class EncoderBlock {
  #layer;
  #own;

  /**
   * @param {Attn} attn
   * @param {BlockOptions} options
   * @param {import('./layer.js').EncoderLayer} [learned] an existing layer to use, which
   * `dispose()` leaves alone
   */
  constructor(attn, options, learned) {
    const { dModel } = options;
    this.#own = !learned;
    this.#layer = learned ?? encoderLayer(attn, options);
    const parameter = (/** @type {string} */ name) => this.#layer.parameter(name);
    const [q, k, v] = splitHeads({
      data: parameter('self_attn.in_proj_weight').data,
      shape: [3, dModel, dModel],
    });
    /**
     * The parameter matrix of each `product`, (columns, columns before).
     * @type {Record<string, Tensor>}
     */
    this.parameters = {
      ...{ q, k, v, attention: parameter('self_attn.out_proj.weight') },
      ...{ hidden: parameter('linear1.weight'), feedForward: parameter('linear2.weight') },
    };
    if (!learned) return;
    const bias = parameter('self_attn.in_proj_bias').data;
    const part = (/** @type {number} */ i) => bias.slice(i * dModel, (i + 1) * dModel);
    const vectors = {
      ...{ qBias: part(0), kBias: part(1), vBias: part(2) },
      attentionBias: parameter('self_attn.out_proj.bias').data,
      ...{
        hiddenBias: parameter('linear1.bias').data,
        feedForwardBias: parameter('linear2.bias').data,
      },
      ...{ norm1: parameter('norm1.weight').data, norm1Bias: parameter('norm1.bias').data },
      ...{ norm2: parameter('norm2.weight').data, norm2Bias: parameter('norm2.bias').data },
    };
    for (const [name, data] of Object.entries(vectors)) {
      this.parameters[name] = { data, shape: [data.length] };
    }
  }

  /**
   * @param {Tensor} x (n, E)
   * @param {import('attn').ExclusionOptions} exclusion
   * @returns {BlockRun}
   */
  forward(x, exclusion) {
    const { intermediates: shown = {} } = this.#layer.forward(x, {
      attention: exclusion,
      intermediates,
    });
    /** @type {Record<string, Tensor>} */
    const stages = {};
    for (const [id, name] of Object.entries(matrices)) stages[id] = shown[name];
    for (const [id, name] of Object.entries(byHead)) stages[id] = joinHeads(shown[name]);
    return {
      stages: { ...stages, ...eachHead(shown[weights]) },
      scores: eachHead(shown[scores]),
    };
  }

  dispose() {
    if (this.#own) this.#layer.dispose();
  }
}

/**
 * Splits a tensor into one matrix per head, keyed by stage id.
 * @param {Tensor} tensor (H, n, n)
 */
const eachHead = (tensor) =>
  Object.fromEntries(splitHeads(tensor).map((matrix, head) => [`weights${head}`, matrix]));
