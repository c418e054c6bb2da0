// The per-user cache folder, shared by all checkouts. An entry is made under a temporary name and
// renamed when whole: an interrupted run leaves nothing half-made, and of two processes that make
// the same entry at the same time the second simply uses what the first has put there.

import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

const kPrefix = '.making-';
const kAbandonedAfterMs = 24 * 60 * 60 * 1000;

const cacheFolder = () => join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'attn');

/**
 * @param {string} name  carries the version: an entry never changes once it is there
 * @param {(folder: string, finalFolder: string) => void | Promise<void>} make  fills the folder `folder`, which
 *     will be known as `finalFolder`
 * @returns {Promise<string>} the entry's folder
 */
export async function cached(name, make) {
  const parent = cacheFolder();
  const finalFolder = join(parent, name);
  if (existsSync(finalFolder)) return finalFolder;

  mkdirSync(parent, { recursive: true });
  removeAbandoned(parent);
  const folder = mkdtempSync(join(parent, kPrefix));
  try {
    await make(folder, finalFolder);
    try {
      renameSync(folder, finalFolder);
    } catch (error) {
      if (!existsSync(finalFolder)) throw error;
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return finalFolder;
}

/** Removes what runs left behind that were killed before they could clean up. */
function removeAbandoned(/** @type {string} */ parent) {
  for (const name of readdirSync(parent)) {
    if (!name.startsWith(kPrefix)) continue;
    const folder = join(parent, name);
    if (Date.now() - statSync(folder).mtimeMs > kAbandonedAfterMs) {
      rmSync(folder, { recursive: true, force: true });
    }
  }
}
