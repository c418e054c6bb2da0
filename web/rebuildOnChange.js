import { join, sep } from 'node:path';

import { buildPackage, kDevelopment } from '../wasm/toolchain/build.js';
import { kLockFile, kRoot } from '../wasm/toolchain/checkout.js';
import { buildEnvironment } from '../wasm/toolchain/env.js';
import { withLock } from '../wasm/toolchain/lock.js';
import { CommandError } from '../wasm/toolchain/system.js';

const kSources = ['core', 'wasm/src', 'wasm/js', 'wasm/CMakeLists.txt', 'CMakeLists.txt'];

/**
 * Rebuilds the package when its C++ or JavaScript sources change, then reloads the page. Shows
 * compile errors on the page.
 * @returns {import('vite').Plugin}
 */
export function rebuildOnChange() {
  return {
    name: 'attn-rebuild-on-change',
    apply: 'serve',
    configureServer(server) {
      const sources = kSources.map((name) => join(kRoot, name));
      let changed = false;
      let building = false;

      const build = async () => {
        building = true;
        while (changed) {
          changed = false;
          const start = performance.now();
          server.config.logger.info('rebuilding WebAssembly', { timestamp: true });
          try {
            await withLock(kLockFile, async () =>
              buildPackage(await buildEnvironment(), kDevelopment),
            );
            const seconds = ((performance.now() - start) / 1000).toFixed(1);
            server.config.logger.info(`rebuilt WebAssembly in ${seconds} s`, { timestamp: true });
            server.moduleGraph.invalidateAll();
            server.ws.send({ type: 'full-reload' });
          } catch (error) {
            if (!(error instanceof CommandError)) throw error;
            server.config.logger.error(error.message, { timestamp: true });
            server.ws.send({ type: 'error', err: { message: error.message, stack: '' } });
          }
        }
        building = false;
      };

      server.watcher.add(sources);
      server.watcher.on('all', (_event, path) => {
        if (!sources.some((source) => path === source || path.startsWith(source + sep))) return;
        changed = true;
        if (!building) void build();
      });
    },
  };
}
