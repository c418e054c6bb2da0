// Tests a module after a trap: all calls report the trap, and nothing touches the module's memory.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Worker } from 'node:worker_threads';

import { load } from 'attn';
import { load as loadInWorker } from 'attn/worker';

import { assertRejects, assertThrows } from './compare.js';
import { lacks, variants } from './everyVariant.js';

/** @import { Attn } from 'attn' */
/** @import { RemoteAttn } from 'attn/worker' */
/** @import { tasks } from './tasks.js' */

/**
 * Overwrites all of the module's memory, as a bug might.
 * @param {Attn} attn
 */
const damage = (attn) => new Uint8Array(attn.tensor([1], [1]).view().buffer).fill(0xff);

const x = { data: Float32Array.of(1, 2, 3, 4), shape: [2, 2] };
const kStopped = /^attn: the module stopped after ".+"; load a new one with load\(\)$/;

for (const variant of variants) {
  test(`after_a_trap_${variant}_is_closed`, { skip: lacks(variant) }, async () => {
    const attn = await load({ variant, threads: 2 });
    const { handles } = attn;
    const layer = new attn.Linear({ inFeatures: 2, outFeatures: 2 });
    const mha = new attn.MultiHeadAttention({ dModel: 2, numHeads: 1 });
    const cache = mha.makeCache();
    const handle = attn.tensor(x.data, x.shape);
    // The first call allocates memory that later calls reuse. Later calls must not need malloc,
    // which may fail once the memory is damaged.
    attn.positionalEncoding(x);
    damage(attn);
    assertThrows(() => attn.positionalEncoding(x), 'internal', kStopped);
    assert.ok(attn.disposed && handles.disposed && layer.disposed && cache.disposed);
    /** @type {(() => unknown)[]} */
    const later = [
      () => attn.positionalEncoding(x),
      () => handles.positionalEncoding(x),
      () => attn.positionalEncoding(handle),
      () => attn.tensor(x.data, x.shape),
      () => attn.memory(),
      () => attn.version,
      () => layer.forward(x),
      () => layer.parameterNames(),
      () => mha.forward(x, x, x, { cache }),
      () => cache.length,
      () => new attn.Linear({ inFeatures: 2, outFeatures: 2 }),
      () => handle.data(),
      () => handle.view(),
    ];
    for (const call of later) assertThrows(call, 'disposed', kStopped);
    for (const object of [layer, mha, cache, handle, attn, attn]) object.dispose();
    assert.deepEqual(handle.shape, [2, 2]);
  });
}

test('garbage_collection_after_a_trap_touches_nothing', async () => {
  const script = `
    import { load } from 'attn';
    const attn = await load({ variant: 'simd128' });
    for (let i = 0; i < 100; ++i) {
      new attn.Linear({ inFeatures: 2, outFeatures: 2 });
      attn.tensor([1], [1]);
    }
    const { buffer } = attn.tensor([1], [1]).view();
    new Uint8Array(buffer).fill(0xff);
    // The collector may run finalizers before a call notices the trap.
    let collected = 0;
    const registry = new FinalizationRegistry(() => ++collected);
    for (let i = 0; i < 100; ++i) registry.register({}, i);
    while (collected === 0) {
      gc();
      await new Promise((resolve) => setTimeout(resolve));
    }
    try {
      attn.alibiSlopes(2);
    } catch (error) {
      console.log(error.message);
    }`;
  const args = ['--expose-gc', '--input-type=module', '--eval', script];
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 30000 });
  assert.match(stdout.trim(), kStopped);
});

test('a_trap_in_a_thread_closes_the_module', { skip: lacks('simd128-threads') }, async () => {
  const script = `
    import { readFileSync } from 'node:fs';
    import { load } from 'attn';
    import { trappingThreads } from ${JSON.stringify(import.meta.resolve('./trappingThreads.js'))};
    const file = new URL('attn-simd128-threads.wasm', import.meta.resolve('attn'));
    const attn = await load({ wasm: trappingThreads(readFileSync(file)), threads: 2 });
    const x = { data: new Float32Array(8 * 256 * 64), shape: [1, 8, 256, 64] };
    const forward = () => attn.scaledDotProductAttention(x, x, x);
    try {
      // The main thread may do all the work before a thread has woken up.
      for (;;) forward();
    } catch (error) {
      console.log(error.code, error.message);
    }
    try {
      forward();
    } catch (error) {
      console.log(error.code, error.message);
    }`;
  const args = ['--input-type=module', '--eval', script];
  const cwd = fileURLToPath(new URL('.', import.meta.url));
  const options = { cwd, timeout: 60000 };
  const { stdout } = await promisify(execFile)(process.execPath, args, options);
  const [first, second] = stdout.split('\n');
  assert.match(
    first,
    /^internal attn: the module stopped after ".+"; load a new one with load\(\)$/,
  );
  assert.equal(second, first.replace('internal', 'disposed'));
});

test('a_trap_of_another_module_is_passed_to_the_caller', async () => {
  const attn = await load({ variant: 'simd128' });
  // (func (export "f") unreachable)
  const bytes = new Uint8Array([
    ...[0, 97, 115, 109, 1, 0, 0, 0, 1, 4, 1, 96, 0, 0, 3, 2, 1, 0, 7, 5, 1, 1, 102, 0, 0],
    ...[10, 5, 1, 3, 0, 0, 11],
  ]);
  const other = new WebAssembly.Instance(new WebAssembly.Module(bytes));
  const options = {
    get start() {
      return /** @type {any} */ (other.exports).f();
    },
  };
  assert.throws(() => attn.positionalEncoding(x, options), WebAssembly.RuntimeError);
  assert.equal(attn.positionalEncoding(x).data.length, 4);
  attn.dispose();
});

test('after_a_trap_a_worker_reports_the_trap', async (t) => {
  const worker = /** @type {any} */ (new Worker(new URL('./tasks.js', import.meta.url)));
  /** @type {RemoteAttn<typeof tasks>} */
  const attn = await loadInWorker({ variant: 'simd128', worker });
  t.after(() => attn.terminate());
  const layer = await new attn.Linear({ inFeatures: 2, outFeatures: 2 });
  await attn.run('damage');
  await assertRejects(attn.positionalEncoding(x), 'internal', kStopped);
  await assertRejects(attn.positionalEncoding(x), 'disposed', kStopped);
  await assertRejects(layer.forward(x), 'disposed', kStopped);
  assert.equal(await attn.disposed, true);
  await layer.dispose();
});
