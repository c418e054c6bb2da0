// Allows only one command at a time in a checkout, because npm and Ninja expect to run alone.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';

import { say } from './progress.js';
import { findProgram } from './system.js';

const kSayAfterMs = 500;

/**
 * Runs `action` while holding a lock on a file. The lock is a kernel lock, held by a child process. The child ends when
 * this process ends, so an interrupted run leaves no lock behind. Systems without the program flock use no lock.
 * @template T
 * @param {string} file
 * @param {() => T | Promise<T>} action
 * @returns {Promise<T>}
 */
export async function withLock(file, action) {
  if (!findProgram('flock')) return await action();
  mkdirSync(dirname(file), { recursive: true });
  const holder = spawn('flock', [file, 'sh', '-c', 'echo locked; exec cat'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const message = setTimeout(
    () => say('Waiting for another command that is working in this checkout.'),
    kSayAfterMs,
  );
  await once(holder.stdout, 'data');
  clearTimeout(message);
  try {
    return await action();
  } finally {
    holder.stdin.end();
    await once(holder, 'close');
  }
}
