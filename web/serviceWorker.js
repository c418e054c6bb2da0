// Keeps the page in the browser, so that it opens without a network after the first visit. The build
// puts this file beside index.html, with the names of its files in place of FILES and a digest of
// their contents in place of VERSION.

const kVersion = 'VERSION';
/** @type {string[]} */
const kFiles = ['FILES'];
const worker = /** @type {any} */ (globalThis);

worker.addEventListener('install', (/** @type {any} */ event) => {
  // Past the browser's own cache: files may have changed under their names.
  const requests = kFiles.map(
    (/** @type {string} */ file) => new Request(file, { cache: 'reload' }),
  );
  event.waitUntil(
    caches
      .open(kVersion)
      .then((cache) => cache.addAll(requests))
      .then(() => worker.skipWaiting()),
  );
});

worker.addEventListener('activate', (/** @type {any} */ event) => {
  event.waitUntil(
    caches
      .keys()
      .then((names) =>
        Promise.all(names.filter((name) => name !== kVersion).map((name) => caches.delete(name))),
      )
      .then(() => worker.clients.claim()),
  );
});

/** What the page had loaded before this worker was there: the variant of the module, above all. */
worker.addEventListener('message', (/** @type {any} */ event) => {
  if (!Array.isArray(event.data)) return;
  const urls = event.data.filter((/** @type {string} */ url) =>
    url.startsWith(worker.registration.scope),
  );
  event.waitUntil(
    caches.open(kVersion).then(async (cache) => {
      for (const url of urls) if (!(await cache.match(url))) await cache.add(url);
    }),
  );
});

worker.addEventListener('fetch', (/** @type {any} */ event) => {
  const { request } = event;
  if (request.method !== 'GET' || !request.url.startsWith(worker.registration.scope)) return;
  event.respondWith(request.mode === 'navigate' ? page(request) : file(request));
});

/** The page itself from the network where there is one, so that a new version is seen at once. */
async function page(/** @type {Request} */ request) {
  const cache = await caches.open(kVersion);
  const kept = await cache.match(request, { ignoreSearch: true });
  if (kept && !navigator.onLine) return kept;
  try {
    return await fetch(request);
  } catch (error) {
    if (kept) return kept;
    throw error;
  }
}

/** Files from the cache; those that are missing are kept once fetched. */
async function file(/** @type {Request} */ request) {
  const cache = await caches.open(kVersion);
  const kept = await cache.match(request);
  if (kept) return kept;
  const response = await fetch(request);
  if (response.ok && response.status === 200) await cache.put(request, response.clone());
  return response;
}
