import assert from 'node:assert/strict';
import { test } from 'node:test';

import { isTried, refusal } from '../../../wasm/toolchain/emscripten.js';

test('only versions that the build was tested with are accepted', () => {
  assert.ok(isTried('3.1.69', {}));
  for (const version of ['3.1.6', '3.1.68', '3.1.70', '4.0.2', '6.0.5']) {
    assert.ok(!isTried(version, {}), version);
    assert.ok(isTried(version, { ATTN_ANY_EMSCRIPTEN: '1' }), version);
  }
});

test('a rejection names the installed version, the needed one and what to do', () => {
  assert.equal(
    refusal('6.0.5'),
    'Emscripten 3.1.69 is missing (emcc on PATH is 6.0.5); other versions are untested. Install 3.1.69 ' +
      'with emsdk as described on emscripten.org, activate it in this shell and try again; ' +
      'ATTN_ANY_EMSCRIPTEN=1 uses the emcc on PATH.',
  );
  assert.match(refusal(undefined), /is missing \(there is no emcc on PATH\)/);
});
