// Tests which resources a module releases when it is disposed of, and which resources it must not
// touch.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { describe, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Worker } from 'node:worker_threads';

import { load } from 'attn';
import { load as loadInWorker } from 'attn/worker';

import { nodeFlags } from '../../wasm/toolchain/node.js';
import { assertRejects, assertThrows } from './compare.js';
import { lacks, variants } from './everyVariant.js';

const x = { data: [1, 2, 3, 4], shape: [2, 2] };
const kDisposed = 'attn: used after dispose()';

let numWorkers = 0;
// A test cannot replace a binding from `import`, but it can replace a binding from `require()`.
const threads = createRequire(import.meta.url)('node:worker_threads');
threads.Worker = class extends Worker {
  /** @param {ConstructorParameters<typeof Worker>} args */
  constructor(...args) {
    super(...args);
    ++numWorkers;
    this.on('exit', () => --numWorkers);
  }
};

/** Waits for Node to report, in a later turn of the event loop, that every worker has ended. */
async function allWorkersEnd() {
  const deadline = Date.now() + 10_000;
  while (numWorkers > 0 && Date.now() < deadline) await setTimeout(10);
  assert.equal(numWorkers, 0);
}

for (const variant of variants.filter((name) => !name.startsWith('relaxed'))) {
  describe(`dispose (${variant})`, () => {
    test('dispose_ends_the_module_with_its_layers_and_handles', async () => {
      const attn = await load({ variant, threads: 3 });
      const { handles } = attn;
      const layer = new attn.Linear({ inFeatures: 2, outFeatures: 2 });
      const handle = attn.tensor(x.data, x.shape);
      assert.equal(attn.disposed, false);

      attn.dispose();
      assert.equal(attn.disposed, true);
      assert.equal(handles.disposed, true);
      assert.equal(attn.variant, variant);
      for (const call of [
        () => attn.scaledDotProductAttention(x, x, x),
        () => handles.scaledDotProductAttention(x, x, x),
        () => new attn.Linear({ inFeatures: 2, outFeatures: 2 }),
        () => attn.tensor(x.data, x.shape),
        () => attn.memory(),
        () => attn.numThreads,
        () => layer.forward(x),
        () => handle.data(),
        () => handle.view(),
      ]) {
        assertThrows(call, 'disposed', kDisposed);
      }
      assert.equal(JSON.stringify(layer), '{"type":"Linear","disposed":true}');
      layer.dispose();
      handle.dispose();
      attn.dispose();
      handles.dispose();
    });

    test('using_ends_the_module', async () => {
      const attn = await load({ variant, threads: 2 });
      const { handles } = attn;
      handles[Symbol.dispose]();
      assertThrows(() => attn.memory(), 'disposed', kDisposed);
    });

    test('other_modules_stay_usable', async () => {
      const [one, other] = await Promise.all([load({ variant }), load({ variant })]);
      one.dispose();
      assert.deepEqual(other.scaledDotProductAttention(x, x, x).output.shape, [2, 2]);
      other.dispose();
    });
  });
}

test('fifty_modules_in_turn_leave_no_worker', { skip: lacks('simd128-threads') }, async () => {
  await allWorkersEnd();
  for (let i = 0; i < 50; ++i) {
    const attn = await load({ variant: 'simd128-threads', threads: 3 });
    assert.equal(attn.numThreads, 3);
    assert.ok(numWorkers >= 2);
    attn.dispose();
  }
  await allWorkersEnd();
});

test('exit_code_and_globals_are_not_changed', { skip: lacks('simd128-threads') }, async () => {
  const globals = Object.getOwnPropertyNames(globalThis);
  const { exitCode } = process;
  process.exitCode = 7;
  try {
    (await load({ variant: 'simd128-threads', threads: 2 })).dispose();
    assert.equal(process.exitCode, 7);
    assert.deepEqual(Object.getOwnPropertyNames(globalThis), globals);
  } finally {
    process.exitCode = exitCode;
  }
});

/**
 * Runs a separate process until it ends on its own, and returns its output.
 * @param {string[]} args  arguments of Node
 */
async function run(...args) {
  const options = { cwd: new URL('../..', import.meta.url), timeout: 60_000 };
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [...nodeFlags(), ...args],
    options,
  );
  return stdout;
}

test(
  'a_process_ends_without_process_exit_whether_disposed_or_not',
  { skip: lacks('simd128-threads') },
  async () => {
    for (const end of ['', 'attn.dispose();']) {
      const script = `import('attn').then(async ({ load }) => {
      const attn = await load({ variant: 'simd128-threads', threads: 3 });
      console.log(attn.numThreads);
      ${end}
    });`;
      assert.equal(await run('--eval', script), '3\n');
    }
  },
);

test(
  'threads_start_despite_options_of_the_process',
  { skip: lacks('simd128-threads') },
  async () => {
    const script = `import { load } from 'attn';
    console.log((await load({ threads: 3 })).numThreads);`;
    assert.equal(await run('--input-type=module', '--eval', script), '3\n');
  },
);

test('dispose_in_a_worker_ends_the_worker', { skip: lacks('simd128-threads') }, async () => {
  const attn = await loadInWorker({ variant: 'simd128-threads', threads: 2 });
  assert.deepEqual((await attn.scaledDotProductAttention(x, x, x)).output.shape, [2, 2]);
  await attn.dispose();
  await assertRejects(attn.scaledDotProductAttention(x, x, x), 'disposed', kDisposed);
  await attn[Symbol.asyncDispose]();
});
