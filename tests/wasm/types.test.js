import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

const root = join(import.meta.dirname, '../..');

/** What a user writes; the lines marked must not compile. */
const example = `
import { load, AttnError } from 'attn';
import type { Attn, AttentionResult, MultiHeadAttention, Tensor, Variant } from 'attn';
import { load as loadInWorker } from 'attn/worker';
import type { Remote, RemoteAttn } from 'attn/worker';
import { serve } from 'attn/worker/serve';

const attn: Attn = await load({ variant: 'simd128', threads: 2, wasmUrl: new URL('https://a.example/') });
const variant: Variant = attn.variant;
const x: Tensor = attn.ngramEmbedding(['a', 'b'], { dModel: 8, seed: 1 });
const result: AttentionResult = attn.scaledDotProductAttention(x, x, { data: [1, 2], shape: [2, 1] }, {
  scale: 0.5,
  causal: 'bottomRight',
  window: { left: 1, diagonal: 3 },
  validLens: [2],
  mask: { data: [true, false], shape: [2] },
  needWeights: true,
});
const weights: Tensor | undefined = result.weights;
const first: number = result.output.data[0]!;
const encoding: Tensor = attn.sinusoidalEncoding({ length: 4, dModel: 8, layout: 'concatenated' });
const matrix: Tensor = attn.shiftMatrix({ dModel: 8, delta: -0.5, base: 100 });
const shifted: Tensor = attn.applyShift(encoding, 2);
const positioned: Tensor = attn.positionalEncoding(x, { start: 3 });
{
  using mha = new attn.MultiHeadAttention({ dModel: 8, numHeads: 2, bias: true, init: 'identity' });
  const names: string[] = mha.parameterNames();
  mha.setParameter(names[0]!, mha.parameter('in_proj_weight'));
  mha.forward(x, x, x, { causal: 1, validLens: Int32Array.of(2) }).output.shape satisfies number[];
}
const remote: RemoteAttn = await loadInWorker({ variant: 'simd128', threads: 2 });
const remoteVariant: Variant = await remote.variant;
const remoteLayer: Remote<MultiHeadAttention> = await new remote.MultiHeadAttention({ dModel: 8, numHeads: 2 });
const remoteResult: AttentionResult = await remoteLayer
  .with({ signal: AbortSignal.timeout(1000), transfer: [x.data.buffer as ArrayBuffer] })
  .forward(x, x, x, { causal: true });
await remoteLayer.dispose();
const tasks = {
  *count(attn: Attn, to: number): Generator<number, string> {
    for (let i = 0; i < to; ++i) yield i;
    return attn.version;
  },
  use: (attn: Attn, layer: MultiHeadAttention) => layer.numHeads,
};
serve(tasks);
const withTasks = await loadInWorker<typeof tasks>({ worker: new Worker('tasks.js') });
const counted: string = await withTasks.with({ onProgress: console.log }).run('count', 3);
const heads: number = await withTasks.run('use', remoteLayer);
remote.terminate();
try {
  await load();
} catch (error) {
  if (error instanceof AttnError && error.code === 'load_failed') throw error;
}

// @ts-expect-error: there is no such variant
await load({ variant: 'avx2' });
// @ts-expect-error: dModel is missing
attn.sinusoidalEncoding({ length: 4 });
// @ts-expect-error: a shape is missing
attn.positionalEncoding({ data: [1] });
// @ts-expect-error: causal is no text
attn.scaledDotProductAttention(x, x, x, { causal: 'yes' });
// @ts-expect-error: a plain array has no shape
attn.scaledDotProductAttention([1], [1], [1]);
// @ts-expect-error: there is no such code
if (new AttnError('invalid_argument', '').code === 'wrong') throw 0;
// @ts-expect-error: a promise is no variant
const notAwaited: Variant = remote.variant;
// @ts-expect-error: dModel is missing
await remote.sinusoidalEncoding({ length: 4 });
// @ts-expect-error: there is no such task
await withTasks.run('multiply', 3);
// @ts-expect-error: the task counts to a number
await withTasks.run('count', 'three');
// @ts-expect-error: no attribute can be set
attn.variant = 'simd128';

export { variant, weights, first, matrix, shifted, positioned };
export { remoteVariant, remoteResult, counted, heads, notAwaited };
`;

test('examples_compile_in_strict_mode_for_browsers_and_node', () => {
  // In the checkout, so that the package is found by its own name.
  const folder = mkdtempSync(join(root, 'build/types-test-'));
  try {
    writeFileSync(join(folder, 'example.mts'), example);
    for (const [name, options] of Object.entries({
      bundler: { module: 'esnext', moduleResolution: 'bundler' },
      node: { module: 'nodenext', moduleResolution: 'nodenext' },
    })) {
      const config = {
        compilerOptions: {
          ...options,
          strict: true,
          noUncheckedIndexedAccess: true,
          exactOptionalPropertyTypes: true,
          noEmit: true,
          target: 'es2022',
          lib: ['es2022', 'esnext.disposable', 'dom'],
          types: [],
        },
        files: ['example.mts'],
      };
      const file = join(folder, `${name}.json`);
      writeFileSync(file, JSON.stringify(config));
      const tsc = join(root, 'node_modules/typescript/bin/tsc');
      const { stdout } = spawnSync(process.execPath, [tsc, '-p', file], { encoding: 'utf8' });
      assert.equal(stdout, '');
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});
