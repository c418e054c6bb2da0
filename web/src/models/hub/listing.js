// Asks a hub which files a model has. Uses the interface of huggingface.co:
//
//   GET /api/models/OWNER/NAME?blobs=true  the commit of the main branch, and all files with sizes.
//     Large files have a SHA-256 hash. Requests for renamed models are redirected. For unknown and private models, the status is
//     401 (without signing in) or 404. The list of a gated model is public, but its files give 401.
//   GET /OWNER/NAME/resolve/COMMIT/FILE    a file. For large files, redirects to another host.

import { reasons } from '../../texts/hub.js';

/**
 * @typedef {{ name: string, size: number, sha256?: string }} HubFile
 *
 * @typedef {object} Listing
 * @property {string} id  the model's name, OWNER/NAME
 * @property {string} revision  the commit that the files belong to
 * @property {HubFile[]} files  the files to fetch
 * @property {number} size  total size of the files to fetch, in bytes
 */

/**
 * How to reach a hub.
 * @typedef {object} Net
 * @property {string} address  address of the hub
 * @property {AbortSignal} signal
 * @property {() => Promise<boolean>} [isForbidden]  true if the page's policy has blocked a request
 */

/** A failure after which another attempt may succeed. */
export class Interrupted extends Error {}

const segment = /^\w[\w.-]*$/;

/** @param {unknown} id @returns {id is string} */
const isId = (id) =>
  typeof id === 'string' &&
  id.split('/').length <= 2 &&
  id.split('/').every((s) => segment.test(s));

/**
 * Largest total size of a model's files, in bytes. WebAssembly's memory is limited to 4 GB, and each
 * weight takes at least 1 byte there. In files, a weight rarely takes more than 4 bytes.
 */
const mostBytes = 16e9;

/** @param {unknown} commit */
const isRevision = (commit) => typeof commit === 'string' && /^[0-9a-f]{40,64}$/.test(commit);

/** @param {any} siblings @returns {siblings is { rfilename: string, size: any, lfs: any }[]} */
const isListOfFiles = (siblings) =>
  Array.isArray(siblings) &&
  siblings.every((each) => typeof each?.rfilename === 'string') &&
  new Set(siblings.map(({ rfilename }) => rfilename)).size === siblings.length;

/** @param {string} address */
export const hostOf = (address) => new URL(address).host;

/**
 * Returns the name of a model, given the name or the address of the model's page.
 * @param {string} address  address of the hub
 * @param {string} given
 */
export function idOf(address, given) {
  const name = given.trim().replace(/\/+$/, '');
  const hub = hostOf(address);
  const at = name.replace(/^https?:\/\//, '').split(/[/?#]/);
  const isAddress = /^https?:\/\//.test(name) || at[0] === hub;
  if (isAddress && at[0] !== hub) throw new Error(reasons.otherHub(hub));
  const id = isAddress ? at.slice(1, 3).join('/') : name;
  if (!isId(id)) throw new Error(reasons.noName(hub));
  return id;
}

/**
 * Sends a request that contains only its address and the given headers.
 * @param {string} url
 * @param {Record<string, string>} headers
 * @param {Net & { id: string }} net
 */
export async function ask(url, headers, { address, signal, id, isForbidden }) {
  const hub = hostOf(address);
  /** @type {Response} */
  let response;
  try {
    response = await fetch(url, {
      ...{ headers, signal, mode: 'cors', credentials: 'omit', referrerPolicy: 'no-referrer' },
      // Otherwise, the browser would keep a second copy of the files.
      cache: 'no-store',
    });
  } catch (cause) {
    signal.throwIfAborted();
    if (await isForbidden?.()) throw new Error(reasons.forbidden(id, hub), { cause });
    const isOffline = globalThis.navigator?.onLine === false;
    throw new Interrupted(isOffline ? reasons.offline : reasons.unreachable(hub), { cause });
  }
  if (response.ok) return response;
  void response.body?.cancel();
  const { status } = response;
  if (status === 429) throw new Error(reasons.busy(hub));
  const Kind = status >= 500 ? Interrupted : Error;
  throw Object.assign(new Kind(reasons.status(status, hostOf(response.url || url))), { status });
}

/**
 * Chooses the files of a model: config.json, tokenizer.json, and the weights with their index.
 * @param {string} id
 * @param {HubFile[]} all  all files of the model
 */
export function filesToFetch(id, all) {
  const find = (/** @type {string} */ name) => all.find((file) => file.name === name);
  const config = find('config.json');
  const weights = all.filter(({ name }) =>
    /^(?!\.|adapter_model)[^/\p{C}]+\.safetensors$/u.test(name),
  );
  if (!weights.length) throw new Error(reasons.noWeights(id));
  if (!config) throw new Error(reasons.noConfig(id));
  const tokenizer = find('tokenizer.json');
  if (!tokenizer) throw new Error(reasons.noTokenizer(id));
  const whole = find('model.safetensors') ?? (weights.length === 1 ? weights[0] : undefined);
  if (whole) return [config, tokenizer, whole];
  const index = find('model.safetensors.index.json');
  const shards = weights.filter(({ name }) => /^model-\d+-of-\d+\./.test(name));
  if (!index || !shards.length) {
    throw new Error(
      reasons.severalWeights(
        id,
        weights.map(({ name }) => name),
      ),
    );
  }
  return [config, tokenizer, index, ...shards];
}

/**
 * Lists the files of a model that the page would fetch.
 * @param {string} given  the model's name, or the address of its page
 * @param {Net} net
 * @returns {Promise<Listing>}
 */
export async function listFiles(given, net) {
  const { address } = net;
  const hub = hostOf(address);
  const asked = idOf(address, given);
  /** @type {any} */
  let answer;
  try {
    const url = `${address}/api/models/${asked}?blobs=true`;
    answer = await (await ask(url, {}, { ...net, id: asked })).json();
  } catch (cause) {
    net.signal.throwIfAborted();
    const { status, name } = /** @type {any} */ (cause);
    if ([401, 403, 404].includes(status)) throw new Error(reasons.unknown(asked, hub), { cause });
    throw name === 'SyntaxError' ? new Error(reasons.noList(hub), { cause }) : cause;
  }
  const { id, sha: revision, gated, siblings } = answer ?? {};
  if (!isId(id) || !isRevision(revision) || !isListOfFiles(siblings)) {
    throw new Error(reasons.noList(hub));
  }
  if (gated) throw new Error(reasons.gated(id, hub));
  const all = siblings.map(({ rfilename: name, size, lfs }) => ({
    ...{ name, size },
    ...(typeof lfs?.sha256 === 'string' && { sha256: lfs.sha256 }),
  }));
  const files = filesToFetch(id, all);
  if (!files.every(({ size }) => Number.isSafeInteger(size) && size > 0)) {
    throw new Error(reasons.noList(hub));
  }
  const size = files.reduce((sum, { size }) => sum + size, 0);
  if (size > mostBytes) throw new Error(reasons.tooLarge(id, size));
  return { id, revision, files, size };
}
