import assert from 'node:assert/strict';
import test from 'node:test';

import { convolution, recurrence, selfAttention, window } from './paths.js';

/** @import { Connection, Diagram } from './paths.js' */

const key = (/** @type {Connection} */ { from, to }) =>
  [from.row, from.column, to.row, to.column].join();

/**
 * True if the path leads from a token to the node where both paths meet. Fails if the path contains
 * a connection that the diagram does not have.
 * @param {Diagram} diagram
 * @param {number} token
 */
function connects({ connections, path, meeting }, token) {
  const existing = new Set(connections.map(key));
  assert.ok(path.every((step) => existing.has(key(step))));
  let at = [`0,${token}`];
  for (let i = 0; i <= path.length; i++) {
    const reached = path
      .filter(({ from }) => at.includes(`${from.row},${from.column}`))
      .map(({ to }) => `${to.row},${to.column}`);
    at = [...new Set([...at, ...reached])];
  }
  return at.includes(`${meeting?.row},${meeting?.column}`);
}

test('the two tokens meet in every architecture, whatever their positions', () => {
  for (const n of [1, 2, 7, 12]) {
    for (let first = 0; first < n; first++) {
      for (let second = 0; second < n; second++) {
        const diagrams = [recurrence(n, first, second), selfAttention(n, first, second)];
        for (const k of [2, 3, 4, 5, 9]) {
          const layers = Math.max(1, Math.ceil(Math.abs(first - second) / (k - 1)));
          diagrams.push(convolution(n, k, layers, first, second));
        }
        for (const [i, diagram] of diagrams.entries()) {
          const message = `${i}: ${first} and ${second} of ${n}`;
          assert.ok(diagram.meeting, message);
          assert.ok(connects(diagram, first) && connects(diagram, second), message);
        }
      }
    }
  }
});

test('with one convolution layer fewer, the two tokens do not meet', () => {
  assert.equal(convolution(12, 3, 2, 1, 7).meeting, null);
  assert.notEqual(convolution(12, 3, 3, 1, 7).meeting, null);
});

test('windows span k tokens, and an even kernel has its extra token after the output', () => {
  assert.deepEqual(window(3), { left: 1, right: 1 });
  assert.deepEqual(window(4), { left: 1, right: 2 });
  assert.equal(convolution(9, 4, 1, 0, 0).connections.length, 9 * 4 - 1 - 3);
});
