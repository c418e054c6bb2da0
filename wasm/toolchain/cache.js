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

const kCacheFolder = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'attn');
const kPrefix = '.making-';
const kAbandonedAfterMs = 24 * 60 * 60 * 1000;

/**
 * @param {string} name  carries the version: an entry never changes once it is there
 * @param {(folder: string, finalFolder: string) => void} make  fills the folder `folder`, which
 *     will be known as `finalFolder`
 * @returns {string} the entry's folder
 */
export function cached(name, make) {
  const finalFolder = join(kCacheFolder, name);
  if (existsSync(finalFolder)) return finalFolder;

  mkdirSync(kCacheFolder, { recursive: true });
  removeAbandoned();
  const folder = mkdtempSync(join(kCacheFolder, kPrefix));
  try {
    make(folder, finalFolder);
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
function removeAbandoned() {
  for (const name of readdirSync(kCacheFolder)) {
    if (!name.startsWith(kPrefix)) continue;
    const folder = join(kCacheFolder, name);
    if (Date.now() - statSync(folder).mtimeMs > kAbandonedAfterMs) {
      rmSync(folder, { recursive: true, force: true });
    }
  }
}
