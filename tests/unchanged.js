// Remembers which suites passed, so that `npm test` need not repeat a suite while nothing that it
// reads has changed.

import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { dirname, join } from 'node:path';

import { kBuildFolder, kRoot } from '../wasm/toolchain/checkout.js';
import { command } from '../wasm/toolchain/system.js';

/** @param {string} name */
const stampOf = (name) => join(kBuildFolder, 'passed', name);

/**
 * Returns a hash of everything that a suite may read: this processor, the versions of the compiler
 * and of Node, and every file of the checkout that git does not ignore, except for files in folders
 * that the suite certainly does not read.
 * @param {string[]} unread  these folders, with a slash at the end
 * @param {Record<string, string>} env
 */
export async function stateFor(unread, env) {
  const options = { cwd: kRoot, env };
  const [list, compiler] = await Promise.all([
    command('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], options),
    command(env.CXX ?? 'c++', ['--version'], options),
  ]);
  const hash = createHash('sha256').update(compiler).update(process.version);
  hash.update(cpus()[0]?.model ?? '');
  for (const file of [...new Set(list.split('\0'))].sort()) {
    if (unread.some((folder) => file.startsWith(folder))) continue;
    const path = join(kRoot, file);
    if (!file || !existsSync(path)) continue;
    const content = readFileSync(path);
    hash.update(`${file}\0${content.length}\0`).update(content);
  }
  return hash.digest('hex');
}

/**
 * Returns when a suite passed with this state, for example "Nov 27, 14:32", or undefined.
 * @param {string} name @param {string} state
 */
export function passedAt(name, state) {
  const stamp = stampOf(name);
  if (!existsSync(stamp)) return undefined;
  const { hash, time } = JSON.parse(readFileSync(stamp, 'utf8'));
  const format = { month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit' };
  return hash === state
    ? new Date(time).toLocaleString('en-US', /** @type {any} */ ({ ...format, hour12: false }))
    : undefined;
}

/** Remembers that a suite passed with this state. @param {string} name @param {string} state */
export function rememberPassed(name, state) {
  const stamp = stampOf(name);
  mkdirSync(dirname(stamp), { recursive: true });
  writeFileSync(stamp, JSON.stringify({ hash: state, time: Date.now() }));
}
