import assert from 'node:assert/strict';
import { test } from 'node:test';

import {
  aptGet,
  atLeast,
  command,
  CommandError,
  findProgram,
} from '../../../wasm/toolchain/system.js';

test('versions are compared by number', () => {
  assert.ok(atLeast('3.1.60', '3.1.60'));
  assert.ok(atLeast('4.0.2', '3.1.60'));
  assert.ok(atLeast('3.10', '3.9.1'));
  assert.ok(!atLeast('3.1.6', '3.1.60'));
  assert.ok(!atLeast('13.1', '13.2.0'));
});

test('a program on PATH is found', () => {
  assert.ok(findProgram('node'));
  assert.equal(findProgram('no-such-program'), undefined);
});

test("a failing program's output is in the error", async () => {
  const script = 'console.log("out"); console.error("err"); process.exit(3)';
  await assert.rejects(command(process.execPath, ['-e', script], { cwd: '.' }), (error) => {
    assert.ok(error instanceof CommandError);
    assert.match(error.message, /exit code 3/);
    assert.match(error.message, /out/);
    assert.match(error.message, /err/);
    return true;
  });
});

test('a missing program is an error of the command', async () => {
  await assert.rejects(command('no-such-program', [], { cwd: '.' }), CommandError);
});

test('apt-get reports its progress on a descriptor that package scripts do not use', async () => {
  const script = 'echo printed; echo "dlstatus:1:42.5:Retrieving file 1 of 3" >&3';
  /** @type {string[]} */
  const states = [];
  const update = (/** @type {string} */ state) => states.push(state);
  const output = await aptGet('sh', ['-c', script, 'apt-get'], { cwd: '/', update });
  assert.match(output, /^printed$/m);
  assert.deepEqual(states, ['42 %, Retrieving file 1 of 3']);
});
