import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { AttnError, load } from 'attn';

import packageJson from '../../package.json' with { type: 'json' };
import { assertRejects } from './compare.js';

const distFolder = new URL('../../wasm/dist/', import.meta.url);
const x = { data: [1, 2, 3, 4], shape: [2, 2] };

describe('load', () => {
  test('it_picks_the_best_variant_that_this_node_runs', async () => {
    const attn = await load({ threads: 2 });
    const relaxed = await load({ variant: 'relaxed-simd' }).catch(() => undefined);
    const single = relaxed ? 'relaxed-simd' : 'simd128';
    assert.equal(attn.variant, `${single}-threads`);
    assert.equal(attn.numThreads, 2);
    assert.equal(attn.instructionSet, relaxed ? 'wasm_relaxed_simd' : 'wasm_simd128');
    assert.equal(attn.version, packageJson.version);
  });

  test('one_thread_needs_no_variant_with_threads', async () => {
    const attn = await load({ threads: 1 });
    assert.doesNotMatch(attn.variant, /threads/);
    assert.equal(attn.numThreads, 1);
  });

  test('a_variant_without_threads_uses_one', async () => {
    assert.equal((await load({ variant: 'simd128', threads: 8 })).numThreads, 1);
  });

  test('a_page_that_is_not_isolated_gets_one_thread', async () => {
    Object.assign(globalThis, { crossOriginIsolated: false });
    try {
      const attn = await load({ threads: 4 });
      assert.doesNotMatch(attn.variant, /threads/);
      assert.equal(attn.numThreads, 1);
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

  test('an_engine_without_simd_is_told_so', async (t) => {
    t.mock.method(WebAssembly, 'validate', () => false);
    const message = /^this engine lacks WebAssembly SIMD; Chrome 91, .* have it$/;
    await assertRejects(load(), 'load_failed', message);
  });

  test('an_engine_without_relaxed_simd_is_told_so_only_when_asked_for_it', async (t) => {
    const { validate } = WebAssembly;
    t.mock.method(WebAssembly, 'validate', (/** @type {Uint8Array<ArrayBuffer>} */ bytes) => {
      // Opcode 0x101: i32x4.relaxed_trunc_f32x4_s.
      return !bytes.includes(129) && validate(bytes);
    });
    assert.equal((await load({ threads: 1 })).variant, 'simd128');
    const message = 'variant relaxed-simd: this engine lacks WebAssembly relaxed SIMD';
    await assertRejects(load({ variant: 'relaxed-simd' }), 'load_failed', message);
  });

  test('refused_shared_memory_leads_to_one_thread', async (t) => {
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

  test('a_file_that_is_no_module_is_named', async () => {
    const message = /^file:.*index\.js could not be compiled: /;
    const wasmUrl = new URL('index.js', distFolder);
    await assertRejects(load({ variant: 'simd128', wasmUrl }), 'load_failed', message);
  });

  test('a_url_with_a_slash_at_its_end_is_the_folder_of_all_variants', async () => {
    for (const wasmUrl of [distFolder, distFolder.href, fileURLToPath(distFolder)]) {
      assert.equal((await load({ variant: 'simd128', wasmUrl })).variant, 'simd128');
    }
  });

  test('options_are_checked', async () => {
    /** @type {[any, string][]} */
    const cases = [
      [
        { variant: 'avx2' },
        "variant: got 'avx2', needs 'simd128' or 'relaxed-simd' or 'simd128-threads' or 'relaxed-simd-threads'",
      ],
      [{ threads: 0 }, 'threads: got 0, needs a whole number from 1 to 64'],
      [{ threads: '2' }, "threads: got '2', needs a whole number from 1 to 64"],
      [
        { wasmUrl: 'http://' },
        "wasmUrl: got 'http://', needs the address of a .wasm file or of its folder",
      ],
      [
        { wasmUrl: 'https://a.example/some.wasm' },
        "wasmUrl: got 'https://a.example/some.wasm', needs the variant that this file holds: set variant, too",
      ],
      [null, 'options: got null, needs a plain object'],
    ];
    for (const [options, message] of cases) {
      await assertRejects(load(options), 'invalid_argument', message);
    }
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
    test(`a_module_served_${folder}_is_loaded`, async () => {
      const attn = await load({ variant: 'simd128', wasmUrl: `${address}/${folder}/` });
      assert.deepEqual(attn.scaledDotProductAttention(x, x, x).output.shape, [2, 2]);
    });
  }

  test('an_answer_404_is_named', async () => {
    const message = `${address}/nowhere could not be read: the server answered 404 Not Found`;
    const wasmUrl = `${address}/nowhere`;
    await assertRejects(load({ variant: 'simd128', wasmUrl }), 'load_failed', message);
  });

  test('a_page_in_the_place_of_the_file_is_named', async () => {
    const wasmUrl = `${address}/page.wasm`;
    const message = `${wasmUrl} could not be read: the server answered with a page (text/html); the file may be missing`;
    await assertRejects(load({ variant: 'simd128', wasmUrl }), 'load_failed', message);
  });

  test('a_server_that_does_not_answer_is_named', async () => {
    const wasmUrl = 'http://127.0.0.1:1/';
    const message =
      /^http:\/\/127\.0\.0\.1:1\/attn-simd128\.wasm could not be read: .*; is it there, does its server allow other origins \(CORS\), and does the content security policy \(connect-src\) allow it\?$/;
    await assertRejects(load({ variant: 'simd128', wasmUrl }), 'load_failed', message);
  });
});
