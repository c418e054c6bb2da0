// Tests the contents and metadata of the package, and how Node and TypeScript see it once it is
// installed.

import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';

import packageJson from '../../package.json' with { type: 'json' };
import { kFlavours, kVariants } from '../../wasm/toolchain/build.js';
import { kRoot } from '../../wasm/toolchain/checkout.js';
import { installPackage } from './install.js';

/** @import { Project } from './install.js' */

const kExamples = join(import.meta.dirname, 'examples');

/** @type {Project} */
let project;

before(() => {
  project = installPackage();
  for (const name of readdirSync(kExamples)) {
    copyFileSync(join(kExamples, name), join(project.folder, name));
  }
});
after(() => project.remove());

/**
 * Runs a module of the project and returns its output.
 * @param {string} name
 * @param {string[]} [flags]
 * @param {string[]} [given] command-line arguments of the module
 */
async function run(name, flags = [], given = []) {
  const options = { cwd: project.folder, timeout: 60000 };
  return (await promisify(execFile)(process.execPath, [...flags, name, ...given], options)).stdout;
}

/** Returns the numbers in a text. @param {string} text */
const numbersIn = (text) => (text.match(/-?\d+(\.\d+)?(e-?\d+)?/g) ?? []).map(Number);

/** @param {number[]} actual @param {number[]} expected */
function assertClose(actual, expected) {
  assert.equal(actual.length, expected.length);
  actual.forEach((value, i) => assert.ok(Math.abs(value - expected[i]) < 1e-5, `${actual}`));
}

test('the_package_contains_only_the_build_and_the_files_its_guide_links_to', () => {
  const others = project.files.filter((path) => !path.startsWith('wasm/dist/'));
  assert.deepEqual(others.sort(), [
    ...['LICENSE', 'README.md', 'core/README.md', 'core/docs/coming_from.md', 'package.json'],
    ...readdirSync(kExamples)
      .map((name) => `tests/package/examples/${name}`)
      .sort(),
    ...['wasm/README.md', 'web/README.md', 'web/screenshot.png'],
  ]);
  for (const variant of kVariants) {
    for (const flavour of kFlavours) {
      const name = `${flavour}-${variant}.wasm`;
      assert.ok(project.files.includes(`wasm/dist/${name}`), name);
    }
  }
});

test('the_package_needs_no_other_package', () => {
  assert.deepEqual(readdirSync(join(project.folder, 'node_modules')).filter(isVisible), ['attn']);
  assert.equal('dependencies' in packageJson, false);
  assert.equal('scripts' in packageJson && 'postinstall' in packageJson.scripts, false);
});

/** @param {string} name */
const isVisible = (name) => !name.startsWith('.');

test('bundlers_can_follow_every_import', () => {
  const dist = join(project.folder, 'node_modules/attn/wasm/dist');
  for (const name of readdirSync(dist).filter((name) => name.endsWith('.js'))) {
    const text = readFileSync(join(dist, name), 'utf8');
    for (const [, from] of text.matchAll(/\b(?:from|import)\s*\(?\s*["'`]([^"'`]+)["'`]/g)) {
      assert.match(from, /^\.\//, name);
    }
  }
});

test('every_line_is_short_because_node_prints_the_line_of_an_uncaught_error', () => {
  const dist = join(project.folder, 'node_modules/attn/wasm/dist');
  for (const name of readdirSync(dist).filter((name) => name.endsWith('.js'))) {
    const lengths = readFileSync(join(dist, name), 'utf8')
      .split('\n')
      .map(({ length }) => length);
    assert.ok(Math.max(...lengths) < 2000, name);
  }
});

test('imports_that_bundlers_cannot_follow_are_marked', () => {
  const index = join(project.folder, 'node_modules/attn/wasm/dist/index.js');
  const [, dynamic] =
    readFileSync(index, 'utf8').match(/import\(([^;]*glueWithThreads\(\)[^;]*);/) ?? [];
  assert.match(dynamic ?? '', /@vite-ignore/);
  assert.match(dynamic ?? '', /webpackIgnore: true/);
});

test('types_come_first_among_the_conditions_of_every_export', () => {
  for (const [name, target] of Object.entries(packageJson.exports)) {
    if (typeof target !== 'string') assert.equal(Object.keys(target)[0], 'types', name);
  }
});

/**
 * Returns the targets of links and pictures in a document, without fragments.
 * @param {string} file
 */
const linksOf = (file) =>
  [...readFileSync(file, 'utf8').matchAll(/\]\(([^)#\s]+)[^)]*\)/g)].map(([, link]) => link);

test('documents_link_to_files_that_exist', () => {
  const folders = ['.', 'core', 'wasm', 'wasm/js', 'web', 'tests', 'tests/fuzz', 'tests/bench'];
  for (const document of folders.map((folder) => `${folder}/README.md`)) {
    for (const link of linksOf(join(kRoot, document))) {
      const exists = /^https?:/.test(link) || existsSync(join(kRoot, document, '..', link));
      assert.ok(exists, `${document}: ${link}`);
    }
  }
});

/**
 * READMEs of other parts of the repository. The package's README links to them, and they link to
 * files that are not in the package.
 */
const kOtherParts = ['core/README.md', 'web/README.md'];

test('every_link_in_a_packed_document_leads_into_the_package_or_to_a_public_site', () => {
  const documents = project.files.filter(
    (path) => path.endsWith('.md') && !kOtherParts.includes(path),
  );
  assert.ok(documents.includes('README.md') && documents.includes('wasm/README.md'));
  for (const document of documents) {
    for (const link of linksOf(join(project.folder, 'node_modules/attn', document))) {
      const leads = /^https:\/\//.test(link) || project.files.includes(join(document, '..', link));
      assert.ok(leads, `${document}: ${link}`);
    }
  }
});

test('publint_finds_nothing', async () => {
  const { messages, pkg } = await publint({ pkgDir: kRoot, level: 'suggestion', pack: false });
  assert.deepEqual(
    messages.map((message) => formatMessage(message, pkg, { color: false })),
    [],
  );
});

test('are_the_types_wrong_finds_nothing', async () => {
  const result = await checkPackage(createPackageFromTarballData(project.tarball));
  assert.ok(result.types);
  // Ignores two resolution modes for CommonJS, because the package does not support CommonJS.
  const problems = result.problems.filter(
    (problem) => !('resolutionKind' in problem && /^node10$|-cjs$/.test(problem.resolutionKind)),
  );
  assert.deepEqual(problems, []);
});

test('examples_compile_in_strict_mode', () => {
  const files = readdirSync(project.folder).filter((name) => name.endsWith('.js'));
  for (const [module, moduleResolution] of [
    ['nodenext', 'nodenext'],
    ['esnext', 'bundler'],
  ]) {
    const compilerOptions = {
      ...{ allowJs: true, checkJs: true, strict: true, noEmit: true, skipLibCheck: false },
      ...{ exactOptionalPropertyTypes: true, target: 'esnext', module, moduleResolution },
      ...{ lib: ['esnext', 'dom', 'dom.iterable'], types: ['node'] },
      typeRoots: [join(kRoot, 'node_modules/@types')],
    };
    const config = JSON.stringify({ compilerOptions, files });
    writeFileSync(join(project.folder, 'tsconfig.json'), config);
    const tsc = join(kRoot, 'node_modules/typescript/bin/tsc');
    execFileSync(process.execPath, [tsc, '-p', '.'], { cwd: project.folder, stdio: 'inherit' });
  }
});

test('editors_show_shapes_and_equations', () => {
  const types = readFileSync(join(project.folder, 'node_modules/attn/wasm/dist/attn.d.ts'), 'utf8');
  assert.match(types, /Σ_j softmax_j\(scale · q_i·k_j\) v_j/);
  assert.match(types, /@param \{?.*query {2}\(B, Hq, Nq, D\)/);
});

test('every_wasm_file_can_be_resolved_in_the_package', async () => {
  const modules = kVariants.map((variant) => `attn/attn-${variant}.wasm`);
  const script = `for (const name of ${JSON.stringify(modules)}) {
    console.log((await import('node:fs')).existsSync(new URL(import.meta.resolve(name))));
  }`;
  writeFileSync(join(project.folder, 'resolve.js'), script);
  assert.equal(await run('resolve.js'), 'true\n'.repeat(kVariants.length));
});

test('commonjs_can_require_the_package', async (t) => {
  if (!process.features.require_module) return t.skip('this Node cannot require modules');
  const script = `require('attn').load().then(({ version }) => console.log(version));`;
  writeFileSync(join(project.folder, 'use.cjs'), script);
  assert.equal(await run('use.cjs'), `${packageJson.version}\n`);
});

test('example_attention', async () => {
  const scores = [0, 4 / Math.SQRT2, 0];
  const sum = scores.reduce((result, score) => result + Math.exp(score), 0);
  const weights = scores.map((score) => Math.exp(score) / sum);
  const output = weights[0] * 10 + weights[1] * 20 + weights[2] * 60;
  assertClose(numbersIn(withoutTypes(await run('attention.js'))), [...weights, output, 1, 1]);
});

test('example_multi_head_attention', async () => {
  const [sizes, row] = withoutTypes(await run('multiHeadAttention.js')).split('row');
  assert.deepEqual(numbersIn(sizes), [2, 5, 16, 2, 4, 5, 5]);
  const weights = numbersIn(row);
  assertClose(weights.slice(3), [0, 0]);
  assertClose([weights.reduce((sum, weight) => sum + weight)], [1]);
});

test('example_heatmap', async () => {
  const pixels = [255, 255, 255, 255, 255, 0, 0, 255];
  const text = withoutTypes(await run('heatmap.js')).replace(/(sin|cos)\(0\)/g, '');
  assert.deepEqual(numbersIn(text), pixels);
});

test('example_decoding', async () => {
  const lines = withoutTypes(await run('decoding.js'))
    .trim()
    .split('\n');
  assert.deepEqual(lines.slice(0, -1), [
    'time   sees 1',
    'flies  sees 2',
    'like   sees 3',
    'an     sees 4',
    'arrow  sees 5',
  ]);
  const [length, difference] = numbersIn(lines.at(-1) ?? '');
  assert.equal(length, 5);
  assert.ok(difference < 1e-5, `${difference}`);
});

test('example_safetensors', async () => {
  const tensors = {
    'attention.in_proj_weight': { shape: [6, 2], data: [1, 0, 0, 1, 1, 0, 0, 1, 2, 0, 0, 3] },
    'attention.out_proj.weight': { shape: [2, 2], data: [1, 0, 0, 1] },
  };
  writeFileSync(join(project.folder, 'weights.safetensors'), safetensors(tensors));
  const [names, output] = withoutTypes(await run('safetensors.js')).split('output');
  assert.match(names, /^attention\.in_proj_weight F32 .*6, 2.*\nattention\.out_proj\.weight F32 /);
  // Queries and keys are x, and values are x · diag(2, 3).
  const score = Math.exp(1 / Math.SQRT2);
  const [own, other] = [score / (score + 1), 1 / (score + 1)];
  assertClose(numbersIn(output), [2 * own, 3 * other, 2 * other, 3 * own]);
});

test('example_language_model', async () => {
  const recorded = join(kRoot, 'tests/native/models/recorded/gpt2');
  const ids = [3, 7, 11, 2];
  const folder = join(project.folder, 'gpt2');
  mkdirSync(folder);
  for (const name of ['model.safetensors', 'config.json']) {
    copyFileSync(join(recorded, name), join(folder, name));
  }
  const said = withoutTypes(await run('languageModel.js', [], ['gpt2', ...ids.map(String)]));
  const [family, next, looks, logit, ...rest] = said.split(
    /next|looks|logit|without the first token|without head 1|patched|writes/,
  );
  const writes = rest.pop() ?? '';
  // The prediction without the first token, with a silenced head, and with a patched value.
  assert.equal(rest.length, 3);
  for (const changed of rest) assert.notDeepEqual(numbersIn(changed), numbersIn(logit));
  assert.match(family, /family gpt2 with 2 layers/);
  const written = numbersIn(writes);
  assert.equal(written.length, 4);
  assert.deepEqual(numbersIn(next), written.slice(0, 1));
  const shares = numbersIn(looks);
  assert.equal(shares.length, ids.length);
  assert.ok(Math.abs(shares.reduce((sum, share) => sum + share, 0) - 1) < 1e-5, looks);
});

test('example_training', async () => {
  const losses = withoutTypes(await run('training.js'))
    .trim()
    .split('\n')
    .map((line) => numbersIn(line)[1]);
  assert.equal(losses.length, 5);
  assert.ok(losses[0] > 2.5 && losses[4] < 0.05, `${losses}`);
  const lines = readFileSync(join(kExamples, 'training.js'), 'utf8').trim().split('\n');
  assert.ok(lines.length <= 40);
});

/**
 * Makes a file in the documented format: the length of the JSON header, the header, and the
 * numbers.
 * @param {Record<string, { shape: number[], data: number[] }>} tensors
 */
function safetensors(tensors) {
  let end = 0;
  const header = Object.entries(tensors).map(([name, { shape, data }]) => {
    const start = end;
    end += 4 * data.length;
    return [name, { dtype: 'F32', shape, data_offsets: [start, end] }];
  });
  const text = Buffer.from(JSON.stringify(Object.fromEntries(header)));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length));
  const numbers = Object.values(tensors).flatMap(({ data }) => data);
  return Buffer.concat([length, text, Buffer.from(Float32Array.from(numbers).buffer)]);
}

/** Removes the class name from an array printed by Node. @param {string} text */
function withoutTypes(text) {
  return text.replace(/\w+Array\(\d+\)/g, '');
}
