import { Decoder } from './decode.js';
import { joinHeads, splitHeads } from './heads.js';
import { headRows } from './layer.js';

/** @typedef {import('attn').Tensor} Tensor */

/**
 * @typedef {object} BlockRun
 * @property {Record<string, Tensor>} stages every matrix between input and output, by the id of
 *   its stage
 * @property {Record<string, Tensor>} scores Q Kᵀ / √D for each head with weights in `stages`,
 *   including a learned bias, if there is one
 * @property {number} [heads] number of heads whose weights are in `stages`
 * @property {number} [firstHead] the first of these heads
 */

/** Largest number of heads whose weights are returned. */
export const mostHeads = 16;

/** Parameters are returned only if they have at most this many numbers (64 MB). */
const mostNumbers = 2 ** 24;

/** The intermediates that a layer returns per head. */
const byHead = {
  ...{ q: 'self_attn.q', k: 'self_attn.k', v: 'self_attn.v', heads: 'self_attn.head_output' },
};
const weights = 'self_attn.weights';

/** Names of the other intermediates, by stage id. @param {import('attn').LanguageModelLayer} layer */
function matricesOf({ gatedFeedForward, normFirst, normOutputs }) {
  const last = gatedFeedForward ? 'down_proj.output' : 'linear2.output';
  const hasNorms = normFirst || !normOutputs;
  return {
    ...{ x: 'resid_pre', attention: normOutputs ? 'output_norm1.output' : 'self_attn.output' },
    ...{ sum1: 'resid_mid', ...(hasNorms && { norm1: 'norm1.output' }) },
    ...(gatedFeedForward && { gate: 'gate_proj.output', up: 'up_proj.output' }),
    ...{ hidden: 'hidden', feedForward: normOutputs ? 'output_norm2.output' : last },
    ...{ sum2: 'resid_post', ...(hasNorms && { norm2: 'norm2.output' }) },
  };
}

/** A layer of any model that returns every matrix between its input and its output. */
export class Block {
  #layer;
  #described;
  #parameter;
  #isOwned;
  #scores;
  /** @type {Decoder | undefined} */
  #decoder;

  /**
   * @param {import('./layer.js').EncoderLayer} layer
   * @param {import('attn').LanguageModelLayer} described
   * @param {{ isOwned?: boolean, hasBias?: boolean, parameter?: (name: string) => Tensor }} [options]
   *   isOwned: whether `dispose()` also disposes of the layer; hasBias: whether a learned bias is
   *   added to scores; parameter: returns a parameter of the layer
   */
  constructor(layer, described, { isOwned = false, hasBias = false, parameter } = {}) {
    this.#scores = `self_attn.${hasBias ? 'biased' : 'scaled'}_scores`;
    this.#layer = layer;
    this.#described = described;
    this.#isOwned = isOwned;
    this.#parameter = parameter ?? ((/** @type {any} */ name) => layer.parameter(name));
  }

  /**
   * @param {any} x (n, E); not read if the layer knows its input
   * @param {import('attn').ExclusionOptions} exclusion
   * @param {number} [head] a head to include
   * @returns {BlockRun}
   */
  forward(x, exclusion, head = 0) {
    const matrices = Object.entries(matricesOf(this.#described));
    const names = [...matrices, ...Object.entries(byHead)].map(([, name]) => name);
    const { intermediates: shown = {} } = this.#layer.forward(x, {
      attention: exclusion,
      intermediates: [...names, weights, this.#scores],
    });
    /** @type {Record<string, Tensor>} */
    const stages = {};
    for (const [id, name] of matrices) stages[id] = shown[name];
    for (const [id, name] of Object.entries(byHead)) stages[id] = joinHeads(shown[name]);
    const heads = Math.min(this.#described.numHeads, mostHeads);
    const firstHead = Math.floor(head / heads) * heads;
    const some = (/** @type {Tensor} */ tensor) =>
      Object.fromEntries(
        splitHeads(tensor)
          .slice(firstHead, firstHead + heads)
          .map(({ data, shape }, i) => [`weights${firstHead + i}`, { data: data.slice(), shape }]),
      );
    const drawn = some(shown[weights]);
    return {
      stages: { ...stages, ...drawn },
      scores: some(shown[this.#scores]),
      ...{ firstHead, heads: Object.keys(drawn).length },
    };
  }

  /**
   * The matrices and vectors of the layer's products and norms, keyed by stage id. If the matrices
   * have too many numbers, the result contains only the vectors of the norms.
   * @returns {Record<string, Tensor>}
   */
  parameters() {
    const { dModel, headDim, numHeads, numKvHeads, dimFeedforward, gatedFeedForward } =
      this.#described;
    const all = new Set(/** @type {string[]} */ (this.#layer.parameterNames()));
    const of = (/** @type {string} */ name) => (all.has(name) ? this.#parameter(name) : undefined);
    /** @type {Record<string, Tensor | undefined>} */
    const found = {
      ...{ norm1: of('norm1.weight'), norm1Bias: of('norm1.bias') },
      ...{ norm2: of('norm2.weight'), norm2Bias: of('norm2.bias') },
    };
    const projected = 2 * headDim * (numHeads + numKvHeads);
    if (dModel * (projected + dimFeedforward * (gatedFeedForward ? 3 : 2)) <= mostNumbers) {
      for (const which of /** @type {const} */ (['q', 'k', 'v'])) {
        const { name, first, bias } = headRows(this.#described, which, 0);
        const rows = (which === 'q' ? numHeads : numKvHeads) * headDim;
        const { data } = this.#parameter(`self_attn.${name}`);
        found[which] = {
          data: data.slice(first * dModel, (first + rows) * dModel),
          shape: [rows, dModel],
        };
        const biases = of('self_attn.in_proj_bias');
        if (biases) {
          found[`${which}Bias`] = { data: biases.data.slice(bias, bias + rows), shape: [rows] };
        }
      }
      const [wide, narrow] = gatedFeedForward ? ['', 'down_proj'] : ['linear1', 'linear2'];
      Object.assign(found, {
        attention: of('self_attn.out_proj.weight'),
        attentionBias: of('self_attn.out_proj.bias'),
        ...{ hidden: of(`${wide}.weight`), hiddenBias: of(`${wide}.bias`) },
        ...{ feedForward: of(`${narrow}.weight`), feedForwardBias: of(`${narrow}.bias`) },
      });
    }
    return /** @type {Record<string, Tensor>} */ (
      Object.fromEntries(Object.entries(found).filter(([, tensor]) => tensor))
    );
  }

  /** Runs the layer token by token with a cache. @param {Tensor} x (n, E), n ≥ 1 */
  decode(x) {
    this.#decoder ??= new Decoder(this.#layer);
    return this.#decoder.decode(x);
  }

  dispose() {
    this.#decoder?.dispose();
    if (this.#isOwned) this.#layer.dispose();
  }
}
