// Caches the page, so that it opens without a network after the first visit.
//
// A new version is installed alongside the old version, and waits until no tab of this page is
// open. Until then, tabs of the old version still find chapters that they have not loaded yet. All
// cache names contain this project's name and the page's folder; other caches are left alone.

import { clientsClaim, setCacheNameDetails } from 'workbox-core';
import { precacheAndRoute, PrecacheFallbackPlugin } from 'workbox-precaching';
import { registerRoute } from 'workbox-routing';
import { CacheFirst, NetworkOnly } from 'workbox-strategies';

const { registration } = /** @type {any} */ (globalThis);
/** @type {string} */
const scope = registration.scope;

/**
 * The files to cache on installation, and the files to cache on first use. The build fills them in.
 */
const files = /** @type {any} */ (globalThis).__FILES__;
/** @type {string[]} */
const late = /** @type {any} */ (globalThis).__LATE__;

setCacheNameDetails({ prefix: 'attn', suffix: scope });
clientsClaim();

// The page itself is loaded from the network if possible, so that a new version appears at once.
// The reference documentation is never cached.
const { pathname: folder } = new URL(scope);
registerRoute(
  ({ request, url }) =>
    request.mode === 'navigate' && [folder, `${folder}index.html`].includes(url.pathname),
  new NetworkOnly({
    networkTimeoutSeconds: 5,
    plugins: [new PrecacheFallbackPlugin({ fallbackURL: 'index.html' })],
  }),
);

// A browser uses one or two of the WebAssembly variants, and not every reader wants the language
// model, so these files are cached on first use.
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

// Asset names contain hashes of their contents, so a match in any cache is the right file. All
// caches are searched, because a tab may belong to a different version than this worker. For
// example, a waiting worker has already cached the files of its own version.
registerRoute(
  ({ url }) => url.href.startsWith(`${scope}assets/`),
  async ({ request }) => (await caches.match(request.url, { ignoreVary: true })) ?? fetch(request),
);

precacheAndRoute(files);
