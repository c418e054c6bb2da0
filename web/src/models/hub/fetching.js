// Fetches the files of a model from a hub, in parts. After an interruption, the download continues.
//
// Each request asks for a range, so browsers also ask servers not to compress it. A simple range
// needs no preflight request (since Chrome 99, Firefox 117 and Safari 16), but `If-Range` would need
// one, which the hub's download servers reject. Therefore the page compares the ETag and the total
// size in each answer with the first answer.

import { reasons } from '../../texts/hub.js';
import { ask, hostOf, Interrupted } from './listing.js';

/** @typedef {import('./listing.js').HubFile} HubFile */
/** @typedef {import('./listing.js').Listing} Listing */
/** @typedef {import('./listing.js').Net} Net */
/** @typedef {import('./shelf.js').Shelf} Shelf */

/**
 * @typedef {object} Options
 * @property {(done: number) => void} [onProgress]  called with the number of bytes fetched so far
 * @property {(seconds: number) => void} [onWait]  called before a pause after an interruption
 * @property {(files: File[]) => Promise<void>} [check]  called with files that have the headers of the
 *   weights, but zeros instead of weights. If it fails, the weights are not fetched
 * @property {(seconds: number, signal: AbortSignal) => Promise<void>} [wait]
 */

/** Largest part, in bytes. */
const mostInPart = 2 ** 24;
/** Size of the first request for weights, in bytes. Most headers are shorter. */
const usualHeader = 2 ** 17;
/**
 * Largest file whose hash is checked, in bytes. Browsers can only hash data that is completely in
 * memory.
 */
const mostToHash = 2 ** 30;
/** Time without data after which a connection is given up, in seconds. */
const stallSeconds = 30;
/** Pauses after interruptions without progress, in seconds. */
const pauses = [1, 2, 4, 8];

/** @type {NonNullable<Options['wait']>} */
const waitFor = (seconds, signal) =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, 1000 * seconds);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });

const isWeights = (/** @type {HubFile} */ { name }) => name.endsWith('.safetensors');

/**
 * Zeros, as blobs that all refer to the same megabyte.
 * @param {number} size
 */
function zeros(size) {
  const some = new Blob([new Uint8Array(Math.min(size, 2 ** 20))]);
  const times = Math.floor(size / (some.size || 1));
  return [...Array(times).fill(some), some.slice(0, size - times * some.size)];
}

/**
 * Fetches the files of a model.
 * @param {Listing} listing
 * @param {Shelf} shelf  receives the parts, and may already contain some
 * @param {Net} net
 * @param {Options} [options]
 * @returns {Promise<File[]>}
 */
export async function fetchFiles(listing, shelf, net, options = {}) {
  const fetching = new Fetching(listing, shelf, net, options);
  const isNew = shelf.size < listing.size;
  for (const file of listing.files) {
    if (isWeights(file)) await fetching.fetchHeader(file);
    else await fetching.fetchUntil(file, file.size);
  }
  net.signal.throwIfAborted();
  if (isNew) {
    await options.check?.(listing.files.map((file) => fetching.fileOf(file)));
    net.signal.throwIfAborted();
  }
  for (const file of listing.files) {
    await fetching.fetchUntil(file, file.size);
    await fetching.verify(file);
  }
  net.signal.throwIfAborted();
  return listing.files.map((file) => fetching.fileOf(file));
}

class Fetching {
  #listing;
  #shelf;
  #net;
  #options;
  /** The number of bytes fetched so far. */
  #done;

  /** @param {Listing} listing @param {Shelf} shelf @param {Net} net @param {Options} options */
  constructor(listing, shelf, net, options) {
    this.#listing = listing;
    this.#shelf = shelf;
    this.#net = net;
    this.#options = options;
    this.#done = shelf.size;
  }

  /** The bytes of a file fetched so far, and zeros for the rest. @param {HubFile} file */
  fileOf({ name, size }) {
    const beginning = this.#shelf.read(name);
    return new File([...beginning.parts, ...zeros(size - beginning.size)], name);
  }

  /** Fetches a file up to the end of its .safetensors header. @param {HubFile} file */
  async fetchHeader(file) {
    await this.fetchUntil(file, Math.min(usualHeader, file.size));
    const start = await this.fileOf(file).slice(0, 8).arrayBuffer();
    if (start.byteLength < 8) return;
    const length = 8 + Number(new DataView(start).getBigUint64(0, true));
    // The loader explains what is wrong with an invalid header.
    if (length <= Math.min(file.size, 1e8)) await this.fetchUntil(file, length);
  }

  /**
   * Compares the hash of a complete file with the listed hash, if possible. Pages without a secure
   * context cannot compute hashes.
   * @param {HubFile} file
   */
  async verify(file) {
    if (!file.sha256 || file.size > mostToHash || !crypto.subtle) return;
    // Reading fails if the device has too little memory.
    const bytes = await this.fileOf(file)
      .arrayBuffer()
      .catch(() => null);
    if (!bytes) return;
    const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
    const hex = Array.from(hash, (byte) => byte.toString(16).padStart(2, '0')).join('');
    if (hex !== file.sha256) throw await this.#discarded(reasons.damaged(file.name));
  }

  /**
   * Fetches a file up to byte `end`. Continues after interruptions.
   * @param {HubFile} file
   * @param {number} end
   */
  async fetchUntil(file, end) {
    const have = () => this.#shelf.read(file.name).size;
    let failures = 0;
    for (let before = have(); before < end; before = have()) {
      try {
        await this.#receive(file, before, end);
      } catch (error) {
        this.#net.signal.throwIfAborted();
        if (!(error instanceof Interrupted)) throw error;
        if (have() > before) failures = 0;
        if (failures === pauses.length) throw error;
        const seconds = pauses[failures++];
        this.#options.onWait?.(seconds);
        await (this.#options.wait ?? waitFor)(seconds, this.#net.signal);
      }
    }
  }

  /**
   * Requests a range of a file and stores what arrives, even if the connection is lost.
   * @param {HubFile} file
   * @param {number} begin
   * @param {number} end
   */
  async #receive(file, begin, end) {
    const { signal } = this.#net;
    signal.throwIfAborted();
    const stop = new AbortController();
    const abort = () => stop.abort(signal.reason);
    signal.addEventListener('abort', abort);
    const stalled = new Interrupted(reasons.cutOff(file.name));
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let timer;
    const restartTimer = () => {
      clearTimeout(timer);
      timer = setTimeout(() => stop.abort(stalled), 1000 * stallSeconds);
    };
    /** @type {Uint8Array<ArrayBuffer>[]} */
    let chunks = [];
    let held = 0;
    let version = '';
    const store = async () => {
      if (held) await this.#shelf.add(file.name, new Blob(chunks), version);
      [chunks, held] = [[], 0];
    };
    try {
      restartTimer();
      const response = await this.#request(file, begin, end, stop.signal);
      version = await this.#versionOf(file, response, begin);
      // A server may ignore the range and send the whole file.
      const most = (response.status === 206 ? end : file.size) - begin;
      const reader = /** @type {ReadableStream<Uint8Array<ArrayBuffer>>} */ (
        response.body
      ).getReader();
      for (let received = 0; ;) {
        const { done, value } = await reader.read();
        if (done && received < most) throw new Interrupted(reasons.cutOff(file.name));
        if (done) break;
        restartTimer();
        received += value.length;
        if (received > most) throw await this.#discarded(reasons.changed(file.name));
        chunks.push(value);
        held += value.length;
        this.#options.onProgress?.((this.#done += value.length));
        if (held >= mostInPart) await store();
      }
    } catch (cause) {
      if (stop.signal.reason === stalled) throw stalled;
      signal.throwIfAborted();
      // Errors of `ask` and of this module have the name 'Error'. All others mean a lost
      // connection.
      const isOwn = /** @type {Error} */ (cause).name === 'Error';
      throw isOwn ? cause : new Interrupted(reasons.cutOff(file.name), { cause });
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', abort);
      stop.abort();
      await store();
    }
  }

  /**
   * @param {HubFile} file
   * @param {number} begin
   * @param {number} end
   * @param {AbortSignal} signal
   */
  async #request({ name }, begin, end, signal) {
    const { id, revision } = this.#listing;
    const { address } = this.#net;
    const url = `${address}/${id}/resolve/${revision}/${encodeURIComponent(name)}`;
    try {
      return await ask(url, { Range: `bytes=${begin}-${end - 1}` }, { ...this.#net, signal, id });
    } catch (cause) {
      const { status } = /** @type {any} */ (cause);
      if (status === 416) throw await this.#discarded(reasons.changed(name));
      const hub = hostOf(address);
      if (status === 401 || status === 403) throw new Error(reasons.gated(id, hub), { cause });
      throw status === 404 ? new Error(reasons.missing(name, hub), { cause }) : cause;
    }
  }

  /**
   * Checks that an answer continues the bytes fetched so far. Returns the version that it belongs
   * to: the server and the ETag, because each server has its own ETags.
   * @param {HubFile} file
   * @param {Response} response
   * @param {number} begin
   */
  async #versionOf({ name, size }, { status, headers, url }, begin) {
    if (status !== 206 && begin) throw await this.#discarded(reasons.noRanges(name));
    const range = /^bytes (\d+)-\d+\/(\d+)$/.exec(headers.get('Content-Range') ?? '');
    const version = `${hostOf(url)} ${headers.get('ETag') ?? 'unknown'}`;
    const before = this.#shelf.read(name).version;
    const [server] = version.split(' ');
    const isOther = before.split(' ')[0] === server && before !== version;
    if (isOther || (range && (Number(range[1]) !== begin || Number(range[2]) !== size))) {
      throw await this.#discarded(reasons.changed(name));
    }
    return version;
  }

  /** Deletes all parts of the model, and returns an error. @param {string} sentence */
  async #discarded(sentence) {
    await this.#shelf.discard();
    return new Error(sentence);
  }
}
