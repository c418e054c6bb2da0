// Stores the parts of a model's files while they are fetched, in memory and, if the reader keeps the
// model, also in the browser's cache. The cache survives a reload and works without a network.
//
// Each revision of a model has its own cache, which contains the listing and the parts. The address
// of a part contains its position in the file, so parts cannot be joined in a wrong order. If a
// cache is deleted while another tab writes to it, the browser discards the data from that tab.

import { byName as texts } from '../../texts/hub.js';

/** @typedef {import('./listing.js').HubFile} HubFile */
/** @typedef {import('./listing.js').Listing} Listing */

/**
 * The beginning of a file: its parts in order, their total size, and the version of the file.
 * @typedef {{ parts: Blob[], size: number, version: string }} Beginning
 */

/** Parts in memory. */
export class Shelf {
  /** @type {Map<string, Beginning>} */
  #files = new Map();
  /** True once the parts have been deleted because they cannot be used. */
  isDiscarded = false;
  /** True if the parts are also in the cache. */
  get isKept() {
    return false;
  }

  /** @param {string} file @returns {Beginning} */
  read(file) {
    return this.#files.get(file) ?? { parts: [], size: 0, version: '' };
  }

  /** Total size of all parts, in bytes. */
  get size() {
    return [...this.#files.values()].reduce((sum, { size }) => sum + size, 0);
  }

  /**
   * Adds the next part of a file.
   * @param {string} file
   * @param {Blob} part
   * @param {string} version
   */
  async add(file, part, version) {
    if (this.isDiscarded) return;
    const { parts, size } = this.read(file);
    this.#files.set(file, { parts: [...parts, part], size: size + part.size, version });
  }

  /** Deletes all parts. No part can be added afterwards. */
  async discard() {
    this.isDiscarded = true;
    this.#files.clear();
  }
}

/** Parts that are also in the cache. */
class KeptShelf extends Shelf {
  #listing;
  #onFailure;
  /** Undefined once the browser has failed to store a part. @type {Cache | undefined} */
  #cache;

  /** @param {Listing} listing @param {(sentence: string) => void} onFailure */
  constructor(listing, onFailure) {
    super();
    this.#listing = listing;
    this.#onFailure = onFailure;
  }

  get isKept() {
    return this.#cache !== undefined;
  }

  /** Opens the cache and reads the parts that it contains. */
  async open() {
    await this.#attempt(async () => {
      this.#cache = await caches.open(cacheOf(this.#listing));
      const keys = await this.#cache.keys();
      for (const file of this.#listing.files) {
        for (const { url, begin, end } of partsOf(file, keys)) {
          const response = await this.#cache.match(url);
          const part = await response?.blob();
          if (part?.size !== end - begin) break;
          await super.add(file.name, part, response?.headers.get('ETag') ?? '');
        }
      }
    });
    return this;
  }

  /** @type {Shelf['add']} */
  async add(file, part, version) {
    const begin = this.read(file).size;
    /** @type {Blob | undefined} */
    let kept;
    await this.#attempt(async () => {
      const cache = this.#cache;
      if (!cache || this.isDiscarded) return;
      if (!(await cache.match(listingKey()))) {
        await cache.put(listingKey(), new Response(JSON.stringify(this.#listing)));
      }
      const url = partKey(file, begin, begin + part.size);
      await cache.put(url, new Response(part, { headers: { ETag: version } }));
      // The browser may now release the part that is in memory.
      kept = await (await cache.match(url))?.blob();
    });
    await super.add(file, kept ?? part, version);
  }

  async discard() {
    await super.discard();
    await this.#attempt(() => remove(this.#listing));
  }

  /**
   * Runs an operation of the cache. After a failure, the parts are stored only in memory.
   * @param {() => Promise<unknown>} operation
   */
  async #attempt(operation) {
    try {
      await operation();
    } catch (error) {
      this.#cache = undefined;
      const isFull = /** @type {Error} */ (error).name === 'QuotaExceededError';
      this.#onFailure(isFull ? texts.noSpace : texts.notStored);
    }
  }
}

const folder = () => new URL('.', location.href).href;

/** Prefix of the names of this page's caches. Pages in other folders have other caches. */
const cachesOfPage = () => `attn-models-${folder()} `;

/** @param {Pick<Listing, 'id' | 'revision'>} listing */
const cacheOf = ({ id, revision }) => `${cachesOfPage()}${id} ${revision}`;

// The addresses of the entries are in this page's folder, but the server has nothing there.
const listingKey = () => `${folder()}kept-models/`;
/** @param {string} file @param {number} begin @param {number} end */
const partKey = (file, begin, end) => `${listingKey()}${encodeURIComponent(file)}?${begin}-${end}`;

/**
 * Finds the parts of a file in a cache, from the first byte to the first gap. Parts that do not fit
 * into the file are ignored.
 * @param {HubFile} file
 * @param {readonly { url: string }[]} keys
 */
function partsOf({ name, size }, keys) {
  const start = partKey(name, 0, 0).replace(/\d+-\d+$/, '');
  const all = keys
    .filter(({ url }) => url.startsWith(start))
    .map(({ url }) => {
      const [begin, end] = url.slice(start.length).split('-').map(Number);
      return { url, begin, end };
    });
  const found = [];
  for (let at = 0; ;) {
    const next = all.find(({ begin, end }) => begin === at && end > at && end <= size);
    if (!next) return found;
    found.push(next);
    at = next.end;
  }
}

/**
 * Calls `use` with the parts of a model in the cache. If another tab is using them, calls `onWait`
 * and waits. Once `use` has completed the model, deletes other revisions of the model.
 * @template {object} Result
 * @param {Listing} listing
 * @param {{ signal: AbortSignal, onWait: () => void, onFailure: (sentence: string) => void }}
 *   options onFailure: called if the browser cannot store a part. The parts are then in memory
 * @param {(shelf: Shelf) => Promise<Result>} use
 * @returns {Promise<Result>}
 */
export async function withKept(listing, { signal, onWait, onFailure }, use) {
  const name = cacheOf(listing);
  const run = async () => {
    const shelf = await new KeptShelf(listing, onFailure).open();
    const isComplete = () => shelf.isKept && shelf.size === listing.size;
    const wasComplete = isComplete();
    const result = await use(shelf);
    if (isComplete() && !wasComplete) {
      const start = `${cachesOfPage()}${listing.id} `;
      for (const other of await caches.keys()) {
        if (other !== name && other.startsWith(start)) await caches.delete(other);
      }
    }
    return result;
  };
  const { locks } = navigator;
  const result = await locks.request(name, { ifAvailable: true }, (lock) => lock && run());
  if (result) return result;
  onWait();
  return locks.request(name, { signal }, run);
}

/**
 * Lists the models in the cache, complete or not. Fails if the browser does not let this page store
 * anything.
 * @returns {Promise<{ listing: Listing, have: number }[]>}
 */
export async function keptModels() {
  const found = [];
  for (const name of await caches.keys()) {
    if (!name.startsWith(cachesOfPage())) continue;
    const cache = await caches.open(name);
    const response = await cache.match(listingKey());
    if (!response) continue;
    /** @type {Listing} */
    const listing = await response.json();
    const keys = await cache.keys();
    const have = listing.files.reduce(
      (sum, file) => sum + (partsOf(file, keys).at(-1)?.end ?? 0),
      0,
    );
    found.push({ listing, have });
  }
  return found;
}

/** Deletes a revision of a model from the cache. @param {Listing} listing */
export const remove = (listing) => caches.delete(cacheOf(listing));

/** The number of bytes that this page may still keep; Infinity if the browser does not say. */
export async function freeBytes() {
  const estimate = navigator.storage?.estimate?.().catch(() => undefined);
  const { quota = Infinity, usage = 0 } = (await estimate) ?? {};
  return quota - usage;
}
