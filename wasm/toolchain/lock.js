// One command at a time works in a checkout: npm and Ninja do not expect a second one beside them.

import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { say } from './system.js';

const kRetryMs = 200;

/**
 * Runs `action` while holding a lock file with this process's id. The lock of a process that is
 * gone does not count.
 * @template T
 * @param {string} file
 * @param {() => T | Promise<T>} action
 * @returns {Promise<T>}
 */
export async function withLock(file, action) {
  mkdirSync(dirname(file), { recursive: true });
  for (let waiting = false; !take(file); waiting = true) {
    if (!waiting) say(`Waiting for process ${owner(file)}, which is building in this checkout.`);
    await sleep(kRetryMs);
  }
  try {
    return await action();
  } finally {
    rmSync(file, { force: true });
  }
}

/** @param {string} file */
function take(file) {
  try {
    writeFileSync(file, `${process.pid}\n`, { flag: 'wx' });
    return true;
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'EEXIST') throw error;
  }
  const pid = owner(file);
  if (pid && !isAlive(pid)) rmSync(file, { force: true });
  return false;
}

/** @param {string} file */
function owner(file) {
  try {
    return Number(readFileSync(file, 'utf8'));
  } catch {
    return 0;
  }
}

/** @param {number} pid */
function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code === 'EPERM';
  }
}
