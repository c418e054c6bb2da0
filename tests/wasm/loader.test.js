import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import { AttnError, load } from 'attn';
import { load as loadStatic } from 'attn/static';
import { load as loadStaticModels } from 'attn/static/models';
import { load as loadStaticTraining } from 'attn/static/training';
import { load as loadInWorker } from 'attn/worker';

import { kFlavours } from '../../wasm/toolchain/build.js';
import { kBuildFolder } from '../../wasm/toolchain/checkout.js';
import { buildModules, builtModule } from '../../wasm/toolchain/modules.js';
import packageJson from '../../package.json' with { type: 'json' };
import { assertRejects } from './compare.js';
import { lacks } from './everyVariant.js';

/** @import { Attn, Tensor } from 'attn' */

/** @param {Buffer<any>} bytes  bytes of a .wasm file */
async function linkage(bytes) {
  const module = await WebAssembly.compile(bytes);
  return [WebAssembly.Module.imports(module), WebAssembly.Module.exports(module)];
}

const distFolder = new URL('../../wasm/dist/', import.meta.url);
const x = { data: [1, 2, 3, 4], shape: [2, 2] };

describe('load', () => {
  test(
    'load_picks_the_best_variant_that_this_node_runs',
    { skip: lacks('relaxed-simd-threads') },
    async () => {
      const attn = await load({ threads: 2 });
      const relaxed = await load({ variant: 'relaxed-simd' }).catch(() => undefined);
      const single = relaxed ? 'relaxed-simd' : 'simd128';
      assert.equal(attn.variant, `${single}-threads`);
      assert.equal(attn.numThreads, 2);
      assert.equal(attn.instructionSet, relaxed ? 'wasm_relaxed_simd' : 'wasm_simd128');
      assert.equal(attn.version, packageJson.version);
    },
  );

  test('one_thread_needs_no_variant_with_threads', async () => {
    const attn = await load({ threads: 1 });
    assert.doesNotMatch(attn.variant, /threads/);
    assert.equal(attn.numThreads, 1);
  });

  test('a_variant_without_threads_uses_one', async () => {
    assert.equal((await load({ variant: 'simd128', threads: 8 })).numThreads, 1);
  });

  test('a_page_without_isolation_gets_one_thread', async () => {
    Object.assign(globalThis, { crossOriginIsolated: false });
    try {
      const attn = await load({ threads: 4 });
      assert.doesNotMatch(attn.variant, /threads/);
      assert.equal(attn.numThreads, 1);
      assert.equal(attn.fallback, undefined);
      await assertRejects(
        load({ variant: 'simd128-threads' }),
        'load_failed',
        /^variant simd128-threads: threads need a page that is cross-origin isolated/,
      );
    } finally {
      Reflect.deleteProperty(globalThis, 'crossOriginIsolated');
    }
  });

  test('loading_twice_gives_independent_modules', async () => {
    const [a, b] = await Promise.all([load({ threads: 1 }), load({ threads: 1 })]);
    const before = b.memory();
    const layer = new a.MultiHeadAttention({ dModel: 512, numHeads: 8 });
    assert.deepEqual(b.memory(), before);
    layer.dispose();
  });

  test('an_engine_without_simd_is_reported', async (t) => {
    t.mock.method(WebAssembly, 'validate', () => false);
    const message = /^this engine lacks WebAssembly SIMD; Chrome 91, .* have it$/;
    await assertRejects(load(), 'load_failed', message);
  });

  test('an_engine_without_relaxed_simd_is_reported_only_on_request', async (t) => {
    const { validate } = WebAssembly;
    t.mock.method(WebAssembly, 'validate', (/** @type {Uint8Array<ArrayBuffer>} */ bytes) => {
      // Opcode 0x101: i32x4.relaxed_trunc_f32x4_s.
      return !bytes.includes(129) && validate(bytes);
    });
    assert.equal((await load({ threads: 1 })).variant, 'simd128');
    const message = 'variant relaxed-simd: this engine lacks WebAssembly relaxed SIMD';
    await assertRejects(load({ variant: 'relaxed-simd' }), 'load_failed', message);
  });

  test('denied_shared_memory_leads_to_one_thread', async (t) => {
    const warn = t.mock.method(console, 'warn', () => {});
    const { Memory } = WebAssembly;
    t.mock.method(
      WebAssembly,
      'Memory',
      class {
        constructor(/** @type {WebAssembly.MemoryDescriptor} */ descriptor) {
          if (descriptor.shared) throw new RangeError('could not allocate memory');
          return new Memory(descriptor);
        }
      },
    );
    const attn = await load({ threads: 2 });
    assert.doesNotMatch(attn.variant, /threads/);
    if (!lacks('simd128-threads')) {
      assert.match(attn.fallback ?? '', /could not be started: could not allocate memory$/);
      assert.equal(warn.mock.callCount(), 1);
    }
    assert.deepEqual(attn.scaledDotProductAttention(x, x, x).output.shape, [2, 2]);
  });

  test('a_content_security_policy_in_the_way_is_named', async (t) => {
    t.mock.method(WebAssembly, 'compile', async () => {
      throw new WebAssembly.CompileError(
        'WebAssembly.compile(): Refused to compile or instantiate WebAssembly module because ' +
          "'unsafe-eval' is not an allowed source of script",
      );
    });
    const message =
      /^the page's content security policy blocks WebAssembly; add 'wasm-unsafe-eval'/;
    await assertRejects(load(), 'load_failed', message);
  });

  test('a_missing_file_is_named', async () => {
    const error = await load({
      variant: 'simd128',
      wasmUrl: new URL('nowhere.wasm', distFolder),
    }).catch((e) => e);
    assert.ok(error instanceof AttnError);
    assert.equal(error.code, 'load_failed');
    assert.match(error.message, /^file:.*nowhere\.wasm could not be read: ENOENT/);
    assert.ok(error.cause instanceof Error);
  });

  test('a_file_that_is_not_a_module_is_named', async () => {
    const message = /^file:.*index\.js could not be compiled: /;
    const wasmUrl = new URL('index.js', distFolder);
    await assertRejects(load({ variant: 'simd128', wasmUrl }), 'load_failed', message);
  });

  test('a_url_that_ends_in_a_slash_is_the_folder_of_all_variants', async () => {
    for (const wasmUrl of [distFolder, distFolder.href, fileURLToPath(distFolder)]) {
      assert.equal((await load({ variant: 'simd128', wasmUrl })).variant, 'simd128');
    }
  });

  test('options_are_checked', async () => {
    /** @type {[any, string][]} */
    const cases = [
      [
        { variant: 'avx2' },
        "variant: got 'avx2', needs 'simd128', 'relaxed-simd', 'simd128-threads' or 'relaxed-simd-threads'",
      ],
      [{ threads: 0 }, 'threads: got 0, needs a whole number from 1 to 64'],
      [{ threads: '2' }, "threads: got '2', needs a whole number from 1 to 64"],
      [
        { wasmUrl: 'http://' },
        "wasmUrl: got 'http://', needs the address of a .wasm file or of its folder",
      ],
      [
        { wasmUrl: 'https://a.example/some.wasm' },
        "wasmUrl: 'https://a.example/some.wasm' is a file; set variant to the variant of that file, or pass a folder that ends in a slash",
      ],
      [null, 'options: got null, needs a plain object'],
    ];
    for (const [options, message] of cases) {
      await assertRejects(load(options), 'invalid_argument', message);
    }
  });
});

describe('load in a build with fewer variants', () => {
  /**
   * Builds the package with only the given variants.
   * @param {import('node:test').TestContext} t
   * @param {string[]} variants
   * @returns {Promise<typeof import('attn')>}
   */
  async function packageOf(t, variants) {
    const folder = mkdtempSync(join(kBuildFolder, 'loader-test-'));
    t.after(() => rmSync(folder, { recursive: true }));
    await buildModules(['attn'], variants, folder);
    for (const name of variants) {
      copyFileSync(builtModule('attn', name, 'wasm'), join(folder, `attn-${name}.wasm`));
    }
    return import(pathToFileURL(join(folder, 'index.js')).href);
  }

  test('the_only_variant_is_picked', async (t) => {
    const { load } = await packageOf(t, ['simd128']);
    const attn = await load({ threads: 4 });
    assert.equal(attn.variant, 'simd128');
    assert.equal(attn.numThreads, 1);
    assert.deepEqual(attn.scaledDotProductAttention(x, x, x).output.shape, [2, 2]);
  });

  test('the_glue_is_strict_for_minifiers_that_treat_it_as_a_script', async (t) => {
    const folder = mkdtempSync(join(kBuildFolder, 'loader-test-'));
    t.after(() => rmSync(folder, { recursive: true }));
    await buildModules(['attn'], ['simd128'], folder);
    assert.match(readFileSync(join(folder, 'attn.glue.js'), 'utf8'), /^'use strict';\n/);
  });

  for (const flavour of kFlavours) {
    for (const threads of ['', '-threads']) {
      const relaxed = /** @type {const} */ (`relaxed-simd${/** @type {''} */ (threads)}`);
      test(
        `relaxed_simd_fits_the_glue_of_simd128_in_${flavour}${threads}`,
        { skip: lacks(relaxed) },
        async (t) => {
          const [own, other] = [relaxed, `simd128${threads}`].map((name) =>
            readFileSync(builtModule(flavour, name, 'wasm')),
          );
          if (!WebAssembly.validate(own)) return t.skip('this Node lacks relaxed SIMD');
          const [needed, given] = await Promise.all([own, other].map(linkage));
          assert.deepEqual(needed, given);
        },
      );
    }
  }

  test('the_best_existing_variant_is_picked', { skip: lacks('simd128-threads') }, async (t) => {
    const { load } = await packageOf(t, ['simd128', 'simd128-threads']);
    const attn = await load({ threads: 2 });
    assert.equal(attn.variant, 'simd128-threads');
    assert.equal((await load({ threads: 1 })).variant, 'simd128');
    attn.dispose();
  });

  test(
    'requesting_a_missing_variant_explains_what_to_do',
    { skip: lacks('simd128-threads') },
    async (t) => {
      const { load } = await packageOf(t, ['simd128']);
      const hint = 'this build of attn contains only simd128; run npm run build';
      const wasm = readFileSync(builtModule('attn', 'simd128-threads', 'wasm'));
      for (const options of [{ variant: /** @type {const} */ ('simd128-threads') }, { wasm }]) {
        await assert.rejects(load(options), {
          name: 'AttnError',
          code: 'load_failed',
          message: `variant simd128-threads: ${hint}`,
        });
      }
    },
  );
});

describe('load with a given .wasm', () => {
  /** @param {string} variant */
  const bytesOf = (variant) => readFileSync(new URL(`attn-${variant}.wasm`, distFolder));
  /** @type {Tensor} */
  let expected;
  before(async () => {
    expected = attention(await load({ variant: 'simd128' })).output;
  });

  /** @param {Attn} attn */
  function attention(attn) {
    return attn.scaledDotProductAttention(x, x, x);
  }

  test('bytes_a_compiled_module_or_a_response_are_accepted', async () => {
    const bytes = new Uint8Array(bytesOf('simd128'));
    for (const wasm of [
      bytes,
      bytes.buffer,
      new WebAssembly.Module(bytes),
      new Response(bytes),
      new Response(bytes, { headers: { 'Content-Type': 'application/wasm' } }),
    ]) {
      const attn = await load({ wasm });
      assert.equal(attn.variant, 'simd128');
      assert.equal(attn.numThreads, 1);
      assert.deepEqual(attention(attn).output, expected);
      attn.dispose();
    }
  });

  test('an_engine_that_cannot_compile_accepts_a_compiled_module', async (t) => {
    const wasm = new WebAssembly.Module(bytesOf('simd128'));
    // Edge runtimes do not compile modules.
    for (const name of /** @type {const} */ (['compile', 'compileStreaming'])) {
      t.mock.method(WebAssembly, name, () => {
        throw new WebAssembly.CompileError('Wasm code generation disallowed by embedder');
      });
    }
    t.mock.method(globalThis, 'fetch', () => {
      throw new TypeError('there are no files');
    });
    const attn = await load({ wasm });
    assert.deepEqual(attention(attn).output, expected);
  });

  test('a_threaded_module_gets_threads', { skip: lacks('simd128-threads') }, async () => {
    const attn = await load({ wasm: bytesOf('simd128-threads'), threads: 2 });
    assert.equal(attn.variant, 'simd128-threads');
    assert.equal(attn.numThreads, 2);
    assert.deepEqual(attention(attn).output, expected);
    attn.dispose();
  });

  test('relaxed_simd_is_detected', { skip: lacks('relaxed-simd') }, async (t) => {
    const wasm = bytesOf('relaxed-simd');
    if (!WebAssembly.validate(wasm)) return t.skip('this engine lacks it');
    assert.equal((await load({ wasm })).variant, 'relaxed-simd');
    const message =
      "wasm: this module is variant relaxed-simd, but the option variant is 'simd128'; leave out variant, or pass the module of that variant";
    await assertRejects(load({ wasm, variant: 'simd128' }), 'invalid_argument', message);
  });

  test('another_variant_than_requested_is_an_error', async () => {
    const wasm = bytesOf('simd128');
    assert.equal((await load({ wasm, variant: 'simd128' })).variant, 'simd128');
    await assertRejects(
      load({ wasm, variant: 'simd128-threads' }),
      'invalid_argument',
      "wasm: this module is a variant without threads, but the option variant is 'simd128-threads'; leave out variant, or pass the module of that variant",
    );
  });

  test('a_module_that_is_not_attns_is_an_error', async () => {
    const needs = 'needs a WebAssembly.Module, an ArrayBuffer, a Uint8Array or a Response';
    const text = /** @type {any} */ ('attn.wasm');
    await assertRejects(
      load({ wasm: text }),
      'invalid_argument',
      `wasm: got 'attn.wasm', ${needs}`,
    );
    const message = /^wasm could not be compiled: /;
    await assertRejects(load({ wasm: new Uint8Array(8) }), 'load_failed', message);
    // An empty module.
    const other = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]);
    const hint = /could not be started: .*; check that it is attn-….wasm of this version of attn$/;
    await assertRejects(load({ wasm: other }), 'load_failed', hint);
    await assertRejects(
      load({ wasm: other, wasmUrl: distFolder }),
      'invalid_argument',
      'wasmUrl: cannot be combined with wasm; pass only one of them',
    );
  });

  test('a_worker_accepts_a_given_wasm_too', async () => {
    const bytes = bytesOf('simd128');
    for (const wasm of [new WebAssembly.Module(bytes), bytes, new Response(bytes)]) {
      const attn = await loadInWorker({ wasm });
      assert.equal(await attn.variant, 'simd128');
      assert.deepEqual((await attn.scaledDotProductAttention(x, x, x)).output, expected);
      await attn.dispose();
    }
  });
});

/**
 * Replaces Node's Worker class, and returns the list of started workers.
 * @param {import('node:test').TestContext} t
 * @param {(Original: any) => any} [classFrom]  derives another class from Node's class
 */
function watchWorkers(t, classFrom = (Original) => Original) {
  const threads = process.getBuiltinModule('node:worker_threads');
  const Class = classFrom(threads.Worker);
  /** @type {any[]} */
  const started = [];
  const original = process.getBuiltinModule;
  t.mock.method(process, 'getBuiltinModule', (/** @type {string} */ name) => {
    if (name !== 'node:worker_threads') return original.call(process, name);
    return {
      ...threads,
      Worker: class extends Class {
        /** @param {any[]} args */
        constructor(...args) {
          super(...args);
          started.push(this);
        }
      },
    };
  });
  return started;
}

/** Workers that never start. */
class DeafWorker extends EventEmitter {
  ended = false;
  postMessage() {}
  terminate() {
    this.ended = true;
  }
}

describe('threads', { skip: lacks('simd128-threads') }, () => {
  test('threads_that_do_not_start_in_30_seconds_leave_one_thread', async (t) => {
    const warn = t.mock.method(console, 'warn', () => {});
    const workers = watchWorkers(t, () => DeafWorker);
    const { setTimeout } = globalThis;
    // Makes the limit of 30 s expire at once. Other timers keep their delays.
    t.mock.method(globalThis, 'setTimeout', (/** @type {any} */ body, /** @type {number} */ ms) =>
      setTimeout(body, ms === 30_000 ? 0 : ms),
    );
    const attn = await load({ threads: 3 });
    assert.equal(attn.numThreads, 1);
    assert.match(attn.fallback ?? '', /: its threads did not start within 30 seconds$/);
    assert.equal(warn.mock.callCount(), 1);
    assert.deepEqual(
      workers.map((worker) => worker.ended),
      [true, true],
    );
  });

  test('threads_end_when_nothing_refers_to_their_module', async (t) => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc');
    const workers = watchWorkers(t);
    await (async () => {
      const attn = await load({ threads: 2 });
      attn.scaledDotProductAttention(x, x, x);
    })();
    assert.equal(workers.length, 1);
    let ended = false;
    workers[0].once('exit', () => (ended = true));
    while (!ended) {
      await setImmediate();
      collect();
    }
  });
});

describe('a signal', () => {
  test('a_signal_that_is_already_aborted_loads_nothing', async (t) => {
    const reads = t.mock.method(process.getBuiltinModule('node:fs/promises'), 'readFile');
    const reason = new Error('changed my mind');
    const aborted = { signal: AbortSignal.abort(reason) };
    for (const start of [() => load(aborted), () => loadInWorker(aborted)]) {
      await assert.rejects(start(), reason);
    }
    assert.equal(reads.mock.callCount(), 0);
  });

  test(
    'a_signal_ends_threads_that_are_starting',
    { skip: lacks('simd128-threads'), timeout: 60_000 },
    async (t) => {
      const warn = t.mock.method(console, 'warn', () => {});
      const workers = watchWorkers(t, () => DeafWorker);
      const controller = new AbortController();
      const loading = load({ threads: 3, signal: controller.signal });
      const rejected = assert.rejects(loading, { name: 'AbortError' });
      while (workers.length < 2) await setImmediate();
      controller.abort();
      await rejected;
      while (!workers.every((worker) => worker.ended)) await setImmediate();
      assert.equal(warn.mock.callCount(), 0);
    },
  );

  test('a_signal_ends_a_worker_that_is_loading', async (t) => {
    const workers = watchWorkers(t);
    const controller = new AbortController();
    const loading = loadInWorker({ signal: controller.signal });
    const ended = new Promise((resolve) => workers[0].once('exit', resolve));
    controller.abort();
    await assert.rejects(loading, { name: 'AbortError' });
    await ended;
  });

  test('a_signal_that_is_aborted_after_loading_changes_nothing', async () => {
    const controller = new AbortController();
    const attn = await load({ threads: 1, signal: controller.signal });
    controller.abort();
    assert.deepEqual(attn.scaledDotProductAttention(x, x, x).output.shape, [2, 2]);
  });

  test('a_signal_is_validated', async () => {
    const signal = /** @type {any} */ (true);
    const message = 'signal: got true, needs an AbortSignal';
    await assertRejects(load({ signal }), 'invalid_argument', message);
    await assertRejects(loadInWorker({ signal }), 'invalid_argument', message);
  });
});

describe('attn/static', () => {
  test('attn_static_loads_every_flavour_on_one_thread', async () => {
    for (const start of [loadStatic, loadStaticTraining, loadStaticModels]) {
      const attn = await start();
      assert.equal(attn.numThreads, 1);
      assert.doesNotMatch(attn.variant, /threads/);
      assert.deepEqual(attn.scaledDotProductAttention(x, x, x).output.shape, [2, 2]);
    }
  });

  test('attn_static_has_no_threads', async () => {
    await assertRejects(
      loadStatic({ variant: 'simd128-threads' }),
      'load_failed',
      "variant simd128-threads: attn/static has no threads; use load() of 'attn'",
    );
    const threads = /** @type {any} */ ({ threads: 2 });
    await assertRejects(
      loadStatic(threads),
      'invalid_argument',
      /^options: 'threads' is not an option/,
    );
  });
});

describe('values from another realm', () => {
  test('values_from_another_realm_are_accepted_as_tensors_masks_and_files', async () => {
    const bytes = readFileSync(new URL('attn-simd128.wasm', distFolder));
    const foreign = runInNewContext('Uint8Array.from(bytes)', { bytes });
    const module = runInNewContext('new WebAssembly.Module(bytes)', { bytes: foreign });
    for (const wasm of [foreign, foreign.buffer, module]) (await load({ wasm })).dispose();
    const attn = await load({ threads: 1 });
    const { tensor, mask, half } = runInNewContext(`({
      tensor: { data: new Float32Array([1, 2, 3, 4]), shape: [2, 2] },
      mask: { data: new Uint8Array([1, 1, 1, 1]), shape: [2, 2] },
      half: { data: new Uint16Array(4), shape: [2, 2], type: 'bfloat16' },
    })`);
    const { output } = attn.scaledDotProductAttention(tensor, tensor, tensor, { mask });
    assert.deepEqual(output, attn.scaledDotProductAttention(x, x, x).output);
    attn.scaledDotProductAttention(half, half, half);
    const file = runInNewContext('Uint8Array.from(bytes)', { bytes: attn.toSafetensors({ x }) });
    new attn.Safetensors(file);
    new attn.Safetensors(file.buffer);
  });
});

describe('load over HTTP', () => {
  const server = createServer((request, response) => {
    const type = request.url?.startsWith('/typed/') ? 'application/wasm' : 'text/plain';
    const name = request.url?.split('/').at(-1) ?? '';
    if (name === 'page.wasm') {
      return response.writeHead(200, { 'Content-Type': 'text/html; charset=utf-8' }).end('<p>');
    }
    if (!name.endsWith('.wasm')) return response.writeHead(404).end();
    response.writeHead(200, { 'Content-Type': type }).end(readFileSync(new URL(name, distFolder)));
  });
  let address = '';

  before(async () => {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    address = `http://127.0.0.1:${/** @type {any} */ (server.address()).port}`;
  });
  after(() => server.close());

  for (const folder of ['typed', 'untyped']) {
    test(`a_module_served_${folder}_loads`, async () => {
      const attn = await load({ variant: 'simd128', wasmUrl: `${address}/${folder}/` });
      assert.deepEqual(attn.scaledDotProductAttention(x, x, x).output.shape, [2, 2]);
    });
  }

  test('a_404_response_is_named', async () => {
    const message = `${address}/nowhere could not be read: the server returned 404 Not Found`;
    const wasmUrl = `${address}/nowhere`;
    await assertRejects(load({ variant: 'simd128', wasmUrl }), 'load_failed', message);
  });

  test('an_html_page_in_place_of_the_file_is_named', async () => {
    const wasmUrl = `${address}/page.wasm`;
    const message = `${wasmUrl} could not be read: the server returned a page (text/html); the file may be missing`;
    await assertRejects(load({ variant: 'simd128', wasmUrl }), 'load_failed', message);
  });

  test('a_file_that_vite_left_behind_suggests_a_setting', async () => {
    const wasmUrl = `${address}/node_modules/.vite/deps/nowhere`;
    const message = /could not be read: .*; for Vite, set optimizeDeps: \{ exclude: \['attn'\] \}$/;
    await assertRejects(load({ variant: 'simd128', wasmUrl }), 'load_failed', message);
  });

  test('a_server_that_does_not_respond_is_named', async () => {
    const wasmUrl = 'http://127.0.0.1:1/';
    const message =
      /^http:\/\/127\.0\.0\.1:1\/attn-simd128\.wasm could not be read: .*; check that the file exists, that its server allows other origins \(CORS\), and that the content security policy \(connect-src\) allows the request$/;
    await assertRejects(load({ variant: 'simd128', wasmUrl }), 'load_failed', message);
  });
});
