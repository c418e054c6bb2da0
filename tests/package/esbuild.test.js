// Tests the package bundled by esbuild, following the guide's recipe exactly.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';

import { kVariants } from '../../wasm/toolchain/build.js';
import { kRoot } from '../../wasm/toolchain/checkout.js';
import { installPackage } from './install.js';

/** @import { Project } from './install.js' */

/**
 * The program to bundle. It runs every variant on this thread and in a worker, and then runs a
 * custom task.
 */
const kProgram = `
import { load } from 'attn';
import { load as loadInWorker } from 'attn/worker';

const { Worker: NodeWorker } = process.getBuiltinModule('node:worker_threads');
const x = { data: [1, 0, 0, 1], shape: [2, 2] };
const variants = ${JSON.stringify(kVariants)};
for (const variant of variants) {
  try {
    const options = { variant, ...(variant.endsWith('threads') && { threads: 2 }) };
    const attn = await load(options);
    const { output } = attn.scaledDotProductAttention(x, x, x);
    const remote = await loadInWorker(options);
    const { output: same } = await remote.scaledDotProductAttention(x, x, x);
    console.log(attn.variant, await remote.variant, ...output.data, ...same.data);
    remote.terminate();
  } catch (error) {
    if (!/this engine lacks/.test(error.message)) throw error;
    console.log(variant, variant, 'lacking');
  }
}
const worker = new NodeWorker(new URL('./tasks.js', import.meta.url));
const attn = await loadInWorker({ worker, threads: 1 });
console.log('task', ...(await attn.run('attend', x)));
process.exit();
`;

/** A worker that serves a custom task. */
const kTasks = `
import { serve } from 'attn/worker/serve';

serve({ attend: (attn, x) => attn.scaledDotProductAttention(x, x, x).output.data });
`;

/** @type {Project} */
let project;

before(() => {
  project = installPackage();
});
after(() => project.remove());

/** @param {string} name */
const run = (name) =>
  execFileSync(process.execPath, [name], {
    ...{ cwd: project.folder, encoding: 'utf8', timeout: 120_000 },
  });

test('a_bundle_built_by_esbuild_following_the_guide_runs_without_the_package', () => {
  const guide = readFileSync(join(project.folder, 'node_modules/attn/wasm/README.md'), 'utf8');
  const recipe = guide.split('```js\n').find((block) => block.includes("from 'esbuild'"));
  assert.ok(recipe);
  mkdirSync(join(project.folder, 'src'));
  writeFileSync(join(project.folder, 'src/main.js'), kProgram);
  writeFileSync(join(project.folder, 'src/tasks.js'), kTasks);
  const withTasks = recipe.split('```')[0].replace(/'src\/main.js'/, "$&, 'src/tasks.js'");
  writeFileSync(join(project.folder, 'build.js'), withTasks);
  const modules = join(project.folder, 'node_modules');
  symlinkSync(join(kRoot, 'node_modules/esbuild'), join(modules, 'esbuild'));
  run('build.js');
  renameSync(modules, join(project.folder, 'elsewhere'));

  const score = Math.exp(1 / Math.SQRT2);
  const [own, other] = [score / (score + 1), 1 / (score + 1)];
  const output = [own, other, other, own];
  const assertClose = (/** @type {string[]} */ actual, /** @type {number[]} */ expected) => {
    assert.equal(actual.length, expected.length, `${actual}`);
    actual.forEach((value, i) => assert.ok(Math.abs(Number(value) - expected[i]) < 1e-6, value));
  };
  const lines = run('dist/main.js').trim().split('\n');
  assert.equal(lines.length, kVariants.length + 1);
  for (const [i, line] of lines.slice(0, -1).entries()) {
    const [variant, inWorker, ...values] = line.split(' ');
    assert.deepEqual([variant, inWorker], [kVariants[i], kVariants[i]]);
    if (variant.startsWith('relaxed-simd') && values[0] === 'lacking') continue;
    assertClose(values, [...output, ...output]);
  }
  const [name, ...values] = lines[lines.length - 1].split(' ');
  assert.equal(name, 'task');
  assertClose(values, output);
});
