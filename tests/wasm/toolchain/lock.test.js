import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { withLock } from '../../../wasm/toolchain/lock.js';
import { findProgram } from '../../../wasm/toolchain/system.js';

const skip = !findProgram('flock') && 'the program flock is not installed';

/** @param {import('node:test').TestContext} context */
function lockFile(context) {
  const folder = mkdtempSync(join(tmpdir(), 'attn-test-'));
  context.after(() => rmSync(folder, { recursive: true }));
  return join(folder, 'lock');
}

test('actions run one at a time', { skip }, async (context) => {
  const file = lockFile(context);
  let running = 0;
  const action = async () => {
    running += 1;
    assert.equal(running, 1);
    await sleep(20);
    running -= 1;
  };
  await Promise.all([withLock(file, action), withLock(file, action), withLock(file, action)]);
});

test('a failed action releases the lock', { skip }, async (context) => {
  const file = lockFile(context);
  await assert.rejects(
    withLock(file, () => Promise.reject(new Error('failed'))),
    /failed/,
  );
  assert.equal(await withLock(file, () => 'free'), 'free');
});

test('a killed process releases the lock', { skip }, async (context) => {
  const file = lockFile(context);
  const lock = new URL('../../../wasm/toolchain/lock.js', import.meta.url);
  const script = `
    import { withLock } from ${JSON.stringify(lock.href)};
    await withLock(${JSON.stringify(file)}, async () => {
      console.log('locked');
      await new Promise((resolve) => setTimeout(resolve, 60000));
    });`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(child.stdout, 'data');
  child.kill('SIGKILL');
  assert.equal(await withLock(file, () => 'free'), 'free');
});
