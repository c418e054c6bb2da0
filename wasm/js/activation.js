import { checkChoice, checkTensor } from './tensor.js';

/** @import { Runtime } from './runtime.js' */
/** @import { TensorLike } from './tensor.js' */

/**
 * The functions between the two layers of a feed-forward network: `'relu'` is max(x, 0), `'gelu'`
 * x·Φ(x), and `'geluTanh'` its approximation x·(1 + tanh(√(2/π)·(x + 0.044715·x³)))/2.
 * @typedef {'relu' | 'gelu' | 'geluTanh'} Activation
 */

/** In the order of the C++ enumeration. */
const kActivations = ['relu', 'gelu', 'geluTanh'];

/**
 * The place of an activation in the C++ enumeration.
 * @param {Activation} activation
 */
export function activationIndex(activation) {
  checkChoice('activation', activation, kActivations);
  return kActivations.indexOf(activation);
}

/**
 * @param {Runtime} runtime
 * @param {TensorLike} x
 * @param {Activation} activation
 */
export function applyActivation(runtime, x, activation) {
  checkTensor('x', x);
  const index = activationIndex(activation);
  return runtime.call((call) => {
    call.floats('x', x);
    const output = call.result('output', x.shape);
    call.number(index);
    call.run(runtime.native.applyActivation);
    return call.give(output);
  });
}
