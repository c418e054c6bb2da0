// npm start: sets everything up, builds WebAssembly for SIMD128, serves the page on a local
// address, and opens a browser if there is a display.

import { buildPackage, kDevelopment, setUp } from '../wasm/toolchain/build.js';
import { kLockFile } from '../wasm/toolchain/checkout.js';
import { withLock } from '../wasm/toolchain/lock.js';
import { reportSetupError } from '../wasm/toolchain/system.js';

const { DISPLAY, WAYLAND_DISPLAY, BROWSER } = process.env;
const kHasDisplay =
  ['darwin', 'win32'].includes(process.platform) || Boolean(DISPLAY || WAYLAND_DISPLAY);

try {
  await withLock(kLockFile, async () => buildPackage(await setUp(), kDevelopment));
  // Building the custom elements has set this variable to 'production'. With that value, the dev
  // server would register the service worker and link to pages that exist only in the build.
  process.env.NODE_ENV = 'development';
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
