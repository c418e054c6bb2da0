import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, test } from 'node:test';

import { provideHeaders } from '../../../wasm/toolchain/headerLibrary.js';

let folder = '';

beforeEach((context) => {
  const { XDG_CACHE_HOME } = process.env;
  folder = mkdtempSync(join(tmpdir(), 'attn-test-'));
  process.env.XDG_CACHE_HOME = join(folder, 'cache');
  /** @type {import('node:test').TestContext} */ (context).after(() => {
    rmSync(folder, { recursive: true });
    if (XDG_CACHE_HOME === undefined) delete process.env.XDG_CACHE_HOME;
    else process.env.XDG_CACHE_HOME = XDG_CACHE_HOME;
  });
});

/** @param {string} version */
function versionHeader(version) {
  const [major, minor, patch] = version.split('.');
  return `#define LIB_MAJOR ${major}\n#define LIB_MINOR ${minor}\n#define LIB_PATCH ${patch}\n`;
}

/**
 * An include folder with a library of this version and, as in /usr/include, another library next to
 * it.
 * @param {string} version
 */
function include(version) {
  const path = join(folder, `include-${version}`);
  mkdirSync(join(path, 'library/detail'), { recursive: true });
  writeFileSync(join(path, 'library/detail/version.h'), versionHeader(version));
  writeFileSync(join(path, 'stdio.h'), '');
  return path;
}

const kLibrary = {
  name: 'a-library',
  cmakePackage: 'a_library',
  headers: 'library',
  versionHeader: 'library/detail/version.h',
  versionMacro: 'LIB',
  minVersion: '3.11.0',
  debianPackage: 'none',
  debianVersion: '3.11.3',
};

test('the headers are copied without their neighbours', async () => {
  const found = await provideHeaders(kLibrary, [join(folder, 'nothing'), include('3.12.1')]);
  assert.equal(found, join(folder, 'cache/attn/a-library-3.12.1'));
  assert.equal(
    readFileSync(join(found, 'include/library/detail/version.h'), 'utf8'),
    versionHeader('3.12.1'),
  );
  assert.ok(!existsSync(join(found, 'include/stdio.h')));
});

test('CMake finds the copy and its version', async () => {
  const found = (await provideHeaders(kLibrary, [include('3.11.0')])) ?? '';
  assert.match(
    readFileSync(join(found, 'a_libraryConfig.cmake'), 'utf8'),
    /a_library_INCLUDE_DIRS/,
  );
  assert.match(readFileSync(join(found, 'a_libraryConfigVersion.cmake'), 'utf8'), /"3\.11\.0"/);
});

test('a newer version is preferred to an old one', async () => {
  const found = await provideHeaders(kLibrary, [include('3.10.5'), include('4.0.0')]);
  assert.equal(found, join(folder, 'cache/attn/a-library-4.0.0'));
});
