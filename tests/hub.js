// A local server that imitates the parts of huggingface.co that the page uses. It lists the files
// of a model, sends small files itself, and redirects requests for weights to a second server on
// another port. Like huggingface.co and its download servers, both servers allow all origins, answer
// range requests, reject preflight requests, and expose the same headers.

import { createHash } from 'node:crypto';
import { createServer } from 'node:http';

/** @import { IncomingMessage, Server, ServerResponse } from 'node:http' */

/**
 * @typedef {object} HubModel
 * @property {Record<string, Uint8Array>} files
 * @property {string} [id]  the current name, if the model has been renamed
 * @property {false | 'auto' | 'manual'} [gated]
 * @property {string} [revision]  the commit; by default, 40 times the letter a
 * @property {object} [answer]  fields that replace fields of the listing
 */

/**
 * Faults of the server that sends the weights.
 * @typedef {object} Faults
 * @property {number} [drops]  number of requests whose connection is lost before the answer
 * @property {number[]} [stallAfter]  for each request, the number of bytes after which the answer
 *   stops until `cut()` ends the connection
 * @property {number} [pauseMs]  pause before every 1000 bytes
 * @property {number[]} [statuses]  for each request, the error status, if any
 * @property {string[]} [etags]  for each request, the ETag that replaces the correct one
 * @property {boolean} [ignoresRanges]
 * @property {string} [redirect]  another address to redirect to
 */

/**
 * @typedef {object} Asked
 * @property {string} server  'hub' or 'files'
 * @property {string} url
 * @property {string} method
 * @property {import('node:http').IncomingHttpHeaders} headers
 */

const usualRevision = 'a'.repeat(40);

const kHubExposes =
  'X-Repo-Commit,X-Request-Id,X-Error-Code,X-Error-Message,X-Total-Count,ETag,Link,Accept-Ranges,Content-Range,X-Linked-Size,X-Linked-ETag,X-Xet-Hash';
const kFilesExpose =
  'Accept-Ranges, Content-Range, Content-Type, Content-Disposition, ETag, X-Cache';

const hashOf = (/** @type {Uint8Array} */ content) =>
  createHash('sha256').update(content).digest('hex');
const etagOf = (/** @type {Uint8Array} */ content) => `"${hashOf(content)}"`;
const isLarge = (/** @type {string} */ name) => name.endsWith('.safetensors');

/** @param {Server} server */
async function listen(server) {
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  return `http://127.0.0.1:${port}`;
}

export class Hub {
  /** Models by name. @type {Record<string, HubModel>} */
  models = {};
  /** @type {Faults} */
  faults = {};
  /** All requests so far. @type {Asked[]} */
  asked = [];
  address = '';
  /** Address of the server that sends the weights. */
  files = '';
  /** Answers that have stopped. @type {Set<ServerResponse>} */
  #stalled = new Set();
  #servers = [
    createServer((request, response) => this.#answer(request, response)),
    createServer((request, response) => void this.#send(request, response)),
  ];

  static async start() {
    const hub = new Hub();
    [hub.address, hub.files] = await Promise.all(hub.#servers.map(listen));
    return hub;
  }

  /** Ends the connections of all answers that have stopped. */
  cut() {
    for (const response of this.#stalled) response.destroy();
    this.#stalled.clear();
  }

  /** Forgets faults and requests. */
  reset() {
    this.cut();
    [this.faults, this.asked] = [{}, []];
  }

  async close() {
    for (const server of this.#servers) {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
  }

  /** The `Range` headers of the requests for weights. */
  get ranges() {
    return this.asked
      .filter(({ server, method }) => server === 'files' && method === 'GET')
      .map(({ headers }) => headers.range);
  }

  /** @param {string} server @param {IncomingMessage} request */
  #note(server, { url = '', method = '', headers }) {
    this.asked.push({ server, url, method, headers });
  }

  /** @param {IncomingMessage} request @param {ServerResponse} response */
  #answer(request, response) {
    this.#note('hub', request);
    response.setHeader('Access-Control-Allow-Origin', request.headers.origin ?? this.address);
    response.setHeader('Access-Control-Expose-Headers', kHubExposes);
    response.setHeader('Vary', 'Origin');
    if (request.method === 'OPTIONS') return void response.writeHead(404).end();
    const { pathname } = new URL(request.url ?? '', this.address);
    const [, api, id] = /^\/(api\/models\/)?([^/]+\/[^/]+)/.exec(pathname) ?? [];
    const model = this.models[id];
    const deny = (/** @type {number} */ status, /** @type {string} */ code) =>
      void response
        .writeHead(status, { 'X-Error-Code': code })
        .end('Invalid username or password.');
    if (!model) return deny(401, 'RepoNotFound');
    const { revision = usualRevision } = model;
    if (api && model.id) {
      return void response.writeHead(307, { Location: `/api/models/${model.id}?blobs=true` }).end();
    }
    if (api) {
      const siblings = Object.entries(model.files).map(([rfilename, content]) => ({
        ...{ rfilename, size: content.length },
        ...(isLarge(rfilename) && { lfs: { sha256: hashOf(content), size: content.length } }),
      }));
      const { gated = false, answer: others } = model;
      const answer = { id, sha: revision, private: false, gated, siblings, ...others };
      return void response
        .writeHead(200, { 'Content-Type': 'application/json; charset=utf-8' })
        .end(JSON.stringify(answer));
    }
    if (model.gated) return deny(401, 'GatedRepo');
    const [, commit, name] = /\/resolve\/([^/]+)\/(.+)$/.exec(pathname) ?? [];
    const content = commit === revision ? model.files[decodeURIComponent(name)] : undefined;
    if (!content) return deny(404, 'EntryNotFound');
    if (!isLarge(name)) return void this.#sendRange(request, response, content);
    const location = this.faults.redirect ?? `${this.files}/xet/${id}/${name}?Signature=1`;
    response
      .writeHead(302, {
        Location: location,
        'X-Repo-Commit': revision,
        'X-Linked-Size': content.length,
        'X-Linked-ETag': etagOf(content),
      })
      .end(`Found. Redirecting to ${location}`);
  }

  /** @param {IncomingMessage} request @param {ServerResponse} response */
  async #send(request, response) {
    this.#note('files', request);
    response.setHeader('Access-Control-Allow-Origin', '*');
    response.setHeader('Access-Control-Expose-Headers', kFilesExpose);
    if (request.method === 'OPTIONS') return void response.writeHead(403).end();
    const [, , owner, name, file] = (request.url ?? '').split(/[/?]/);
    const content = this.models[`${owner}/${name}`]?.files[file];
    if (this.faults.drops) {
      this.faults.drops--;
      return void response.destroy();
    }
    const status = this.faults.statuses?.shift();
    if (status || !content) return void response.writeHead(status ?? 404).end();
    await this.#sendRange(request, response, content, this.faults);
  }

  /**
   * @param {IncomingMessage} request
   * @param {ServerResponse} response
   * @param {Uint8Array} content
   * @param {Faults} [faults]
   */
  async #sendRange(request, response, content, faults = {}) {
    const range = faults.ignoresRanges
      ? null
      : /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '');
    const begin = Number(range?.[1] ?? 0);
    const end = Math.min(content.length, Number(range?.[2] || Infinity) + 1);
    const etag = faults.etags?.shift() ?? etagOf(content);
    if (begin >= content.length) {
      return void response.writeHead(416, { 'Content-Range': `bytes */${content.length}` }).end();
    }
    response.writeHead(range ? 206 : 200, {
      ETag: etag,
      'Accept-Ranges': 'bytes',
      'Content-Length': end - begin,
      ...(range && { 'Content-Range': `bytes ${begin}-${end - 1}/${content.length}` }),
    });
    const stall = faults.stallAfter?.shift() ?? Infinity;
    const last = Math.min(end, begin + stall);
    const step = faults.pauseMs ? 1000 : Math.max(1, last - begin);
    for (let at = begin; at < last && !response.destroyed; at += step) {
      if (faults.pauseMs) await new Promise((resolve) => setTimeout(resolve, faults.pauseMs));
      await new Promise((resolve) =>
        response.write(content.subarray(at, Math.min(at + step, last)), resolve),
      );
    }
    if (end - begin > stall) this.#stalled.add(response);
    else response.end();
  }
}
