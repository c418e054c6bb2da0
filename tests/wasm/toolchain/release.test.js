import assert from 'node:assert/strict';
import { test } from 'node:test';

import { missingFiles, obstacles } from '../../../wasm/toolchain/release.js';

const kReady = {
  packageJson: { version: '1.2.3', repository: 'r', homepage: 'h', bugs: 'b' },
  cmakeLists: 'project(attn VERSION 1.2.3 LANGUAGES CXX)',
  changelog: '# Changelog\n\n## 1.2.3, 2026-12-31\n\n## 1.2.2, 2026-11-30\n',
  status: '',
};

test('a checkout that is ready has no obstacles', () => {
  assert.deepEqual(obstacles(kReady), []);
});

test('each obstacle to a release is a sentence', () => {
  /** @type {[Partial<typeof kReady>, RegExp][]} */
  const cases = [
    [{ packageJson: { ...kReady.packageJson, homepage: '' } }, /lacks homepage: add the public/],
    [
      { cmakeLists: 'project(attn VERSION 1.2.4' },
      /CMakeLists.txt says version 1.2.4 and .* 1.2.3/,
    ],
    [
      { changelog: '## 1.2.3, unreleased\n' },
      /begins with "1.2.3, unreleased": give version 1.2.3/,
    ],
    [{ changelog: '## 1.2.2, 2026-11-30\n' }, /begins with "1.2.2, 2026-11-30"/],
    [{ status: ' M README.md\n' }, /not committed/],
  ];
  for (const [change, sentence] of cases) {
    const found = obstacles({ ...kReady, ...change });
    assert.equal(found.length, 1, `${sentence}`);
    assert.match(found[0] ?? '', sentence);
  }
});

test('a package has every file that its entries name', () => {
  const exports = {
    '.': { types: './dist/index.d.ts', default: './dist/index.js' },
    './*.wasm': './dist/*.wasm',
    './package.json': './package.json',
  };
  const files = ['LICENSE', 'README.md', 'dist/index.d.ts', 'dist/index.js', 'package.json'];
  assert.deepEqual(missingFiles(files, exports), []);
  assert.deepEqual(missingFiles(files.slice(0, 3), exports), ['dist/index.js', 'package.json']);
});
