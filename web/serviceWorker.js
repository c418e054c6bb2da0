// Keeps the page in the browser, so that it opens without a network after the first visit.
//
// A new version is installed beside the old one and waits until no tab of this page is open: tabs of
// the old version still find the chapters that they have not loaded. All caches are named after this
// project and the folder that the page lies in; those of others are left alone.

import { clientsClaim, setCacheNameDetails } from 'workbox-core';
import { precacheAndRoute, PrecacheFallbackPlugin } from 'workbox-precaching';
import { registerRoute } from 'workbox-routing';
import { CacheFirst, NetworkOnly } from 'workbox-strategies';

const { registration } = /** @type {any} */ (globalThis);
/** @type {string} */
const scope = registration.scope;

/** The files of this version, and those that are kept once they are used; the build fills them in. */
const files = /** @type {any} */ (globalThis).__FILES__;
/** @type {string[]} */
const late = /** @type {any} */ (globalThis).__LATE__;

setCacheNameDetails({ prefix: 'attn', suffix: scope });
clientsClaim();

// The page itself comes from the network where there is one, so that a new version is seen at once.
// Not so the reference, which is not kept.
const { pathname: folder } = new URL(scope);
registerRoute(
  ({ request, url }) =>
    request.mode === 'navigate' && [folder, `${folder}index.html`].includes(url.pathname),
  new NetworkOnly({
    networkTimeoutSeconds: 5,
    plugins: [new PrecacheFallbackPlugin({ fallbackURL: 'index.html' })],
  }),
);

// Of the WebAssembly variants a browser uses one or two, and not every reader wants the language model:
// these are kept once they have been used.
const lateCache = `attn-modules-${scope}`;
registerRoute(
  ({ url }) =>
    url.href.startsWith(`${scope}assets/`) && /\.(?:wasm|safetensors|json)$/.test(url.pathname),
  new CacheFirst({ cacheName: lateCache }),
);
addEventListener('activate', (/** @type {any} */ event) => event.waitUntil(forgetOld()));

async function forgetOld() {
  const current = new Set(late.map((file) => new URL(file, scope).href));
  const cache = await caches.open(lateCache);
  for (const { url } of await cache.keys()) if (!current.has(url)) await cache.delete(url);
}

// The names of the assets tell their contents. A tab may be of another version than this worker: one
// that waits has kept its files already.
registerRoute(
  ({ url }) => url.href.startsWith(`${scope}assets/`),
  async ({ request }) => (await caches.match(request.url, { ignoreVary: true })) ?? fetch(request),
);

precacheAndRoute(files);
