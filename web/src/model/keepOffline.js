/** The first pictures have the machine to themselves for so long. */
const patienceMs = 2000;

/** Lets the service worker keep the page, with the files that are already loaded. */
export async function keepOffline() {
  await new Promise((resolve) => setTimeout(resolve, patienceMs));
  if (!('serviceWorker' in navigator)) return;
  try {
    await navigator.serviceWorker.register('./serviceWorker.js');
    await navigator.serviceWorker.ready;
    await keepFiles(performance.getEntriesByType('resource').map(({ name }) => name));
  } catch {
    // This host has no service workers, or the reader forbids them: the page works with a network.
  }
}

/**
 * Lets the service worker keep files that were fetched before it controlled those who fetched them.
 * @param {string[]} urlsToCache
 */
export async function keepFiles(urlsToCache) {
  const registration = await navigator.serviceWorker?.ready;
  registration?.active?.postMessage({ type: 'CACHE_URLS', payload: { urlsToCache } });
}
