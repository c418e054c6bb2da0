import { pointMethodsAtCallers } from './callers.js';
import { checkOptions, flag, natural, size } from './checks.js';

/** @import { AttnError } from './errors.js' */
/** @import { CheckTable } from './checks.js' */
/** @import * as Native from './native.js' */
/** @import { Runtime } from './runtime.js' */

/**
 * Costs of one layer over a sequence.
 * @typedef {object} ArchitectureCosts
 * @property {number} multiplyAdds  number of multiply-adds for one sequence, without biases,
 *   activations and the softmax
 * @property {number} sequentialOperations  number of steps that must run one after another
 * @property {number | null} maxPathLength  number of connections that the signals of the two
 *   most distant tokens pass before one output depends on both tokens. Layers are stacked until
 *   this happens; `null` if it never happens
 */

/**
 * @typedef {object} SequenceSizes
 * @property {number} n  tokens
 * @property {number} d  width of each token, before and after the layer
 */

/** @typedef {SequenceSizes & { k: number }} ConvolutionSizes  `k` is the size of the kernel */

/**
 * @typedef {object} GatesOption
 * @property {number} [gates]  1 for a plain RNN (the default), 3 for a GRU, 4 for an LSTM
 */

/** @typedef {SequenceSizes & GatesOption} RecurrentSizes */

/**
 * @typedef {object} ProjectionsOption
 * @property {boolean} [projections]  also count the four projections of a multi-head layer
 */

/** @typedef {SequenceSizes & ProjectionsOption} SelfAttentionSizes */

/**
 * @typedef {object} WindowSizes
 * @property {number} left  number of keys to the left that a query attends to
 * @property {number} right  number of keys to the right that a query attends to
 */

/** @typedef {SelfAttentionSizes & WindowSizes} WindowAttentionSizes */

const kSequence = { n: size(), d: size() };
const kConvolution = { ...kSequence, k: size() };
const kRecurrent = { ...kSequence, gates: size(1) };
const kSelfAttention = { ...kSequence, projections: flag(false) };
const kWindowAttention = {
  ...kSequence,
  left: natural(),
  right: natural(),
  projections: flag(false),
};

/**
 * Returns the functions that compute the costs in table 1 of Vaswani et al. 2017 (D2L 11.6.1).
 * @param {Runtime} runtime
 */
export const architectureCosts = (runtime) => {
  const functions = pointMethodsAtCallers({
    /**
     * A convolution with kernel size k, zero-padded so that the output is as long as the input: n·k·d²
     * multiply-adds, 1 sequential operation, path length ⌈(n − 1) / (k − 1)⌉.
     * @param {ConvolutionSizes} sizes
     * @returns {ArchitectureCosts}
     * @throws {AttnError} `invalid_argument`, `size_overflow`
     */
    convolution(sizes) {
      return costs(runtime, sizes, kConvolution, ({ n, d, k }, native) =>
        native.convolutionCosts(n, d, k),
      );
    },

    /**
     * A convolution whose dilation grows from layer to layer (1, k, k², …): path length ⌈log_k n⌉.
     * @param {ConvolutionSizes} sizes
     * @returns {ArchitectureCosts}
     * @throws {AttnError} `invalid_argument`, `size_overflow`
     */
    dilatedConvolution(sizes) {
      return costs(runtime, sizes, kConvolution, ({ n, d, k }, native) =>
        native.dilatedConvolutionCosts(n, d, k),
      );
    },

    /**
     * A recurrent layer: 2·gates·n·d² multiply-adds, n sequential operations, path length n.
     * @param {RecurrentSizes} sizes
     * @returns {ArchitectureCosts}
     * @throws {AttnError} `invalid_argument`, `size_overflow`
     */
    recurrent(sizes) {
      return costs(runtime, sizes, kRecurrent, ({ n, d, gates }, native) =>
        native.recurrentCosts(n, d, gates),
      );
    },

    /**
     * Self-attention: 2·n²·d multiply-adds (plus 4·n·d² with projections), 1 sequential operation, path length 1.
     * @param {SelfAttentionSizes} sizes
     * @returns {ArchitectureCosts}
     * @throws {AttnError} `invalid_argument`, `size_overflow`
     */
    selfAttention(sizes) {
      return costs(runtime, sizes, kSelfAttention, ({ n, d, projections }, native) =>
        native.selfAttentionCosts(n, d, projections),
      );
    },

    /**
     * Self-attention in a window: 2·pairs·d multiply-adds (plus 4·n·d² with projections), 1
     * sequential operation, path length ⌈(n − 1) / (left + right)⌉. `pairs` is the number of
     * query-key pairs in the window.
     * @param {WindowAttentionSizes} sizes
     * @returns {ArchitectureCosts}
     * @throws {AttnError} `invalid_argument`, `size_overflow`
     */
    windowAttention(sizes) {
      return costs(runtime, sizes, kWindowAttention, ({ n, d, left, right, projections }, native) =>
        native.windowAttentionCosts(n, d, left, right, projections),
      );
    },
  });
  return Object.freeze(functions);
};

/** @typedef {ReturnType<typeof architectureCosts>} CostsOfArchitectures */

/**
 * @param {Runtime} runtime
 * @param {object} sizes
 * @param {CheckTable} table
 * @param {(sizes: any, native: Native.MainModule) => Native.ArchitectureCosts} count
 * @returns {ArchitectureCosts}
 */
const costs = (runtime, sizes, table, count) =>
  runtime.invoke((call) => {
    const checked = checkOptions(sizes, table);
    const { maxPathLength, ...others } = call.run((native) => count(checked, native));
    return { ...others, maxPathLength: Number.isNaN(maxPathLength) ? null : maxPathLength };
  });
