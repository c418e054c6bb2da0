// Compares gradients with central differences.

import assert from 'node:assert/strict';

/** @import { Linear, Tensor, TrainingAttn, Variable } from 'attn' */

/** @param {ArrayLike<number>} a @param {ArrayLike<number>} b */
export const dot = (a, b) => Array.from(a).reduce((sum, value, i) => sum + value * b[i], 0);

/** @param {Tensor} x @param {number} step @param {Tensor} direction */
const moved = ({ data, shape }, step, direction) => ({
  data: data.map((value, i) => value + step * direction.data[i]),
  shape,
});

/**
 * @param {string} name
 * @param {number} actual
 * @param {(step: number) => number} valueAt
 */
function assertSlope(name, actual, valueAt) {
  const slopeAt = (/** @type {number} */ h) => (valueAt(h) - valueAt(-h)) / (2 * h);
  // Richardson extrapolation cancels the error term that is of second order in the step.
  const expected = (4 * slopeAt(5e-3) - slopeAt(1e-2)) / 3;
  const difference = Math.abs(actual - expected);
  assert.ok(difference <= 2e-3 * (1 + Math.abs(expected)), `${name}: ${actual}, not ${expected}`);
}

/**
 * Checks the gradient of one input along a random direction.
 * @param {TrainingAttn} attn
 * @param {(x: Variable) => Variable} f
 * @param {Tensor} x
 */
export function assertInputGradient(attn, f, x) {
  const tape = new attn.Tape();
  const input = tape.variable(x);
  const output = f(input);
  const along = attn.randomNormal({ shape: [...output.shape], seed: 99 });
  const direction = attn.randomNormal({ shape: x.shape, seed: 98 });
  tape.backward(output, along);
  const gradient = input.gradient() ?? assert.fail('no gradient');
  assertSlope('the input', dot(gradient.data, direction.data), (step) => {
    tape.clear();
    return dot(f(tape.variable(moved(x, step, direction))).value().data, along.data);
  });
  tape.dispose();
}

/**
 * Checks the gradient of every parameter of a layer.
 * @param {TrainingAttn} attn
 * @param {Pick<Linear, 'parameter' | 'parameterNames' | 'setParameter'>} layer
 * @param {(tape: InstanceType<TrainingAttn['Tape']>) => Variable} f
 */
export function assertParameterGradients(attn, layer, f) {
  const tape = new attn.Tape();
  const output = f(tape);
  const along = attn.randomNormal({ shape: [...output.shape], seed: 97 });
  tape.backward(output, along);
  const names = layer.parameterNames();
  const gradients = names.map(
    (name) => tape.gradient(/** @type {any} */ (layer), name) ?? assert.fail(name),
  );
  names.forEach((name, i) => {
    const values = layer.parameter(name);
    const direction = attn.randomNormal({ shape: values.shape, seed: i });
    assertSlope(name, dot(gradients[i].data, direction.data), (step) => {
      tape.clear();
      layer.setParameter(name, moved(values, step, direction));
      return dot(f(tape).value().data, along.data);
    });
    layer.setParameter(name, values);
  });
  tape.dispose();
}
