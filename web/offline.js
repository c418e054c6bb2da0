import { createHash } from 'node:crypto';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Puts the service worker beside the built page, with the list of the files that it keeps: all but
 * the WebAssembly variants, of which a browser uses one or two.
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
        const own = await readdir(dir, { withFileTypes: true });
        const assets = await readdir(join(dir, 'assets'));
        const files = [
          ...own.filter((entry) => entry.isFile()).map(({ name }) => name),
          ...assets.map((name) => `assets/${name}`),
        ]
          .filter((name) => !/\.wasm$|^serviceWorker\.js$/.test(name))
          .sort();
        const digest = createHash('sha256');
        for (const name of files) digest.update(name).update(await readFile(join(dir, name)));
        const listed = ['./', ...files.filter((name) => name !== 'index.html')];
        const source = await readFile(new URL('serviceWorker.js', import.meta.url), 'utf8');
        const version = JSON.stringify(`attn-${digest.digest('hex').slice(0, 16)}`);
        await writeFile(
          join(dir, 'serviceWorker.js'),
          source.replace("'VERSION'", version).replace("['FILES']", JSON.stringify(listed)),
        );
      },
    },
  };
}
