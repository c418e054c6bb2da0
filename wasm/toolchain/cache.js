// The per-user cache folder, shared by all checkouts. An entry gets a temporary name and is renamed
// when complete, so an interrupted run leaves no partial entry. If two processes make the same
// entry at the same time, both use the entry that was completed first.

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
 * @param {string} name  includes the version, because an entry never changes once it exists
 * @param {(folder: string, finalFolder: string) => void | Promise<void>} make  fills the folder `folder`, which
 *     is then renamed to `finalFolder`
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

/** Removes the leftovers of runs that were killed before they could clean up. */
function removeAbandoned(/** @type {string} */ parent) {
  for (const name of readdirSync(parent)) {
    if (!name.startsWith(kPrefix)) continue;
    const folder = join(parent, name);
    if (Date.now() - statSync(folder).mtimeMs > kAbandonedAfterMs) {
      rmSync(folder, { recursive: true, force: true });
    }
  }
}
