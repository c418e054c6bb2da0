// Configures and builds the presets of CMakePresets.json.

import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { kBuildFolder, kRoot } from './checkout.js';
import { command } from './system.js';

/**
 * Configures a preset if that has not been done with the same presets and environment, and builds.
 * @param {string} preset
 * @param {string[]} targets
 * @param {Record<string, string>} env
 * @throws {CommandError} with the compiler's output
 */
export async function cmakeBuild(preset, targets, env) {
  const stamp = join(kBuildFolder, preset, '.configured-with');
  const wanted = createHash('sha256')
    .update(readFileSync(join(kRoot, 'CMakePresets.json')))
    .update(JSON.stringify({ ...env, PATH: undefined, root: kRoot }))
    .digest('hex');
  if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== wanted) {
    await command('cmake', ['--preset', preset, '--fresh'], { cwd: kRoot, env });
    writeFileSync(stamp, wanted);
  }
  await command('cmake', ['--build', '--preset', preset, '--target', ...targets], {
    cwd: kRoot,
    env,
  });
}
