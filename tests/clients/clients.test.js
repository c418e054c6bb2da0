// The installed package in other runtimes, and as webpack minifies it.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { copyFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';

import { provideNpmPackages } from '../../wasm/toolchain/checkout.js';
import { installPackage } from '../package/install.js';

/** @import { Project } from '../package/install.js' */

const kBin = join(import.meta.dirname, 'node_modules/.bin');
const kProgram = `
import { load } from 'attn';
const attn = await load({ threads: 2 });
const x = { data: [1, 2, 3, 4], shape: [2, 2] };
const { output } = attn.scaledDotProductAttention(x, x, x);
console.log(attn.numThreads, attn.fallback, output.data.length);
attn.dispose();
`;

/** @type {Project} */
let project;

before(async () => {
  await provideNpmPackages(import.meta.dirname, 'the clients');
  // Packages are installed without their scripts, and Bun's puts its program in place.
  execFileSync(process.execPath, ['install.js'], {
    cwd: join(import.meta.dirname, 'node_modules/bun'),
  });
  project = installPackage();
  writeFileSync(join(project.folder, 'main.js'), kProgram);
});
after(() => project?.remove());

/** @param {string} program @param {string[]} args */
const run = (program, ...args) =>
  execFileSync(program, args, { cwd: project.folder, encoding: 'utf8', timeout: 60_000 }).trim();

test('deno_runs_threads', () => {
  const found = run(join(kBin, 'deno'), 'run', '--no-prompt', '--allow-read', 'main.js');
  assert.equal(found, '2 undefined 4');
});

test('bun_runs_threads', () => {
  assert.equal(run(join(kBin, 'bun'), 'main.js'), '2 undefined 4');
});

test('threads_start_with_the_glue_that_webpack_minifies', () => {
  run(join(kBin, 'webpack'), '--mode', 'production', '--entry', './main.js');
  const output = join(project.folder, 'dist');
  const dist = join(project.folder, 'node_modules/attn/wasm/dist');
  const glue = readdirSync(output).filter(
    (name) =>
      /^[0-9a-f]{20}\.js$/.test(name) &&
      readFileSync(join(output, name), 'utf8').includes('em-pthread'),
  );
  // One for each flavour of the module; the names do not say which, and only attn's fits its .wasm.
  const found = glue.map((name) => {
    copyFileSync(join(output, name), join(dist, 'attn-threads.glue.js'));
    return run(process.execPath, 'main.js');
  });
  assert.equal(glue.length, 3);
  assert.ok(found.includes('2 undefined 4'), found.join('\n'));
});
