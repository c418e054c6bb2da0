// The package as users get it: packed, installed in an empty project, run by Node and bundled.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { build } from 'vite';

import { kRoot } from '../../wasm/toolchain/checkout.js';

/** @type {string} */
let project;
/** @type {{ filename: string, files: { path: string }[] }} */
let tarball;

const npm = (/** @type {string[]} */ args, /** @type {string} */ cwd) =>
  execFileSync('npm', [...args, '--loglevel=error'], { cwd, encoding: 'utf8' });

before(() => {
  project = mkdtempSync(join(tmpdir(), 'attn-test-'));
  [tarball] = JSON.parse(npm(['pack', '--json', '--pack-destination', project], kRoot));
  writeFileSync(join(project, 'package.json'), '{ "private": true, "type": "module" }');
  npm(['install', '--offline', '--no-audit', join(project, tarball.filename)], project);
});
after(() => rmSync(project, { recursive: true, force: true }));

test('holds the build and nothing else', () => {
  const others = tarball.files
    .map(({ path }) => path)
    .filter((path) => !path.startsWith('wasm/dist/'));
  assert.deepEqual(others.sort(), ['LICENSE', 'README.md', 'package.json']);
});

test('publint has nothing to say', async () => {
  const { messages, pkg } = await publint({ pkgDir: kRoot, level: 'suggestion', pack: false });
  assert.deepEqual(
    messages.map((message) => formatMessage(message, pkg, { color: false })),
    [],
  );
});

const kUse = `
import { load } from 'attn';
const attn = await load();
const { data, shape } = attn.sinusoidalEncoding({ length: 2, dModel: 3 });
`;

test('Node imports it by name', () => {
  writeFileSync(
    join(project, 'use.js'),
    `${kUse}console.log(shape.join(), data[3]);process.exit();`,
  );
  const output = execFileSync(process.execPath, ['use.js'], { cwd: project, encoding: 'utf8' });
  const [shape, value] = output.trim().split(' ');
  assert.equal(shape, '2,3');
  assert.equal(Number(value), Math.fround(Math.sin(1)));
});

test('TypeScript in strict mode knows its types', () => {
  const options = { strict: true, noEmit: true, target: 'esnext', module: 'nodenext', types: [] };
  const lib = ['esnext', 'dom'];
  writeFileSync(
    join(project, 'tsconfig.json'),
    JSON.stringify({ compilerOptions: { ...options, lib }, files: ['use.ts'] }),
  );
  writeFileSync(
    join(project, 'use.ts'),
    `${kUse}
const typed: [Float32Array, number[]] = [data, shape];
// @ts-expect-error A length is a number.
attn.sinusoidalEncoding({ length: 'two', dModel: 3 });
export { typed };
`,
  );
  const tsc = join(kRoot, 'node_modules/typescript/bin/tsc');
  execFileSync(process.execPath, [tsc, '-p', '.'], { cwd: project, stdio: 'inherit' });
});

test('Vite bundles it, with the .wasm files beside the script', async () => {
  const root = join(project, 'site');
  mkdirSync(root);
  writeFileSync(join(root, 'index.html'), '<script type="module" src="./use.js"></script>');
  writeFileSync(join(root, 'use.js'), `${kUse}document.title = shape.join();`);
  // The threads' workers are modules, which Vite has to be told.
  const worker = { format: /** @type {const} */ ('es') };
  await build({ root, logLevel: 'error', worker, build: { target: 'es2023' } });
  const names = readdirSync(join(root, 'dist/assets'));
  for (const variant of ['simd128', 'relaxed-simd', 'simd128-threads', 'relaxed-simd-threads']) {
    const pattern = new RegExp(`^attn-${variant}-[\\w-]{8}\\.wasm$`);
    assert.equal(names.filter((name) => pattern.test(name)).length, 1, variant);
  }
});
