// npm start: sets everything up, builds the WebAssembly variants, serves the page on a local address
// and opens a browser where there is a display.

import { buildPackage, setUp } from '../wasm/toolchain/build.js';
import { kLockFile } from '../wasm/toolchain/checkout.js';
import { withLock } from '../wasm/toolchain/lock.js';
import { reportSetupError, say } from '../wasm/toolchain/system.js';

const { DISPLAY, WAYLAND_DISPLAY, BROWSER } = process.env;
const kHasDisplay =
  ['darwin', 'win32'].includes(process.platform) || Boolean(DISPLAY || WAYLAND_DISPLAY);

try {
  await withLock(kLockFile, async () => {
    const env = setUp();
    say('Building the WebAssembly variants.');
    await buildPackage(env);
  });
  const { createServer } = await import('vite');
  const server = await createServer({
    root: import.meta.dirname,
    server: { open: kHasDisplay && BROWSER !== 'none' },
  });
  await server.listen();
  server.printUrls();
} catch (error) {
  reportSetupError(error);
}
