import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';

import { sourceFor } from '../../../wasm/toolchain/debianPackages.js';

/**
 * @param {import('node:test').TestContext} context
 * @param {Record<string, string>} files
 */
function configFolder(context, files) {
  const folder = mkdtempSync(join(tmpdir(), 'attn-test-'));
  context.after(() => rmSync(folder, { recursive: true }));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
}

test('a one-line source keeps its options and address', (context) => {
  const folder = configFolder(context, {
    'sources.list': [
      '# deb http://commented.example/debian bookworm main',
      'deb-src http://mirror.example/debian bookworm main',
      'deb http://security.example/debian bookworm-security main',
      'deb [arch=amd64 signed-by=/keys/debian.gpg] http://mirror.example/debian bookworm contrib main # x',
    ].join('\n'),
  });
  assert.deepEqual(sourceFor('trixie', 'bookworm', folder), {
    format: 'list',
    text: 'deb [arch=amd64 signed-by=/keys/debian.gpg] http://mirror.example/debian trixie main\n',
  });
});

test('a deb822 source keeps its address and signing key', (context) => {
  const folder = configFolder(context, {
    'sources.list.d/node.list': 'deb http://node.example nodistro main\n',
    'sources.list.d/debian.sources': `Types: deb
URIs: http://security.example/debian
Suites: bookworm-security
Components: main

Types: deb deb-src
# a comment
URIs: http://mirror.example/debian
Suites: bookworm bookworm-updates
Components: main contrib
Signed-By: /keys/debian.gpg
`,
  });
  assert.deepEqual(sourceFor('trixie', 'bookworm', folder), {
    format: 'sources',
    text: `Types: deb
URIs: http://mirror.example/debian
Suites: trixie
Components: main
Signed-By: /keys/debian.gpg
`,
  });
});

test('a disabled source does not count', (context) => {
  const folder = configFolder(context, {
    'sources.list.d/debian.sources':
      'Enabled: no\nTypes: deb\nURIs: http://a.example\nSuites: trixie\nComponents: main\n',
  });
  assert.throws(() => sourceFor('trixie', 'trixie', folder), /has no package source for Debian/);
});

test('a machine without sources gets an explanation', (context) => {
  const folder = configFolder(context, {});
  assert.throws(() => sourceFor('trixie', 'bookworm', folder), { name: 'SetupError' });
});
