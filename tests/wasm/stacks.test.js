// Tests the call stacks of errors.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { AttnError, load } from 'attn';
import { load as loadInWorker } from 'attn/worker';

/** @import { TrainingAttn } from 'attn' */
/** @import { RemoteAttn } from 'attn/worker' */

/** @type {TrainingAttn} */
let attn;
/** @type {RemoteAttn} */
let remote;
before(async () => {
  attn = await load({ variant: 'simd128', training: true });
  remote = await loadInWorker({ variant: 'simd128' });
});
after(() => {
  attn.dispose();
  remote.terminate();
});

/**
 * Returns the lines in the call stack of an error.
 * @param {unknown} error
 */
function framesOf(error) {
  assert.ok(error instanceof AttnError, `${error} is no AttnError`);
  const [header, ...frames] = String(error.stack).split('\n');
  assert.equal(header, `AttnError: ${error.message}`);
  return frames.map((frame) => frame.trim());
}

/** @type {any} */
const wrong = { data: [1], shape: [1, 2] };
const x = { data: [1, 2], shape: [1, 2] };

/** Calls that fail in different places. @type {Record<string, () => unknown>} */
const calls = {
  function: () => attn.scaledDotProductAttention(wrong, x, x),
  functionOfHandles: () => attn.handles.positionalEncoding(wrong),
  core: () => attn.positionalEncoding(x, { base: -1 }),
  group: () => attn.architectureCosts.convolution({ n: 1, d: -1, k: 1 }),
  constructor: () => new attn.MultiHeadAttention({ dModel: 0, numHeads: 1 }),
  method: () => new attn.Linear({ inFeatures: 2, outFeatures: 2 }).forward(wrong),
  inheritedMethod: () => new attn.Linear({ inFeatures: 2, outFeatures: 2 }).parameter('none'),
  methodOfAStacksLayer: () =>
    new attn.TransformerEncoder({ dModel: 2 }).layers[0].forward(x, { dropout: wrong }),
  methodOfACache: () => new attn.KeyValueCache({ numKvHeads: 1, headDim: 1 }).truncate(-1),
  methodOfAnotherCache: () => new attn.TransformerEncoder({ dModel: 2 }).makeCaches().truncate(-1),
  accessor: () => {
    const cache = new attn.KeyValueCache({ numKvHeads: 1, headDim: 1 });
    cache.dispose();
    return cache.length;
  },
  handle: () => attn.tensor([1], [1]).slice(1, 2, 3),
  variable: () => new attn.Tape().variable(x).slice(3, 0, 1),
  tape: () => new attn.Tape().variable(wrong),
  optimizer: () =>
    new attn.SGD({ layer: new attn.Linear({ inFeatures: 1, outFeatures: 1 }) }, wrong),
  elsewhere: () => /** @type {any} */ (attn).loadModel({}),
};

for (const [name, call] of Object.entries(calls)) {
  test(`errors_start_at_the_callers_line_${name}`, () => {
    /** @type {unknown} */
    let thrown;
    try {
      call();
    } catch (error) {
      thrown = error;
    }
    const [first] = framesOf(thrown);
    assert.ok(first.includes('stacks.test.js'), first);
  });
}

test('errors_of_a_subclass_start_inside_it', () => {
  class Mine extends attn.Linear {
    /** @param {any} input @returns {any} */
    forward(input) {
      return super.forward(input);
    }
  }
  const mine = new Mine({ inFeatures: 2, outFeatures: 2 });
  try {
    mine.forward(wrong);
    assert.fail('nothing was thrown');
  } catch (error) {
    assert.match(framesOf(error)[0], /^at Mine\.forward .*stacks\.test\.js/);
  }
});

test('errors_of_a_worker_start_at_the_line_that_waits', async () => {
  /** @type {(() => Promise<unknown>)[]} */
  const remoteCalls = [
    () => remote.scaledDotProductAttention(wrong, x, x),
    () => new remote.MultiHeadAttention({ dModel: 0, numHeads: 1 }),
    () => remote.run('nothing'),
  ];
  for (const call of remoteCalls) {
    const wait = async () => {
      await call();
    };
    const error = await wait().catch((thrown) => thrown);
    assert.match(framesOf(error)[0], /^at async wait .*stacks\.test\.js/);
  }
});

test('methods_keep_their_names_and_lengths', () => {
  assert.equal(attn.t5Bias.name, 't5Bias');
  assert.equal(attn.t5Bias.length, 2);
  assert.equal(attn.Linear.prototype.setParameter.length, 2);
});

test('node_prints_the_callers_line_and_no_code_of_attn', async (t) => {
  const folder = await mkdtemp(
    join(fileURLToPath(new URL('../../build/', import.meta.url)), 'stacks-'),
  );
  t.after(() => rm(folder, { recursive: true }));
  /** @type {Record<string, string>} */
  const scripts = {
    call: `attn.positionalEncoding({ data: [1], shape: [1, 2] }); // here`,
    trap: `new Uint8Array(attn.tensor([1], [1]).view().buffer).fill(255);
      attn.alibiSlopes(2); // here`,
    load: `await load({ threads: 'many' }); // here`,
    wasm: `await load({ wasm: new Uint8Array(8) }); // here`,
    file: `await load({ wasmUrl: 'file:///nowhere/' }); // here`,
    worker: `const remote = await loadInWorker({ variant: 'simd128' });
      const encode = async () => {
        await remote.positionalEncoding({ data: [1], shape: [1, 2] }); // here
      };
      await encode();`,
  };
  for (const [name, script] of Object.entries(scripts)) {
    const file = join(folder, `${name}.mjs`);
    const lines = [
      `import { load } from '${import.meta.resolve('attn')}';`,
      `import { load as loadInWorker } from '${import.meta.resolve('attn/worker')}';`,
      `const attn = await load({ variant: 'simd128' });`,
      script,
    ].join('\n');
    writeFileSync(file, lines);
    const here = 1 + lines.split('\n').findIndex((line) => line.endsWith('// here'));
    const printed = await new Promise((resolve) =>
      execFile(process.execPath, [file], { timeout: 30000 }, (_, __, stderr) => resolve(stderr)),
    );
    assert.match(printed, /AttnError: /, name);
    assert.ok(printed.includes(`${name}.mjs:${here}`), `${name}: ${printed}`);
    assert.ok(printed.length < 3000, `${name}: ${printed.length} characters`);
    for (const line of printed.split('\n')) assert.ok(line.length < 300, `${name}: ${line}`);
  }
});
