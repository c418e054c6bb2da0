import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, test } from 'node:test';

import { cached } from '../../../wasm/toolchain/cache.js';

beforeEach((context) => {
  const { XDG_CACHE_HOME } = process.env;
  const folder = mkdtempSync(join(tmpdir(), 'attn-test-'));
  process.env.XDG_CACHE_HOME = folder;
  /** @type {import('node:test').TestContext} */ (context).after(() => {
    rmSync(folder, { recursive: true });
    if (XDG_CACHE_HOME === undefined) delete process.env.XDG_CACHE_HOME;
    else process.env.XDG_CACHE_HOME = XDG_CACHE_HOME;
  });
});

const entries = () => readdirSync(join(process.env.XDG_CACHE_HOME ?? '', 'attn'));

test('an entry is created once', async () => {
  const make = (/** @type {string} */ folder) => writeFileSync(join(folder, 'file'), 'made');
  const folder = await cached('entry-1', make);
  assert.equal(readFileSync(join(folder, 'file'), 'utf8'), 'made');
  assert.equal(await cached('entry-1', () => assert.fail('made twice')), folder);
  assert.deepEqual(entries(), ['entry-1']);
});

test('a failure halfway leaves nothing', async () => {
  await assert.rejects(
    cached('entry-1', (folder) => {
      writeFileSync(join(folder, 'half'), '');
      throw new Error('no network');
    }),
    /no network/,
  );
  assert.deepEqual(entries(), []);
});

test('of two processes that create the same entry, the first wins', async () => {
  const folder = await cached('entry-1', async (outer) => {
    writeFileSync(join(outer, 'file'), 'second');
    await cached('entry-1', (inner) => writeFileSync(join(inner, 'file'), 'first'));
  });
  assert.equal(readFileSync(join(folder, 'file'), 'utf8'), 'first');
  assert.deepEqual(entries(), ['entry-1']);
});

test('a killed run leaves no entry', async () => {
  const cache = new URL('../../../wasm/toolchain/cache.js', import.meta.url);
  const script = `
    import { cached } from ${JSON.stringify(cache.href)};
    cached('entry-1', () => {
      console.log('making');
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
    });`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(child.stdout, 'data');
  child.kill('SIGKILL');
  await once(child, 'close');
  const folder = await cached('entry-1', () => {});
  assert.ok(existsSync(folder));
});
