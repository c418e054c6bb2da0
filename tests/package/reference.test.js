import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';

import { load } from 'attn';

import { kFunctionsElsewhere } from '../../wasm/js/hints.js';
import { kRoot } from '../../wasm/toolchain/checkout.js';

let folder = '';
/** @type {ReturnType<typeof spawnSync>} */
let result;

before(() => {
  folder = mkdtempSync(join(tmpdir(), 'attn-reference-'));
  const program = join(kRoot, 'wasm/toolchain/reference.js');
  result = spawnSync(process.execPath, [program, folder], { encoding: 'utf8' });
});
after(() => rmSync(folder, { recursive: true }));

test('the_reference_is_built_without_a_warning', () => {
  assert.equal(`${result.stdout}${result.stderr}`, '');
  assert.equal(result.status, 0);
});

test('the_reference_has_every_member_of_a_module', async () => {
  // The members for training and models are spread over three interfaces.
  const page = ['Attn', 'TrainingAttn', 'ModelsAttn']
    .map((name) => readFileSync(join(folder, `interfaces/attn.${name}.html`), 'utf8'))
    .join();
  const attn = await load();
  const names = Object.getOwnPropertyNames(Object.getPrototypeOf(attn));
  // The reference omits functions named as in other libraries, because they only throw an error.
  const others = ['constructor', ...Object.keys(kFunctionsElsewhere)];
  for (const name of [...names, ...Object.keys(attn)]) {
    if (!others.includes(name)) assert.ok(page.includes(`id="${name.toLowerCase()}"`), name);
  }
});

test('equations_keep_their_line_breaks', () => {
  const page = readFileSync(join(folder, 'interfaces/attn.Attn.html'), 'utf8');
  assert.ok(
    /<code>\s*cos\(δ·ω_j\) {2}sin\(δ·ω_j\)\n\s*−sin\(δ·ω_j\) {2}cos\(δ·ω_j\)\s*<\/code>/.test(page),
  );
});

test('the_reference_makes_no_request_to_another_origin', () => {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  const pages = files.filter((name) => name.endsWith('.html') || name.endsWith('.css'));
  assert.ok(pages.length > 20);
  for (const name of pages) {
    const text = readFileSync(join(folder, name), 'utf8');
    assert.doesNotMatch(text, /(src=|<link [^>]*href=|url\()["']?(https?:)?\/\//, name);
  }
});
