import { flag, natural, size, writeOptions } from './options.js';

/** @import { Runtime } from './runtime.js' */

/**
 * What one layer over a sequence costs.
 * @typedef {object} ArchitectureCosts
 * @property {number} multiplyAdds  multiplications that are added up, for one sequence; biases,
 *   activations and the softmax are left out
 * @property {number} sequentialOperations  steps that have to wait for one another
 * @property {number | null} maxPathLength  the number of connections that a signal runs through until
 *   the two tokens furthest apart meet in one output, in a stack of as many such layers as it takes;
 *   `null` when they never do
 */

/**
 * @typedef {object} SequenceSizes
 * @property {number} n  tokens
 * @property {number} d  width of each before and behind the layer
 */

/** @typedef {SequenceSizes & { k: number }} ConvolutionSizes  `k` is the size of the kernel */

/**
 * @typedef {object} GatesOption
 * @property {number} [gates]  1 for a plain RNN (the default), 3 for a GRU, 4 for an LSTM
 */

/** @typedef {SequenceSizes & GatesOption} RecurrentSizes */

/**
 * @typedef {object} ProjectionsOption
 * @property {boolean} [projections]  count the four projections of a multi-head layer, too
 */

/** @typedef {SequenceSizes & ProjectionsOption} SelfAttentionSizes */

/**
 * @typedef {object} WindowSizes
 * @property {number} left  keys to the left that a query attends to
 * @property {number} right  keys to the right
 */

/** @typedef {SelfAttentionSizes & WindowSizes} WindowAttentionSizes */

const kSequence = { n: size(), d: size() };
const kConvolution = { ...kSequence, k: size() };
const kProjections = { projections: flag(false) };

/** The sizes of each architecture, by its operation. */
const kSizes = {
  convolutionCosts: kConvolution,
  dilatedConvolutionCosts: kConvolution,
  recurrentCosts: { ...kSequence, gates: size(1) },
  selfAttentionCosts: { ...kSequence, ...kProjections },
  windowAttentionCosts: { ...kSequence, left: natural(), right: natural(), ...kProjections },
};

/**
 * @param {Runtime} runtime
 * @param {keyof typeof kSizes} operation
 * @param {object} sizes
 * @returns {ArchitectureCosts}
 */
export function costs(runtime, operation, sizes) {
  return runtime.call((call) => {
    writeOptions(call, sizes, kSizes[operation]);
    call.run(operation);
    const pathLength = call.given(2);
    return {
      multiplyAdds: call.given(0),
      sequentialOperations: call.given(1),
      maxPathLength: Number.isNaN(pathLength) ? null : pathLength,
    };
  });
}
