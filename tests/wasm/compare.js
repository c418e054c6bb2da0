import assert from 'node:assert/strict';

import { AttnError } from 'attn';

/** @import { Tensor } from 'attn' */

/**
 * @param {Tensor} actual
 * @param {readonly number[]} shape
 * @param {ArrayLike<number>} expected
 * @param {number} tolerance
 */
export function assertClose(actual, shape, expected, tolerance) {
  assert.deepEqual(actual.shape, shape);
  assert.equal(actual.data.length, expected.length);
  assert.ok(actual.data instanceof Float32Array);
  let worst = 0;
  let at = 0;
  for (let i = 0; i < expected.length; ++i) {
    // Infinities must match exactly.
    const same = actual.data[i] === expected[i];
    const error = same ? 0 : Math.abs(actual.data[i] - expected[i]);
    // NaN counts as the largest error.
    if (!(error <= worst)) [worst, at] = [error, i];
    if (Number.isNaN(error)) break;
  }
  const seen = `element ${at} is ${actual.data[at]}, expected ${expected[at]} ± ${tolerance}`;
  assert.ok(worst <= tolerance, seen);
}

/**
 * @param {() => unknown} call
 * @param {string} code
 * @param {string | RegExp} message
 */
export function assertThrows(call, code, message) {
  assert.throws(call, (error) => isError(error, code, message));
}

/**
 * @param {Promise<unknown>} promise
 * @param {string} code
 * @param {string | RegExp} message
 */
export async function assertRejects(promise, code, message) {
  await assert.rejects(promise, (error) => isError(error, code, message));
}

/**
 * @param {unknown} error
 * @param {string} code
 * @param {string | RegExp} message
 */
function isError(error, code, message) {
  assert.ok(error instanceof AttnError, `${error} is no AttnError`);
  assert.equal(error.name, 'AttnError');
  if (typeof message === 'string') assert.equal(error.message, message);
  else assert.match(error.message, message);
  assert.equal(error.code, code);
  const { argument, got, needs } = error;
  if (got === undefined) {
    assert.equal(needs, undefined);
    assert.ok(argument === undefined || error.message.startsWith(`${argument}: `));
  } else assert.equal(error.message, `${argument}: got ${got}, needs ${needs}`);
  return true;
}
