import assert from 'node:assert/strict';
import { test } from 'node:test';

import { progressOn } from '../../../wasm/toolchain/progress.js';

/** @import { TestContext } from 'node:test' */

/**
 * A progress display whose output is recorded and whose clock is advanced by the test.
 * @param {TestContext} t
 * @param {object} [properties]  properties of the output
 */
function makeProgress(t, properties = {}) {
  t.mock.timers.enable({ apis: ['setInterval', 'Date'] });
  let text = '';
  const output = { ...properties, write: (/** @type {string} */ more) => (text += more) };
  /** The text written since the last call. */
  const written = () => {
    const all = text;
    text = '';
    return all;
  };
  return {
    ...progressOn(output),
    written,
    pass: (/** @type {number} */ s) => t.mock.timers.tick(s * 1000),
  };
}

test('a_pipe_gets_a_line_every_ten_seconds_and_one_at_the_end', async (t) => {
  const { step, written, pass } = makeProgress(t);
  const result = await step('Building', async (update) => {
    update('1/3');
    pass(9);
    assert.equal(written(), '');
    update('2/3');
    pass(1);
    assert.equal(written(), 'Building, 2/3, 10 s\n');
    pass(2.5);
    return 'result';
  });
  assert.equal(result, 'result');
  assert.equal(written(), 'Building: done in 12.5 s\n');
  pass(20);
  assert.equal(written(), '');
});

test('a_terminal_has_one_line_that_is_updated_in_place', async (t) => {
  const { step, say, written, pass } = makeProgress(t, { isTTY: true, columns: 80 });
  await step('Building', async (update) => {
    assert.equal(written(), '\r\x1b[KBuilding, 0 s');
    pass(1);
    assert.equal(written(), '\r\x1b[KBuilding, 1 s');
    update('1/3');
    assert.equal(written(), '\r\x1b[KBuilding, 1/3, 1 s');
    say('A message.');
    assert.equal(written(), '\r\x1b[KA message.\n\r\x1b[KBuilding, 1/3, 1 s');
  });
  assert.equal(written(), '\r\x1b[KBuilding: done in 1.0 s\n');
});

test('a_name_is_truncated_to_fit_the_terminal', async (t) => {
  const { step, written } = makeProgress(t, { isTTY: true, columns: 22 });
  await step('Building the package', async (update) => {
    written();
    update('1/3');
    assert.equal(written(), '\r\x1b[KBuilding, 1/3, 0 s');
  });
});

test('simultaneous_steps_share_the_line', async (t) => {
  const { step, written } = makeProgress(t, { isTTY: true, columns: 80 });
  await step('Testing', async (update) => {
    update('5/9');
    written();
    await step('Building', () =>
      assert.equal(written(), '\r\x1b[KTesting, 5/9, 0 s | Building, 0 s'),
    );
    assert.equal(written(), '\r\x1b[KBuilding: done in 0.0 s\n\r\x1b[KTesting, 5/9, 0 s');
  });
});

test('a_failed_step_is_reported_and_keeps_its_error', async (t) => {
  const { step, written, pass } = makeProgress(t);
  await assert.rejects(
    step('Building', () => {
      pass(3);
      throw new Error('no compiler');
    }),
    /no compiler/,
  );
  assert.equal(written(), 'Building: failed after 3.0 s\n');
});
