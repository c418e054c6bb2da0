// Configures and builds the presets of CMakePresets.json.

import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { kBuildFolder, kRoot } from './checkout.js';
import { command, findProgram } from './system.js';

/**
 * Environment for ccache, if it is installed. With ccache, a source is compiled only once with the
 * same options, even if several projects compile it, such as the library and a project that
 * includes the library's sources.
 * @returns {Record<string, string>}
 */
export function compiledOnce() {
  if (!findProgram('ccache')) return {};
  return {
    CMAKE_CXX_COMPILER_LAUNCHER: 'ccache',
    // ccache compares paths relative to the build folder.
    CCACHE_BASEDIR: kRoot,
    CCACHE_NOHASHDIR: 'true',
    CCACHE_SLOPPINESS: 'pch_defines,time_macros',
  };
}

/**
 * Builds a preset, and configures it first unless it is already configured with the same settings.
 * @param {string} preset
 * @param {string[]} targets
 * @param {Record<string, string>} commonEnv
 * @param {object} [options]
 * @param {boolean} [options.tests]  whether the targets may be tests, which need the test library
 * @param {import('./progress.js').Update} [options.update]  receives the number of files built and the total
 */
export async function cmakeBuild(preset, targets, commonEnv, { tests = true, update } = {}) {
  const env = { ...(preset === 'wasm' ? {} : compiledOnce()), ...commonEnv };
  const stamp = join(kBuildFolder, preset, '.configured-with');
  const configured = existsSync(stamp) ? readFileSync(stamp, 'utf8') : '';
  const [whole, withoutTests] = [true, false].map((tests) => settingsOf(tests, env));
  // A folder that is configured with tests can also build targets that are not tests.
  if (configured !== whole.stamp && (tests || configured !== withoutTests.stamp)) {
    const { stamp: wanted, settings } = tests ? whole : withoutTests;
    update?.('configuring');
    await command('cmake', ['--preset', preset, '--fresh', ...settings], { cwd: kRoot, env });
    writeFileSync(stamp, wanted);
  }
  await command('cmake', ['--build', '--preset', preset, '--target', ...targets], {
    cwd: kRoot,
    env: { ...env, NINJA_STATUS: '[%f/%t] ' },
    onLine(line) {
      const count = line.match(/^\[(\d+\/\d+)\] /)?.[1];
      if (count) update?.(count);
    },
  });
}

/**
 * @param {boolean} tests
 * @param {Record<string, string>} env
 * @returns {{ settings: string[], stamp: string }} CMake's arguments, and a hash that changes whenever the
 *   configuration must be repeated
 */
function settingsOf(tests, env) {
  const settings = [
    ...(process.env.CI ? ['-DATTN_WARNINGS_AS_ERRORS=ON'] : []),
    ...(tests ? [] : ['-DATTN_BUILD_TESTS=OFF']),
    ...(env.ATTN_CHECK_ADDRESSES ? ['-DATTN_CHECK_ADDRESSES=ON'] : []),
  ];
  const stamp = createHash('sha256')
    .update(readFileSync(join(kRoot, 'CMakePresets.json')))
    .update(
      JSON.stringify([
        ...[kRoot, settings, env.EMSCRIPTEN_ROOT, env.xsimd_DIR, env.ATTN_NODE, env.CXX],
        env.CMAKE_CXX_COMPILER_LAUNCHER,
      ]),
    )
    .digest('hex');
  return { settings, stamp };
}
