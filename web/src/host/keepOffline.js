/** Delay before caching, in ms, so that caching does not compete with the first pictures. */
const patienceMs = 2000;

/** Registers the service worker and lets it cache the files that are already loaded. */
export async function keepOffline() {
  await new Promise((resolve) => setTimeout(resolve, patienceMs));
  if (!('serviceWorker' in navigator)) return;
  try {
    await navigator.serviceWorker.register('./serviceWorker.js');
    await navigator.serviceWorker.ready;
    await keepFiles(performance.getEntriesByType('resource').map(({ name }) => name));
  } catch {
    // Service workers are unavailable on this host, or the reader has disabled them. The page then
    // needs a network.
  }
}

/**
 * Lets the service worker cache files that the page and its workers fetched before the service
 * worker was in control.
 * @param {string[]} urlsToCache
 */
export async function keepFiles(urlsToCache) {
  const registration = await navigator.serviceWorker?.ready;
  registration?.active?.postMessage({ type: 'CACHE_URLS', payload: { urlsToCache } });
}
