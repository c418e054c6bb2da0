// How a call tells that JavaScript and the core mean the same arguments.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

const distFolder = new URL('../../wasm/dist/', import.meta.url);

test('arguments_of_other_kinds_are_refused', async () => {
  // The module as the loader has it, without what writes arguments.
  const { default: make } = await import(new URL('attn.glue.js', distFolder).href);
  const wasm = new WebAssembly.Module(readFileSync(new URL('attn-simd128.wasm', distFolder)));
  const native = await make({
    instantiateWasm(/** @type {any} */ imports, /** @type {any} */ receive) {
      WebAssembly.instantiate(wasm, imports).then(receive);
      return {};
    },
  });
  const address = native._malloc(128);
  const { buffer } = native.wasmMemory;
  const [kReal, kInteger] = [1, 2];
  const start = (/** @type {number} */ kinds) => {
    new Float64Array(buffer, address, 1)[0] = 1;
    return native._attn_run(native.start, address, kinds);
  };
  assert.equal(start(kInteger), 1);
  for (const kinds of [0, kReal, 31 * kInteger + kInteger]) {
    assert.equal(start(kinds), 0);
    const [code, length] = new Float64Array(buffer, address, 2);
    assert.equal(`${Buffer.from(buffer, code, length)}`, 'internal');
  }
  assert.equal(start(kInteger), 1);
});
