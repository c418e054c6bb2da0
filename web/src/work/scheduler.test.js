import assert from 'node:assert/strict';
import test from 'node:test';
import { Worker as NodeWorker } from 'node:worker_threads';

import { TaskWorker } from './scheduler.js';

const code = `
import { serve } from ${JSON.stringify(import.meta.resolve('attn/worker/serve'))};
let counted = 0;
serve({ hold: async () => {}, count: async () => ++counted });
`;

/** @type {NodeWorker[]} */
const started = [];
/** Release the workers' locks in the order in which they were requested. @type {(() => void)[]} */
const frees = [];

class FakeWorker extends NodeWorker {
  constructor() {
    super(new URL(`data:text/javascript,${encodeURIComponent(code)}`));
    started.push(this);
  }
}

const globals = /** @type {any} */ (globalThis);
globals.Worker = FakeWorker;
Object.defineProperty(globals, 'navigator', {
  value: {
    locks: {
      request: (/** @type {string} */ _, /** @type {() => void} */ free) => void frees.push(free),
    },
  },
});

const count = /** @type {any} */ ({ name: 'count' });

/** @param {() => boolean} holds */
async function until(holds) {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve));
}

test('a first task added while a worker connects runs once', async () => {
  const worker = new TaskWorker({ threads: 1 });
  const done = worker.run(count, null);
  worker.first(count, null);
  assert.equal(await done, 2);
  worker.first(count, null);
  assert.equal(await worker.run(count, null), 4);
  worker.end();
});

test('ending a worker does not affect the worker started after it', async () => {
  started.length = frees.length = 0;
  const worker = new TaskWorker({ threads: 1 });
  await worker.run(count, null);
  await until(() => frees.length === 1);
  worker.end();
  const next = worker.run(count, null);
  frees[0]();
  assert.equal(await next, 1);
  assert.equal(await worker.run(count, null), 2);
  assert.equal(started.length, 2);
  worker.end();
});
