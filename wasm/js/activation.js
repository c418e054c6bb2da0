import { checkChoice } from './errors.js';

/** @import { Runtime } from './runtime.js' */
/** @import { TensorLike } from './tensor.js' */

/**
 * An activation function, for example between the two layers of a feed-forward network:
 *
 * - `'relu'`: max(x, 0)
 * - `'gelu'`: x·Φ(x), where Φ is the normal distribution function
 * - `'geluTanh'`: x·(1 + tanh(√(2/π)·(x + 0.044715·x³)))/2, an approximation of GELU
 * - `'silu'`: x·sigmoid(x)
 * - `'tanh'`: tanh(x)
 * - `'sigmoid'`: 1/(1 + exp(−x))
 *
 * @typedef {'relu' | 'gelu' | 'geluTanh' | 'silu' | 'tanh' | 'sigmoid'} Activation
 */

/**
 * The activations, in the order of the C++ enumeration.
 * @type {readonly Activation[]}
 */
export const kActivations = ['relu', 'gelu', 'geluTanh', 'silu', 'tanh', 'sigmoid'];

/**
 * @param {Runtime} runtime
 * @param {TensorLike} x
 * @param {Activation} activation
 */
export function applyActivation(runtime, x, activation) {
  checkChoice('activation', activation, kActivations);
  return runtime.invoke((call) => {
    const input = call.tensor('x', x);
    const output = call.result('output', input.shape);
    call.run((native) =>
      native.applyActivation(input.native, output.tensor.native, native.Activation[activation]),
    );
    return call.give(output);
  });
}
