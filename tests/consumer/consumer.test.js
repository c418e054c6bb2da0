// Tests the library as users get it: installed into a folder and linked in every documented way.

import assert from 'node:assert/strict';
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';

import { kBuildFolder, kRoot } from '../../wasm/toolchain/checkout.js';
import { compiledOnce } from '../../wasm/toolchain/cmake.js';
import { command, findProgram } from '../../wasm/toolchain/system.js';

const kHere = import.meta.dirname;
/** Strict compiler flags, with which the headers must compile without warnings in users' code. */
const kStrict = '-std=c++20 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror'.split(' ');

const kCompilers = ['g++-12', 'g++-13', 'g++-14', 'clang++-14', 'clang++-19'].filter(findProgram);
if (kCompilers.length === 0) kCompilers.push('c++');

// The same build type as in the preset `release`, so that the compiler cache applies.
const kSettings = ['-DCMAKE_BUILD_TYPE=Release'];
if (process.env.CI) kSettings.push('-DATTN_WARNINGS_AS_ERRORS=ON');

const temporary = mkdtempSync(join(tmpdir(), 'attn-consumer-'));
const kStatic = join(temporary, 'static');
const kShared = join(temporary, 'shared');
const kLinkStatic = [
  '-DATTN_STATIC',
  `-I${kStatic}/include`,
  `-L${kStatic}/lib`,
  '-lattn',
  '-pthread',
];

/**
 * @param {string} program
 * @param {...string} args
 */
const run = (program, ...args) => command(program, args, { cwd: temporary });

/**
 * Configures and builds a project. Keeps its build folder, so that the next run has little to do.
 * @param {string} name
 * @param {string} source
 * @param {...string} settings
 */
async function build(name, source, ...settings) {
  const folder = join(kBuildFolder, `consumer-${name}`);
  const options = { cwd: temporary, env: compiledOnce() };
  const configure = ['-G', 'Ninja', '-S', source, '-B', folder, ...kSettings, ...settings];
  await command('cmake', configure, options);
  await command('cmake', ['--build', folder], options);
  return folder;
}

/**
 * @param {string} folder
 * @returns {string[]}
 */
const filesIn = (folder) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort();

after(() => rmSync(temporary, { recursive: true, force: true }));

describe('a static library, installed', () => {
  before(async () => {
    // Moves the installation, because it must work in any folder.
    const first = join(temporary, 'first');
    await run('cmake', '--install', join(kBuildFolder, 'release'), '--prefix', first);
    renameSync(first, kStatic);
  });

  it('names no folder of the build machine and no library that only attn uses', () => {
    for (const name of filesIn(kStatic).filter((name) => /\.(hpp|cmake|pc)$/.test(name))) {
      const text = readFileSync(join(kStatic, name), 'utf8');
      for (const word of [kRoot, temporary, 'xsimd', 'nlohmann']) {
        assert.ok(!text.includes(word), `${name} names ${word}`);
      }
    }
  });

  it('has headers that each compile alone, without warnings and without RTTI', async () => {
    const headers = filesIn(join(kStatic, 'include')).filter((name) => name.endsWith('.hpp'));
    assert.ok(headers.length > 30);
    const compile = (/** @type {string} */ compiler, /** @type {string} */ header) => {
      const args = ['-x', 'c++', '-fsyntax-only', '-fno-rtti', ...kStrict];
      return run(compiler, ...args, '-include', header, `-I${kStatic}/include`, '/dev/null');
    };
    const left = headers.values();
    const lanes = Array.from({ length: availableParallelism() }, async () => {
      for (const header of left) await compile(kCompilers[0] ?? 'c++', header);
    });
    await Promise.all(lanes);
    for (const compiler of kCompilers.slice(1)) await compile(compiler, 'attn/attn.hpp');
  });

  it('is found by find_package, and the examples run with it', async () => {
    const prefix = `-DCMAKE_PREFIX_PATH=${kStatic}`;
    const folder = await build('examples', join(kRoot, 'core/examples'), '--fresh', prefix);
    const listed = await run('ctest', '--test-dir', folder, '--output-on-failure');
    assert.match(listed, /100% tests passed/);
    assert.match(listed, /ring_attention \.+ +Passed/);
    // The example must stay short: model, loss and training loop take at most 50 lines.
    const lines = readFileSync(join(kRoot, 'core/examples/induction.cpp'), 'utf8').split('\n');
    assert.ok(lines.filter((line) => /^ *[^ /]/.test(line)).length <= 50);
    const image = readFileSync(join(folder, 'encoding.ppm'));
    const header = 'P6 256 128 255\n';
    assert.equal(image.length, header.length + 3 * 256 * 128);
    // The first pixel is sin 0 = 0 (white), the second is cos 0 = 1 (red).
    assert.deepEqual(
      [...image.subarray(header.length, header.length + 6)],
      [255, 255, 255, 255, 0, 0],
    );
  });

  it('includes a self-test, which finds every operation within its bounds', async () => {
    const lines = (await run(join(kStatic, 'bin/attn-selftest'))).split('\n');
    const checked = lines.filter((line) => line.includes(' operations within their bounds'));
    assert.ok(checked.length > 0);
    for (const line of checked) assert.match(line, /^\w+ +(\d+) of \1 operations/);
    assert.ok(lines.some((line) => /^multiply-adds, baseline +[\d.]+ GFLOP\/s$/.test(line)));
    assert.ok(lines.some((line) => /^GRU \(256, 512\) +[\d.]+/.test(line)));
  });

  it('is rejected for another minor version', async () => {
    const config = join(kStatic, 'lib/cmake/attn/attnConfigVersion.cmake');
    for (const [version, fits] of [
      ['0.1', 'TRUE'],
      ['0.2', 'FALSE'],
      ['1.0', 'FALSE'],
    ]) {
      const [major, minor] = (version ?? '').split('.');
      const script = join(temporary, 'version.cmake');
      const lines = [
        `set(PACKAGE_FIND_VERSION ${version})`,
        `set(PACKAGE_FIND_VERSION_MAJOR ${major})`,
        `set(PACKAGE_FIND_VERSION_MINOR ${minor})`,
        `include(${config})`,
        'message("compatible: ${PACKAGE_VERSION_COMPATIBLE}")',
      ];
      writeFileSync(script, lines.join('\n'));
      assert.match(await run('cmake', '-P', script), new RegExp(`compatible: ${fits}`), version);
    }
  });

  it('compiles without exceptions', async () => {
    const args = ['-fsyntax-only', '-fno-exceptions', ...kStrict, '-DATTN_STATIC'];
    const header = ['-x', 'c++', '-include', 'attn/attn.hpp', `-I${kStatic}/include`, '/dev/null'];
    for (const compiler of kCompilers) await run(compiler, ...args, ...header);
  });

  it('says in one error that it needs C++20', async () => {
    const args = ['-x', 'c++', '-fsyntax-only', '-std=c++17', `-I${kStatic}/include`];
    for (const compiler of kCompilers) {
      await assert.rejects(
        run(compiler, ...args, '-include', 'attn/attn.hpp', '/dev/null'),
        (/** @type {Error} */ { message }) =>
          message.includes('attn needs C++20: compile with -std=c++20') &&
          message.match(/error:/g)?.length === 2,
        compiler,
      );
    }
  });

  it('does not link with objects of the debug mode of libstdc++', async () => {
    const args = [...kLinkStatic, '-o', join(temporary, 'debug_mode')];
    await assert.rejects(
      run('c++', '-std=c++20', '-D_GLIBCXX_DEBUG', join(kHere, 'consumer.cpp'), ...args),
      /attn_must_be_compiled_with_GLIBCXX_DEBUG/,
    );
  });

  it('adds nothing to the exports of a shared library that uses it', async () => {
    const source = join(temporary, 'users_library.cpp');
    const lines = [
      '#include <attn/attn.hpp>',
      '[[gnu::visibility("default")]] float attend() {',
      '  const attn::OwnedTensor q({1, 2}, {1, 2}), k({1, 2}, {3, 4}), v({1, 2}, {5, 6});',
      '  attn::OwnedTensor output({1, 2});',
      '  attn::MultiHeadAttention layer({.d_model = 4, .num_heads = 2});',
      '  attn::scaled_dot_product_attention(q, k, v, output);',
      '  return output(0, 0);',
      '}',
    ];
    writeFileSync(source, lines.join('\n'));
    const library = join(temporary, 'libusers.so');
    const args = [
      '-shared',
      '-fPIC',
      '-O1',
      '-fvisibility=hidden',
      source,
      ...kLinkStatic,
      '-o',
      library,
    ];
    await run('c++', '-std=c++20', ...args);
    const symbols = await run('nm', '-DC', '--defined-only', library);
    assert.match(symbols, / T attend\(\)/);
    assert.doesNotMatch(symbols, /attn::/);
  });

  it('is packed as .tar.gz and .deb, and uninstalled', async () => {
    const packages = join(temporary, 'packages');
    const config = join(kBuildFolder, 'release/CPackConfig.cmake');
    await run('cpack', '--config', config, '-B', packages);
    const names = readdirSync(packages);
    const archive = names.find((name) => name.endsWith('.tar.gz')) ?? '';
    const listed = await run('tar', '-tzf', join(packages, archive));
    assert.match(listed, /\/lib\/libattn\.a\n/);
    assert.match(listed, /\/include\/attn\/attn\.hpp\n/);
    const debian = names.find((name) => /^attn_0\.1\.0_\w+\.deb$/.test(name));
    assert.ok(debian, `${names}`);
    if (findProgram('dpkg-shlibdeps')) {
      assert.match(await run('dpkg-deb', '-f', join(packages, debian), 'Depends'), /libstdc\+\+6/);
    }

    const prefix = join(temporary, 'uninstalled');
    await run('cmake', '--install', join(kBuildFolder, 'release'), '--prefix', prefix);
    await run('cmake', '--build', join(kBuildFolder, 'release'), '--target', 'uninstall');
    assert.deepEqual(filesIn(prefix), []);
  });

  for (const compiler of kCompilers) {
    it(`is found by pkg-config and links with ${compiler}, without RTTI`, async (test) => {
      if (!findProgram('pkg-config')) return test.skip('pkg-config is not installed');
      const env = { PKG_CONFIG_PATH: join(kStatic, 'lib/pkgconfig') };
      const options = { cwd: temporary, env };
      const flags = await command('pkg-config', ['--cflags', '--libs', 'attn'], options);
      const program = join(temporary, `consumer-${compiler}`);
      const source = join(kHere, 'consumer.cpp');
      const args = [...kStrict, '-fno-rtti', source, ...flags.trim().split(/\s+/)];
      await run(compiler, ...args, '-o', program);
      assert.match(await run(program), /attends 1, throws 1, extends 1, versions fit 1/);
    });
  }
});

describe('the sources, as part of another project', () => {
  it('work with add_subdirectory in a unity build, and keep tests, installation and options out of the project', async () => {
    const source = join(kHere, 'add_subdirectory');
    const settings = [`-DATTN_SOURCE=${kRoot}`, '-DCMAKE_UNITY_BUILD=ON'];
    const folder = await build('add_subdirectory', source, ...settings);
    assert.match(await run(join(folder, 'consumer')), /attends 1, throws 1, extends 1/);
  });

  it('work with FetchContent', async () => {
    const source = join(kHere, 'fetch_content');
    const setting = `-DFETCHCONTENT_SOURCE_DIR_ATTN=${kRoot}`;
    const folder = await build('fetch_content', source, setting);
    assert.match(await run(join(folder, 'consumer')), /attends 1, throws 1, extends 1/);
  });
});

describe('a shared library, installed', () => {
  const folder = join(kBuildFolder, 'consumer-fetch_content');

  before(async () => {
    if (!existsSync(folder)) throw new Error('the project that uses FetchContent was not built');
    for (const component of ['attn_Runtime', 'attn_Development']) {
      const prefix = join(temporary, component);
      await run('cmake', '--install', folder, '--component', component, '--prefix', prefix);
    }
    await run('cmake', '--install', folder, '--prefix', kShared);
  });

  it('has two components, one to run programs and one to build them', () => {
    const runtime = filesIn(join(temporary, 'attn_Runtime'));
    const development = filesIn(join(temporary, 'attn_Development'));
    assert.deepEqual(runtime, [
      'lib/libattn.so.0.1',
      'lib/libattn.so.0.1.0',
      'share/doc/attn/LICENSE',
    ]);
    assert.ok(development.includes('lib/libattn.so'));
    assert.ok(development.includes('lib/cmake/attn/attnConfig.cmake'));
    assert.ok(development.includes('lib/pkgconfig/attn.pc'));
    assert.ok(development.includes('include/attn/version.hpp'));
    assert.deepEqual([...runtime, ...development].sort(), filesIn(kShared));
  });

  it('exports only names of attn', async () => {
    const library = join(kShared, 'lib/libattn.so');
    const symbols = (await run('nm', '-DC', '--defined-only', library)).trim().split('\n');
    const foreign = symbols
      .map((line) => line.replace(/^\S* \w /, ''))
      .filter((name) => !/^((vtable|typeinfo|typeinfo name) for )?attn::/.test(name));
    // Weak symbols are allowed. They are templates of the standard library, which every program
    // contains.
    const weak = /^\S* [WuVv] /;
    assert.deepEqual(
      symbols.filter((line) => !weak.test(line) && foreign.some((name) => line.endsWith(name))),
      [],
    );
    assert.deepEqual(
      symbols.filter((line) => /xsimd|nlohmann|attn::(kernels|runtime|validation)::/.test(line)),
      [],
    );
  });

  it('is found by find_package, and the examples run with it', async () => {
    const prefix = `-DCMAKE_PREFIX_PATH=${kShared}`;
    const built = await build('examples_shared', join(kRoot, 'core/examples'), '--fresh', prefix);
    assert.match(await run('ctest', '--test-dir', built), /100% tests passed/);
  });
});
