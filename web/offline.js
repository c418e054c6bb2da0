import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { build } from 'vite';

/**
 * Writes the service worker next to the built page, with the list of files to cache.
 * @returns {import('vite').Plugin}
 */
export function offline() {
  return {
    name: 'offline',
    apply: 'build',
    writeBundle: {
      sequential: true,
      order: 'post',
      async handler({ dir = '' }) {
        const entries = await readdir(dir, { withFileTypes: true });
        const own = entries.filter((entry) => entry.isFile()).map(({ name }) => name);
        const assets = (await readdir(join(dir, 'assets'))).map((name) => `assets/${name}`);
        const isLate = (/** @type {string} */ name) => /\.(?:wasm|safetensors|json)$/.test(name);
        const files = [
          ...(await Promise.all(
            own.map(async (name) => ({ url: name, revision: await digest(join(dir, name)) })),
          )),
          // Asset names contain hashes of their contents, so they need no revision.
          ...assets.filter((name) => !isLate(name)).map((name) => ({ url: name, revision: null })),
        ];
        await build({
          configFile: false,
          logLevel: 'warn',
          publicDir: false,
          define: {
            'globalThis.__FILES__': JSON.stringify(files),
            'globalThis.__LATE__': JSON.stringify(assets.filter(isLate)),
          },
          build: {
            outDir: dir,
            emptyOutDir: false,
            target: 'es2023',
            rolldownOptions: {
              input: fileURLToPath(new URL('serviceWorker.js', import.meta.url)),
              output: { format: 'iife', entryFileNames: '[name].js' },
            },
          },
        });
      },
    },
  };
}

/** @param {string} file */
async function digest(file) {
  return createHash('sha256')
    .update(await readFile(file))
    .digest('hex')
    .slice(0, 16);
}
