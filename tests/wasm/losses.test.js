// Tests losses that are computed from tensors, without a tape.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';

import { load } from 'attn';

import { assertClose, assertThrows } from './compare.js';

const attn = await load({ training: true, variant: 'simd128' });
after(() => attn.dispose());

const kClasses = 7;
const logits = attn.randomNormal({ shape: [2, 3, kClasses], seed: 1 });
const targets = { data: [3, -100, 0, 6, 6, 1], shape: [2, 3] };

/**
 * Computes the loss as PyTorch defines it, in double precision.
 * @param {ArrayLike<number>} ids
 * @param {{ ignoreIndex?: number, labelSmoothing?: number, reduction?: 'mean' | 'sum' }} options
 */
function expected(ids, { ignoreIndex = -100, labelSmoothing = 0, reduction = 'mean' }) {
  const gradient = new Float64Array(logits.data.length);
  const counted = Array.from(ids).filter((id) => id !== ignoreIndex).length;
  const divisor = reduction === 'mean' ? counted : 1;
  let loss = 0;
  for (let row = 0; row < ids.length; ++row) {
    if (ids[row] === ignoreIndex) continue;
    const x = Array.from(logits.data.slice(row * kClasses, (row + 1) * kClasses));
    const lse = Math.log(x.reduce((sum, value) => sum + Math.exp(value), 0));
    for (let c = 0; c < kClasses; ++c) {
      const share = (c === ids[row] ? 1 - labelSmoothing : 0) + labelSmoothing / kClasses;
      loss += (share * (lse - x[c])) / divisor;
      gradient[row * kClasses + c] = (Math.exp(x[c] - lse) - share) / divisor;
    }
  }
  return { loss, gradient };
}

test('cross_entropy_of_tensors_matches_double_precision_with_its_gradient', () => {
  for (const options of [
    {},
    { labelSmoothing: 0.25 },
    { ignoreIndex: 6, reduction: /** @type {const} */ ('sum') },
  ]) {
    const ids = options.ignoreIndex === 6 ? [3, 5, 0, 6, 6, 1] : targets.data;
    const want = expected(ids, options);
    const { loss, gradient } = attn.crossEntropy(logits, ids, { ...options, needGradient: true });
    assert.ok(Math.abs(loss - want.loss) <= 1e-5, `${loss}, not ${want.loss}`);
    assertClose(gradient, [2, 3, kClasses], want.gradient, 2e-6);
    // The loss is bit-identical without the gradient, with targets in the shape of the logits, and
    // on a tape.
    const plain = attn.crossEntropy(logits, { data: ids, shape: [2, 3] }, options);
    assert.deepEqual(plain, { loss });
    const tape = new attn.Tape();
    const variable = tape.variable(logits);
    const recorded = attn.crossEntropy(variable, ids, options);
    tape.backward(recorded);
    assert.equal(recorded.item(), loss);
    assert.deepEqual(variable.gradient(), gradient);
  }
});

test('squared_error_of_tensors_has_the_same_bits_as_on_a_tape', () => {
  const prediction = attn.randomNormal({ shape: [3, 5], seed: 2 });
  const target = attn.randomNormal({ shape: [3, 5], seed: 3 });
  for (const reduction of /** @type {const} */ (['mean', 'sum'])) {
    const tape = new attn.Tape();
    const variable = tape.variable(prediction);
    const recorded = attn.mseLoss(variable, target, { reduction });
    tape.backward(recorded);
    const got = attn.mseLoss(prediction, target, { reduction, needGradient: true });
    assert.deepEqual(got, { loss: recorded.item(), gradient: variable.gradient() });
    assert.deepEqual(attn.mseLoss(prediction, target, { reduction }), { loss: got.loss });
    const sum = prediction.data.reduce((s, value, i) => s + (value - target.data[i]) ** 2, 0);
    assert.ok(Math.abs(got.loss - sum / (reduction === 'mean' ? 15 : 1)) <= 1e-5);
  }
});

test('tensors_in_webassembly_memory_are_used_in_place_and_gradients_stay_there', () => {
  const handle = attn.tensor(logits.data, logits.shape);
  const { loss, gradient } = attn.crossEntropy(handle, targets, { needGradient: true });
  const kept = attn.handles.crossEntropy(handle, targets, { needGradient: true });
  assert.equal(kept.loss, loss);
  assert.deepEqual(kept.gradient.toTensor(), gradient);
  kept.gradient.dispose();
  handle.dispose();
});

test('errors_name_the_argument_and_the_module_stays_usable', () => {
  const none = { data: new Int32Array(6).fill(-100), shape: [2, 3] };
  /** @type {[() => unknown, string, string | RegExp][]} */
  const cases = [
    [
      () => attn.crossEntropy(logits, [0, 1, 2, 3, 4, 7]),
      'invalid_argument',
      'targets: got 7 at (1, 2), needs an index below 7 (the number of classes in logits) or ignoreIndex (-100)',
    ],
    [
      () => attn.crossEntropy(logits, none),
      'invalid_argument',
      /^targets: got no target to average over/,
    ],
    [() => attn.crossEntropy(logits, [0, 1]), 'shape_mismatch', /^targets: got 2, needs 6/],
    [
      () => attn.crossEntropy(logits, targets, { labelSmoothing: 2 }),
      'invalid_argument',
      /^labelSmoothing: got 2/,
    ],
    [
      () => attn.crossEntropy(logits, targets, /** @type {any} */ ({ needGradient: 1 })),
      'invalid_argument',
      'needGradient: got 1, needs true or false',
    ],
    [
      () => attn.crossEntropy(logits, targets, /** @type {any} */ ({ needGradients: true })),
      'invalid_argument',
      /'needGradients' is not an option; use 'needGradient'/,
    ],
    [() => attn.crossEntropy(/** @type {any} */ (3), targets), 'invalid_argument', /^logits: /],
    [
      () => attn.mseLoss(logits, attn.randomNormal({ shape: [2, 3], seed: 1 })),
      'shape_mismatch',
      /^target: got shape \(2, 3\)/,
    ],
    [() => attn.mseLoss(logits, /** @type {any} */ (undefined)), 'invalid_argument', /^target: /],
  ];
  for (const [call, code, message] of cases) assertThrows(call, code, message);
  const tape = new attn.Tape();
  const recorded = /** @type {any} */ ({ needGradient: true });
  assertThrows(
    () => attn.crossEntropy(tape.variable(logits), targets, recorded),
    'invalid_argument',
    /'needGradient' is not an option/,
  );
  assert.equal(attn.crossEntropy(logits, none, { reduction: 'sum' }).loss, 0);
});
