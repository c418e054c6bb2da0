// How a call tells that JavaScript and the core mean the same arguments.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

const distFolder = new URL('../../wasm/dist/', import.meta.url);

test('arguments_of_other_kinds_are_refused', async () => {
  // The module as the loader has it, without what writes arguments.
  const { default: load } = await import(new URL('attn.glue.js', distFolder).href);
  const wasm = new WebAssembly.Module(readFileSync(new URL('attn-simd128.wasm', distFolder)));
  const native = await load({
    instantiateWasm(/** @type {any} */ imports, /** @type {any} */ receive) {
      WebAssembly.instantiate(wasm, imports).then(receive);
      return {};
    },
  });
  native.start(1);
  const address = native._malloc(128);
  const { buffer } = native.wasmMemory;
  const [kReal, kInteger] = [1, 2];
  const kindsOf = (/** @type {number[]} */ ...kinds) =>
    kinds.reduce((all, kind) => 31 * all + kind, 0);
  const make = (/** @type {number} */ kinds) => {
    new Float64Array(buffer, address, 4).set([2, 4, 0, 0.02]);
    return native._attn_run(native.makeLearnedPositionalEncoding, address, kinds);
  };
  const right = kindsOf(kInteger, kInteger, kInteger, kReal);
  assert.equal(make(right), 1);
  for (const kinds of [0, kReal, kindsOf(kInteger, kInteger, kReal, kInteger)]) {
    assert.equal(make(kinds), 0);
    const [code, length] = new Float64Array(buffer, address, 2);
    assert.equal(`${Buffer.from(buffer, code, length)}`, 'internal');
  }
  assert.equal(make(right), 1);
});
