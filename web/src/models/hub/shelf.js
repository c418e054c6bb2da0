// Stores the parts of files while a model is fetched, either in memory or in the browser's cache.
// The cache survives a reload and works without a network.

import { reasons } from '../../texts/hub.js';

/** @typedef {import('./listing.js').Listing} Listing */

/**
 * The beginning of a file: its parts in order, and the version that they belong to.
 * @typedef {{ parts: Blob[], version: string }} Beginning
 */

/**
 * @typedef {object} Shelf
 * @property {(file: string) => Beginning} read
 * @property {(file: string, part: Blob, version: string) => Promise<void>} add
 * @property {() => Promise<void>} clear  deletes all parts of all files
 */

/** @returns {Shelf} */
export function shelfInMemory() {
  /** @type {Map<string, Beginning>} */
  const files = new Map();
  const read = (/** @type {string} */ file) => files.get(file) ?? { parts: [], version: '' };
  return {
    read,
    async add(file, part, version) {
      files.set(file, { parts: [...read(file).parts, part], version });
    },
    clear: async () => files.clear(),
  };
}

/** Total size of the parts, in bytes. @param {Beginning} beginning */
export const lengthOf = ({ parts }) => parts.reduce((sum, { size }) => sum + size, 0);

/**
 * The cache with all kept models. Other pages on the same host have other caches.
 * @param {string} folder  address of the page's folder
 */
const cacheName = (folder) => `attn-models-${folder}`;

const folder = () => new URL('.', location.href).href;

/** True if this browser can keep files. */
export const canKeep = () => 'caches' in globalThis;

// The cache has an entry for the listing of each model and an entry for each part of a file. The
// addresses of the entries are in this page's folder, but the server has nothing there.
const keyOf = (/** @type {string} */ path) => `${folder()}kept-models/${path}`;
const listingKey = (/** @type {string} */ id) => keyOf(`${id}/listing`);
const revisionKey = (/** @type {Listing} */ { id, revision }) => keyOf(`${id}/${revision}/`);
/** @param {Listing} listing @param {string} file @param {number} part */
const partKey = (listing, file, part) =>
  `${revisionKey(listing)}${encodeURIComponent(file)}/${part}`;

/**
 * Opens the shelf of a model in the cache, with the parts that it already contains.
 * @param {Listing} listing
 * @returns {Promise<Shelf>}
 */
export async function shelfInCache(listing) {
  const cache = await caches.open(cacheName(folder()));
  const shelf = shelfInMemory();
  // Parts of other revisions cannot be used.
  await removeFrom(cache, `${listing.id}/`, [listingKey(listing.id), revisionKey(listing)]);
  for (const { name } of listing.files) {
    for (let part = 0; ; part++) {
      const response = await cache.match(partKey(listing, name, part));
      if (!response) break;
      await shelf.add(name, await response.blob(), response.headers.get('ETag') ?? '');
    }
  }
  return {
    read: shelf.read,
    async add(file, part, version) {
      const key = partKey(listing, file, shelf.read(file).parts.length);
      try {
        const stored = new Response(part, { headers: { ETag: version } });
        await cache.put(listingKey(listing.id), new Response(JSON.stringify(listing)));
        await cache.put(key, stored);
      } catch (cause) {
        throw new Error(reasons.noSpace, { cause });
      }
      // The browser may now release the part that is in memory.
      const kept = await (await cache.match(key))?.blob();
      await shelf.add(file, kept ?? part, version);
    },
    async clear() {
      await shelf.clear();
      await remove(listing.id);
    },
  };
}

/**
 * The models in the cache, complete or not.
 * @returns {Promise<{ listing: Listing, have: number }[]>}
 */
export async function keptModels() {
  if (!canKeep() || !(await caches.has(cacheName(folder())))) return [];
  const cache = await caches.open(cacheName(folder()));
  const keys = (await cache.keys()).filter(({ url }) => url.endsWith('/listing'));
  const listings = await Promise.all(
    keys.map(async (key) => /** @type {Listing} */ (await (await cache.match(key))?.json())),
  );
  return Promise.all(
    listings.map(async (listing) => {
      const shelf = await shelfInCache(listing);
      const have = listing.files.reduce((sum, { name }) => sum + lengthOf(shelf.read(name)), 0);
      return { listing, have };
    }),
  );
}

/** Deletes all revisions of a model from the cache. @param {string} id */
export const remove = async (id) =>
  removeFrom(await caches.open(cacheName(folder())), `${id}/`, []);

/**
 * @param {Cache} cache
 * @param {string} path
 * @param {string[]} kept  prefixes of the addresses to keep
 */
async function removeFrom(cache, path, kept) {
  for (const key of await cache.keys()) {
    const isKept = kept.some((start) => key.url.startsWith(start));
    if (key.url.startsWith(keyOf(path)) && !isKept) await cache.delete(key);
  }
}

/** The number of bytes that this page may still keep; Infinity if the browser does not say. */
export async function freeBytes() {
  const { quota = Infinity, usage = 0 } = (await navigator.storage?.estimate?.()) ?? {};
  return quota - usage;
}
