// Configures and builds the presets of CMakePresets.json.

import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { kBuildFolder, kRoot } from './checkout.js';
import { command, findProgram } from './system.js';

/**
 * The environment in which what several projects compile with the same options is compiled once,
 * where ccache is installed: the library's objects are also those of a project that uses its sources.
 * @returns {Record<string, string>}
 */
export function compiledOnce() {
  if (!findProgram('ccache')) return {};
  return {
    CMAKE_CXX_COMPILER_LAUNCHER: 'ccache',
    // Paths are compared as they are seen from a build folder.
    CCACHE_BASEDIR: kRoot,
    CCACHE_NOHASHDIR: 'true',
    CCACHE_SLOPPINESS: 'pch_defines,time_macros',
  };
}

/**
 * Configures a preset, unless that has been done already with the same settings, and builds.
 * @param {string} preset
 * @param {string[]} targets
 * @param {Record<string, string>} commonEnv
 * @param {object} [options]
 * @param {boolean} [options.tests]  whether the targets may be tests, whose library is needed then
 * @param {import('./progress.js').Update} [options.update]  told how many files are built, of how many
 */
export async function cmakeBuild(preset, targets, commonEnv, { tests = true, update } = {}) {
  const env = { ...(preset === 'wasm' ? {} : compiledOnce()), ...commonEnv };
  const stamp = join(kBuildFolder, preset, '.configured-with');
  const configured = existsSync(stamp) ? readFileSync(stamp, 'utf8') : '';
  const [whole, withoutTests] = [true, false].map((tests) => settingsOf(tests, env));
  // What has been configured with tests serves those who need none, too.
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
 * @returns {{ settings: string[], stamp: string }} stamp: tells these settings from others
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
