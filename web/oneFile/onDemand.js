import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { kBuildFolder } from '../../wasm/toolchain/checkout.js';

const script = fileURLToPath(new URL('build.js', import.meta.url));
const folder = join(kBuildFolder, 'oneFile');

/**
 * Lets the dev server build the page as a single file when a reader saves a page.
 * @returns {import('vite').Plugin}
 */
export function onDemand() {
  return {
    name: 'one-file-on-demand',
    apply: 'serve',
    configureServer({ middlewares, config }) {
      middlewares.use(async ({ url = '' }, response, next) => {
        const [name] = url.match(/(?<=^\/)(?:attn|figure)\.html$/) ?? [];
        if (!name) return next();
        try {
          // The dev server sets NODE_ENV to another value, which would make the file larger.
          const env = { ...process.env, NODE_ENV: 'production' };
          await promisify(execFile)(process.execPath, [script, folder], { env });
          response.setHeader('Content-Type', 'text/html');
          response.end(await readFile(join(folder, name)));
        } catch (error) {
          config.logger.error(String(error));
          response.writeHead(500).end();
        }
      });
    },
  };
}
