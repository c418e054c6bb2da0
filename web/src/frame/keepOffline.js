/** The first pictures have the machine to themselves so long. */
const patienceMs = 2000;

/** Lets the service worker keep the page, the files that are already loaded included. */
export async function keepOffline() {
  if (!('serviceWorker' in navigator)) return;
  await new Promise((resolve) => setTimeout(resolve, patienceMs));
  try {
    await navigator.serviceWorker.register('./serviceWorker.js');
    const { active } = await navigator.serviceWorker.ready;
    const loaded = performance.getEntriesByType('resource').map(({ name }) => name);
    active?.postMessage(loaded);
  } catch {
    // Not to be had on this host, or forbidden by the reader: the page works with a network.
  }
}
