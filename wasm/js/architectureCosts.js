import { checkOptions } from './tensor.js';

/** @import { Operation, Runtime } from './runtime.js' */

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

/**
 * @param {Runtime} runtime
 * @param {Operation} operation
 * @param {Record<string, number>} sizes  each with the least value that it may have: 1, for sides of
 *   a window 0
 * @param {boolean} [projections]
 * @returns {ArchitectureCosts}
 */
function costs(runtime, operation, sizes, projections = false) {
  return runtime.call((call) => {
    for (const [name, size] of Object.entries(sizes)) {
      call.integer(name, size, name === 'left' || name === 'right' ? 0 : 1);
    }
    call.flag('projections', projections);
    call.run(operation);
    const pathLength = call.given(2);
    return {
      multiplyAdds: call.given(0),
      sequentialOperations: call.given(1),
      maxPathLength: Number.isNaN(pathLength) ? null : pathLength,
    };
  });
}

/**
 * @param {Runtime} runtime
 * @param {ConvolutionSizes} sizes
 */
export function convolutionCosts(runtime, sizes) {
  checkOptions(sizes);
  const { n, d, k } = sizes;
  return costs(runtime, 'convolutionCosts', { n, d, k });
}

/**
 * @param {Runtime} runtime
 * @param {ConvolutionSizes} sizes
 */
export function dilatedConvolutionCosts(runtime, sizes) {
  checkOptions(sizes);
  const { n, d, k } = sizes;
  return costs(runtime, 'dilatedConvolutionCosts', { n, d, k });
}

/**
 * @param {Runtime} runtime
 * @param {RecurrentSizes} sizes
 */
export function recurrentCosts(runtime, sizes) {
  checkOptions(sizes);
  const { n, d, gates = 1 } = sizes;
  return costs(runtime, 'recurrentCosts', { n, d, gates });
}

/**
 * @param {Runtime} runtime
 * @param {SelfAttentionSizes} sizes
 */
export function selfAttentionCosts(runtime, sizes) {
  checkOptions(sizes);
  const { n, d, projections } = sizes;
  return costs(runtime, 'selfAttentionCosts', { n, d }, projections);
}

/**
 * @param {Runtime} runtime
 * @param {WindowAttentionSizes} sizes
 */
export function windowAttentionCosts(runtime, sizes) {
  checkOptions(sizes);
  const { n, d, left, right, projections } = sizes;
  return costs(runtime, 'windowAttentionCosts', { n, d, left, right }, projections);
}
