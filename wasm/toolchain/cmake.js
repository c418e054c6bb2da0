// Configures and builds the presets of CMakePresets.json.

import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { kBuildFolder, kRoot } from './checkout.js';
import { command } from './system.js';

/**
 * Configures a preset, unless that has been done already with the same settings, and builds.
 * @param {string} preset
 * @param {string[]} targets
 * @param {Record<string, string>} env
 */
export async function cmakeBuild(preset, targets, env) {
  const { CI } = process.env;
  const settings = CI ? ['-DATTN_WARNINGS_AS_ERRORS=ON'] : [];
  const stamp = join(kBuildFolder, preset, '.configured-with');
  const wanted = createHash('sha256')
    .update(readFileSync(join(kRoot, 'CMakePresets.json')))
    .update(
      JSON.stringify([
        kRoot,
        settings,
        env.EMSCRIPTEN_ROOT,
        env.xsimd_DIR,
        env.nlohmann_json_DIR,
        env.ATTN_NODE,
        env.CXX,
      ]),
    )
    .digest('hex');
  if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== wanted) {
    await command('cmake', ['--preset', preset, '--fresh', ...settings], { cwd: kRoot, env });
    writeFileSync(stamp, wanted);
  }
  await command('cmake', ['--build', '--preset', preset, '--target', ...targets], {
    cwd: kRoot,
    env,
  });
}
