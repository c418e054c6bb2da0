import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, before, describe, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Worker } from 'node:worker_threads';

import { AttnError, load } from 'attn';
import { load as loadInWorker } from 'attn/worker';

import { assertRejects } from './compare.js';
import { lacks } from './everyVariant.js';

/** @import { Attn } from 'attn' */
/** @import { RemoteAttn } from 'attn/worker' */
/** @import { tasks } from './tasks.js' */

const options = /** @type {const} */ ({ variant: 'simd128' });
const ownWorker = () => /** @type {any} */ (new Worker(new URL('./tasks.js', import.meta.url)));

describe('a module in a worker', () => {
  /** @type {Attn} */
  let local;
  /** @type {RemoteAttn} */
  let attn;
  /** @type {import('attn').Tensor} */
  let x;

  before(async () => {
    local = await load(options);
    attn = await loadInWorker(options);
    x = local.positionalEncoding(local.ngramEmbedding(['the', 'cat', 'sat'], { dModel: 16 }));
  });
  after(() => attn.terminate());

  test('a_module_in_a_worker_has_every_member_of_a_module', async () => {
    for (const name of Object.getOwnPropertyNames(Object.getPrototypeOf(local))) {
      if (name !== 'constructor') assert.ok(name in attn, name);
    }
    for (const name of Object.keys(local)) assert.ok(name in attn, name);
    assert.equal(Reflect.get(attn, 'nothing'), undefined);
  });

  test('results_of_a_worker_match_the_main_thread', async () => {
    const expected = local.scaledDotProductAttention(x, x, x, { causal: true, needWeights: true });
    const got = await attn.scaledDotProductAttention(x, x, x, { causal: true, needWeights: true });
    assert.deepEqual(got, expected);
    assert.equal(await attn.variant, 'simd128');
    assert.equal(await attn.numThreads, 1);
    assert.ok((await attn.memory()).bytesInUse > 0);
  });

  test('layers_stay_in_the_worker_until_they_are_disposed_of', async () => {
    const layerOptions = { dModel: 16, numHeads: 2, seed: 3 };
    const { bytesInUse } = await attn.memory();
    const there = await new attn.MultiHeadAttention(layerOptions);
    const here = new local.MultiHeadAttention(layerOptions);
    assert.deepEqual(await there.forward(x), here.forward(x));
    assert.deepEqual(await there.parameterNames(), here.parameterNames());
    assert.equal(await there.dModel, 16);
    const values = { data: new Float32Array(256).fill(0.5), shape: [16, 16] };
    await there.setParameter('out_proj.weight', values);
    assert.deepEqual(await there.parameter('out_proj.weight'), values);
    here.dispose();
    await there.dispose();
    await assertRejects(there.forward(x), 'disposed', 'MultiHeadAttention: used after dispose()');
    assert.ok((await attn.memory()).bytesInUse <= bytesInUse + 65536);
  });

  test('handles_stay_in_the_worker_and_are_read_in_place', async () => {
    const handles = await attn.handles;
    const encoded = await handles.positionalEncoding(x);
    assert.deepEqual(await encoded.shape, x.shape);
    const expected = local.positionalEncoding(x);
    assert.deepEqual(await encoded.toTensor(), expected);
    const { output } = await handles.scaledDotProductAttention(encoded, encoded, encoded);
    const { output: wanted } = local.scaledDotProductAttention(expected, expected, expected);
    assert.deepEqual(await output.data(), wanted.data);
    // A view of the worker's memory is not accessible from this thread, so it arrives as a copy.
    const view = await output.view();
    view.fill(0);
    assert.deepEqual(await output.data(), wanted.data);
    const inside = await attn.tensor(x.data, x.shape);
    assert.deepEqual(await attn.positionalEncoding(inside), expected);
    for (const handle of [encoded, output, inside]) await handle.dispose();
    await assertRejects(encoded.data(), 'disposed', 'TensorHandle: used after dispose()');
    await assertRejects(attn.positionalEncoding(inside), 'disposed', 'x: used after dispose()');
  });

  test('many_calls_may_be_pending_and_run_in_order', async () => {
    const layer = await new attn.MultiHeadAttention({ dModel: 1, numHeads: 1 });
    /** @type {Promise<unknown>[]} */
    const calls = [];
    /** @type {number[]} */
    const seen = [];
    for (let i = 0; i < 50; ++i) {
      const weight = { data: [i], shape: [1, 1] };
      calls.push(layer.setParameter('out_proj.weight', weight));
      calls.push(layer.parameter('out_proj.weight').then(({ data }) => seen.push(data[0])));
    }
    await Promise.all(calls);
    assert.deepEqual(seen, [...Array(50).keys()]);
    layer[Symbol.dispose]();
  });

  test('arguments_may_change_as_soon_as_the_call_is_made', async () => {
    const data = Float32Array.of(1, 2, 3, 4);
    const first = attn.positionalEncoding(x);
    const second = attn.positionalEncoding({ data, shape: [1, 4] });
    data.fill(9);
    await first;
    assert.deepEqual([...(await second).data], [1, 3, 3, 5]);
    assert.deepEqual([...data], [9, 9, 9, 9]);
  });

  test('part_of_a_buffer_is_sent_without_the_rest', async () => {
    const all = Float32Array.of(7, 1, 2, 3, 4, 7);
    const { data } = await attn.positionalEncoding({ data: all.subarray(1, 5), shape: [1, 4] });
    assert.deepEqual([...data], [1, 3, 3, 5]);
    const shared = new Float32Array(new SharedArrayBuffer(16));
    assert.deepEqual(
      [...(await attn.positionalEncoding({ data: shared, shape: [1, 4] })).data],
      [0, 1, 0, 1],
    );
    const buffer = Buffer.from([1, 2, 3, 4]);
    assert.deepEqual(
      [...(await attn.positionalEncoding({ data: buffer, shape: [1, 4] })).data],
      [1, 3, 3, 5],
    );
  });

  test('buffers_are_transferred_on_request', async () => {
    const data = Float32Array.of(1, 2, 3, 4);
    const { buffer } = data;
    const moving = attn.with({ transfer: [buffer] });
    assert.deepEqual(
      [...(await moving.positionalEncoding({ data, shape: [1, 4] })).data],
      [1, 3, 3, 5],
    );
    assert.equal(buffer.byteLength, 0);
  });

  test('errors_have_the_same_message_as_the_original', async () => {
    const wrong = { data: [1], shape: [1, 2] };
    const error = await attn.scaledDotProductAttention(wrong, x, x).catch((e) => e);
    assert.equal(error.argument, 'query');
    assert.equal(error.got, 'data of length 1');
    assert.equal(error.needs, '2 for shape (1, 2)');
    const message = 'query: got data of length 1, needs 2 for shape (1, 2)';
    await assertRejects(attn.scaledDotProductAttention(wrong, x, x), 'shape_mismatch', message);
    await assertRejects(
      new attn.MultiHeadAttention({ dModel: 0, numHeads: 1 }),
      'invalid_argument',
      'dModel: got 0, needs a whole number of at least 1',
    );
    assert.equal((await attn.positionalEncoding(x)).data.length, 48);
  });

  test('values_that_cannot_be_sent_are_named', async () => {
    const wrong = /** @type {any} */ (() => 1);
    const message =
      /^positionalEncoding: an argument cannot be sent to the worker \(\(\) => 1 could not be cloned.*\); pass /;
    await assertRejects(attn.positionalEncoding(wrong), 'invalid_argument', message);
    assert.equal((await attn.positionalEncoding(x)).data.length, 48);
  });

  test('objects_of_another_worker_are_rejected', async (t) => {
    const other = await loadInWorker(options);
    t.after(() => other.terminate());
    const layer = /** @type {any} */ (
      await new other.MultiHeadAttention({ dModel: 4, numHeads: 1 })
    );
    const message =
      'positionalEncoding: an argument belongs to another worker; create it with this worker';
    await assertRejects(attn.positionalEncoding(layer), 'invalid_argument', message);
  });

  test('an_aborted_call_that_is_waiting_is_dropped', async () => {
    const layer = await new attn.MultiHeadAttention({ dModel: 1, numHeads: 1 });
    const controller = new AbortController();
    const runs = attn.sinusoidalEncoding({ length: 1000, dModel: 64 });
    const weight = { data: [42], shape: [1, 1] };
    const waits = layer.with({ signal: controller.signal }).setParameter('out_proj.weight', weight);
    controller.abort();
    await assert.rejects(waits, { name: 'AbortError' });
    await runs;
    assert.notEqual((await layer.parameter('out_proj.weight')).data[0], 42);
    await layer.dispose();
  });

  test('an_aborted_call_that_is_running_rejects_at_once_and_its_result_is_ignored', async () => {
    const long = local.sinusoidalEncoding({ length: 2000, dModel: 64 });
    const reason = new Error('no longer of interest');
    const controller = new AbortController();
    const runs = attn
      .with({ signal: controller.signal })
      .scaledDotProductAttention(long, long, long);
    let hasEnded = false;
    const next = attn.memory().then(() => (hasEnded = true));
    controller.abort(reason);
    await assert.rejects(runs, reason);
    assert.equal(hasEnded, false);
    await next;
  });

  test('a_layer_that_nobody_awaits_any_more_is_freed', async () => {
    // The first call allocates memory that later calls reuse.
    await attn.positionalEncoding(x);
    const { bytesInUse } = await attn.memory();
    const controller = new AbortController();
    const making = attn.with({ signal: controller.signal });
    const layer = new making.MultiHeadAttention({ dModel: 512, numHeads: 8 });
    controller.abort();
    await assert.rejects(layer, { name: 'AbortError' });
    await attn.version;
    assert.ok((await attn.memory()).bytesInUse <= bytesInUse + 65536);
  });

  test('an_aborted_signal_stops_a_call_before_it_is_made', async () => {
    const aborted = attn.with({ signal: AbortSignal.abort() });
    await assert.rejects(aborted.positionalEncoding(x), { name: 'AbortError' });
  });
});

describe('load in a worker', () => {
  /** @param {string} code */
  const workerOf = (code) => /** @type {any} */ (new Worker(code, { eval: true }));
  const serveUrl = JSON.stringify(import.meta.resolve('attn/worker/serve'));

  test('a_worker_that_serves_late_is_awaited', async () => {
    // Messages sent before the worker calls serve() are lost. In a browser this happens if the
    // worker has a top-level await.
    const worker = workerOf(`
      require('node:worker_threads').parentPort.on('message', () => {});
      setTimeout(() => import(${serveUrl}).then(({ serve }) => serve()), 100);`);
    const attn = await loadInWorker({ ...options, worker });
    assert.equal(await attn.variant, 'simd128');
    attn.terminate();
  });

  test('a_worker_that_has_long_been_serving_answers', async () => {
    const worker = ownWorker();
    await new Promise((resolve) => worker.once('message', resolve));
    await setTimeout(50);
    const attn = await loadInWorker({ ...options, worker });
    assert.equal(await attn.variant, 'simd128');
    attn.terminate();
  });

  test('a_worker_that_never_serves_is_detected', async () => {
    const worker = workerOf('setInterval(() => {}, 1000)');
    await assertRejects(
      loadInWorker({ ...options, worker, startTimeout: 100 }),
      'load_failed',
      "worker: its module did not call serve() of 'attn/worker/serve' within 100 ms; call it earlier, or set a longer startTimeout",
    );
  });

  test('serve_is_for_workers_only', async () => {
    const { serve } = await import('attn/worker/serve');
    await assertRejects(
      (async () => serve())(),
      'unsupported',
      'serve: cannot run on the main thread; call it in the module of a worker',
    );
  });

  test('options_match_load', { skip: lacks('simd128-threads') }, async (t) => {
    const wasmUrl = new URL('../../wasm/dist/', import.meta.url);
    const attn = await loadInWorker({ variant: 'simd128-threads', threads: 2, wasmUrl });
    t.after(() => attn.terminate());
    assert.equal(await attn.variant, 'simd128-threads');
    assert.equal(await attn.numThreads, 2);
    const wrong = /** @type {any} */ ({ threads: 0 });
    const message = 'threads: got 0, needs a whole number from 1 to 64';
    await assertRejects(loadInWorker(wrong), 'invalid_argument', message);
    const nowhere = new URL('./nowhere/', import.meta.url);
    await assertRejects(
      loadInWorker({ wasmUrl: nowhere }),
      'load_failed',
      /could not be read: ENOENT/,
    );
  });

  test('workers_have_separate_modules', async (t) => {
    const [a, b] = await Promise.all([loadInWorker(options), loadInWorker(options)]);
    t.after(() => a.terminate());
    t.after(() => b[Symbol.dispose]());
    const before = await b.memory();
    const layer = await new a.MultiHeadAttention({ dModel: 256, numHeads: 8 });
    assert.deepEqual(await b.memory(), before);
    await layer.dispose();
  });

  test('after_terminate_every_call_is_rejected_as_disposed', async () => {
    const attn = await loadInWorker(options);
    const layer = await new attn.MultiHeadAttention({ dModel: 4, numHeads: 1 });
    const underWay = [attn.version, layer.parameterNames(), attn.memory()];
    attn.terminate();
    attn.terminate();
    for (const call of [...underWay, attn.version, layer.dModel]) {
      await assertRejects(call, 'disposed', 'attn: used after terminate()');
    }
  });

  test('a_worker_that_cannot_start_is_named', async () => {
    const worker = /** @type {any} */ (new Worker(new URL('./nowhere.js', import.meta.url)));
    const message = /^the worker could not be started: Cannot find module /;
    await assertRejects(loadInWorker({ worker }), 'load_failed', message);
    const ending = /** @type {any} */ (new Worker('', { eval: true }));
    const ended = 'the worker could not be started: it exited unexpectedly';
    await assertRejects(loadInWorker({ worker: ending }), 'load_failed', ended);
  });

  test('a_worker_that_stops_is_named', async () => {
    /** @type {RemoteAttn<typeof tasks>} */
    const attn = await loadInWorker({ ...options, worker: ownWorker() });
    const message = 'the worker stopped: it exited unexpectedly; start a new one';
    await assertRejects(attn.run('stop'), 'internal', message);
    await assertRejects(attn.version, 'internal', message);
  });

  test('a_process_ends_although_its_worker_is_waiting', async () => {
    const script = `import { load } from 'attn/worker'; console.log(await (await load()).version);`;
    const args = ['--input-type=module', '--eval', script];
    const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 30000 });
    assert.match(stdout, /^\d+\.\d+\.\d+\n$/);
  });
});

describe('tasks', () => {
  /** @type {RemoteAttn<typeof tasks>} */
  let attn;

  before(async () => {
    attn = await loadInWorker({ ...options, worker: ownWorker() });
  });
  after(() => attn.terminate());

  const batches = [1, 2, 3].map((value) => ({
    data: new Float32Array(4).fill(value),
    shape: [1, 4],
  }));

  test('tasks_report_progress_and_return_a_result', async () => {
    /** @type {any[]} */
    const progress = [];
    const reporting = attn.with({ onProgress: (value) => progress.push(value) });
    const results = await reporting.run('encodeAll', batches);
    assert.deepEqual(
      results.map(({ data }) => [...data]),
      [
        [1, 2, 1, 2],
        [2, 3, 2, 3],
        [3, 4, 3, 4],
      ],
    );
    assert.deepEqual(
      progress.map(({ done }) => done),
      [1, 2, 3],
    );
    assert.deepEqual(
      progress.map(({ last }) => last),
      results,
    );
  });

  test('tasks_let_other_calls_run_and_end_when_aborted', async () => {
    const controller = new AbortController();
    let reports = 0;
    const runs = attn
      .with({ signal: controller.signal, onProgress: () => ++reports })
      .run('forever');
    for (let i = 0; i < 5; ++i) await attn.version;
    assert.ok(reports > 0);
    controller.abort();
    await assert.rejects(runs, { name: 'AbortError' });
    const reportsAtAbort = reports;
    while ((await attn.run('endings')) === 0);
    assert.equal(reports, reportsAtAbort);
  });

  test('objects_can_be_passed_and_returned', async () => {
    const layer = await attn.run('makeLayer', 4);
    const [x] = batches;
    assert.deepEqual(await attn.run('output', layer, x), (await layer.forward(x)).output);
    await layer.dispose();
  });

  test('dropped_layers_are_eventually_freed', async () => {
    setFlagsFromString('--expose-gc');
    const collectGarbage = runInNewContext('gc');
    const { bytesInUse } = await attn.memory();
    for (let i = 0; i < 3; ++i) await new attn.MultiHeadAttention({ dModel: 256, numHeads: 4 });
    assert.ok((await attn.memory()).bytesInUse > bytesInUse + 2 ** 20);
    for (let i = 0; i < 50 && (await attn.memory()).bytesInUse > bytesInUse; ++i) {
      collectGarbage();
      await setTimeout(10);
      await attn.run('collectGarbage');
    }
    assert.equal((await attn.memory()).bytesInUse, bytesInUse);
  });

  test('objects_keep_their_methods_however_their_class_was_first_sent', async () => {
    const check = async (/** @type {any} */ object, /** @type {string} */ name) => {
      assert.equal(await object.value(), name);
      await object.dispose();
    };
    await check(await attn.run('yieldsObject', 'unheard'), 'unheard');
    /** @type {any[]} */
    const heard = [];
    const hearing = attn.with({ onProgress: (object) => heard.push(object) });
    await check(await hearing.run('yieldsObject', 'heard'), 'heard');
    await check(heard[0], 'heard');
    await assert.rejects(attn.run('returnsWhatCannotBeSent', 'returned'), /could not be cloned/);
    await check(await attn.run('returnsObject', 'returned'), 'returned');
    const endings = await attn.run('endings');
    await assert.rejects(attn.run('yieldsWhatCannotBeSent', 'yielded'), /could not be cloned/);
    assert.equal(await attn.run('endings'), endings + 1);
    await check(await attn.run('returnsObject', 'yielded'), 'yielded');
    const aborting = new AbortController();
    const runs = attn.with({ signal: aborting.signal }).run('yieldsObject', 'aborted');
    aborting.abort();
    await assert.rejects(runs, { name: 'AbortError' });
    await check(await attn.run('returnsObject', 'aborted'), 'aborted');
  });

  test('buffers_of_a_tasks_own_objects_are_not_transferred', async () => {
    const recorder = /** @type {any} */ (await attn.run('makeRecorder'));
    for (let i = 0; i < 2; ++i) {
      assert.deepEqual([...(await recorder.read())], [1, 2, 3]);
      assert.deepEqual([...(await recorder.later())], [1, 2, 3]);
      assert.deepEqual([...(await recorder.numbers)], [1, 2, 3]);
      assert.deepEqual([...(await recorder.parts()).data], [1, 2, 3]);
    }
    await recorder.dispose();
  });

  test('a_yield_without_a_value_is_not_a_result', async () => {
    /** @type {unknown[]} */
    const progress = [];
    const hearing = attn.with({ onProgress: (value) => progress.push(value) });
    assert.equal(await hearing.run('silent'), 'done');
    assert.deepEqual(progress, [undefined, undefined]);
  });

  test('a_listener_that_throws_rejects_its_call_and_ends_the_task', async () => {
    const endings = await attn.run('endings');
    const thrown = new Error('the listener failed');
    const onProgress = () => {
      throw thrown;
    };
    await assert.rejects(attn.with({ onProgress }).run('forever'), thrown);
    while ((await attn.run('endings')) === endings);
    assert.equal(await attn.variant, 'simd128');
  });

  test('errors_of_any_kind_reach_the_caller', async () => {
    const thrownAs = async (/** @type {any} */ kind) =>
      attn.run('failStrangely', kind).catch((/** @type {any} */ error) => error);
    for (const kind of ['code', 'name', 'message', 'getter', 'nothing', 'symbol', 'bare']) {
      const error = await thrownAs(kind);
      assert.ok(error instanceof Error, kind);
      assert.equal(typeof error.name, 'string');
      if (['code', 'name', 'getter'].includes(kind)) assert.equal(error.message, `with a ${kind}`);
    }
    assert.equal((await thrownAs('symbol')).message, 'Symbol(thrown)');
    const error = await thrownAs('details');
    assert.ok(error instanceof AttnError);
    assert.equal(error.got, undefined);
    assert.equal(await attn.variant, 'simd128');
  });

  test('the_nearest_task_is_suggested', async () => {
    const wrong = /** @type {any} */ ('encode_all');
    const message = "run: the worker has no task 'encode_all'; use 'encodeAll'";
    await assertRejects(attn.run(wrong), 'not_found', message);
  });

  test('a_detached_array_counts_as_empty', async () => {
    const data = new Float32Array(4);
    structuredClone(data, { transfer: [data.buffer] });
    const message = 'x: got data of length 0, needs 4 for shape (1, 4)';
    await assertRejects(
      attn.positionalEncoding({ data, shape: [1, 4] }),
      'shape_mismatch',
      message,
    );
  });

  test('errors_of_tasks_keep_their_name_and_message', async () => {
    await assert.rejects(attn.run('fail'), {
      name: 'RangeError',
      message: 'the task fails on purpose',
    });
    const unknown = /** @type {any} */ ('nothing');
    const error = await attn.run(unknown).catch((e) => e);
    assert.ok(error instanceof AttnError);
    assert.equal(error.code, 'not_found');
    assert.match(
      error.message,
      /^run: the worker has no task 'nothing'; use 'encodeAll', 'forever', /,
    );
  });
});

test('a_worker_ends_when_none_of_its_objects_is_used', async () => {
  const script = `
    const { Worker } = process.getBuiltinModule('node:worker_threads');
    const { load } = await import('attn/worker');
    const ended = [];
    async function use(keep) {
      const script = new URL('workerScript.js', import.meta.resolve('attn/worker'));
      const worker = new Worker(script, { execArgv: [] });
      worker.on('exit', () => ended.push(keep));
      const attn = await load({ variant: 'simd128', worker });
      const layer = await new attn.Linear({ inFeatures: 1, outFeatures: 1 });
      return keep ? layer : undefined;
    }
    const kept = await use(true);
    await use(false);
    while (!ended.length) {
      gc();
      await new Promise((resolve) => setTimeout(resolve));
    }
    await kept.forward({ data: [1], shape: [1, 1] });
    console.log(ended.join());`;
  const args = ['--expose-gc', '--input-type=module', '--eval', script];
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 30000 });
  assert.equal(stdout.trim(), 'false');
});
