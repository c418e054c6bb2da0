// Starts worker threads, and the worker of attn/worker.

/**
 * Adds to a Node worker the members of a browser's worker that Emscripten's JavaScript uses. The
 * code is a string, because bundlers for Node would not include a separate file.
 */
const kNodeScript = `
const { parentPort, workerData } = process.getBuiltinModule('node:worker_threads');
Object.assign(globalThis, {
  self: globalThis,
  name: workerData.name,
  importScripts() {},
  postMessage: (message) => parentPort.postMessage(message),
});
// In Deno, location cannot be assigned.
Object.defineProperty(globalThis, 'location', { value: new URL(workerData.url), configurable: true });
import(workerData.url).then(() => parentPort.on('message', (data) => onmessage({ data })));
`;

/**
 * Starts a worker in a browser. Browsers reject worker scripts from another origin, such as a CDN, but a blob from
 * the page's own origin may import them.
 * @param {string} url  address of a module
 * @param {WorkerOptions} options
 * @returns {Worker}
 */
export function webWorker(url, options) {
  if (!isForeign(url)) return new Worker(url, options);
  const script = `import ${JSON.stringify(url)};`;
  const type = 'text/javascript';
  // A sandboxed frame has an opaque origin, and Chromium does not load its blobs in a worker.
  if (globalThis.origin === 'null') {
    return new Worker(`data:${type},${encodeURIComponent(script)}`, options);
  }
  const address = URL.createObjectURL(new Blob([script], { type }));
  const worker = new Worker(address, options);
  worker.addEventListener('message', () => URL.revokeObjectURL(address), { once: true });
  return worker;
}

/**
 * True if a script comes from a different origin than the current page or worker.
 * @param {string} url
 */
export const isForeign = (url) =>
  /^https?:/.test(url) &&
  globalThis.origin !== undefined &&
  new URL(url).origin !== globalThis.origin;

/**
 * Starts a worker with the interface of a browser's worker, even in Node.
 * @param {string} url  address of a module
 * @param {WorkerOptions} options
 * @param {(reason: unknown) => void} fail  called if the worker does not start
 * @returns {Worker & { ref?(): void, unref?(): void }}
 */
export function startWorker(url, options, fail) {
  // Emscripten's JavaScript recognises a browser's worker by importScripts(), which workers in Deno
  // and Bun lack.
  if (typeof Worker === 'function' && !('Deno' in globalThis || 'Bun' in globalThis)) {
    const worker = webWorker(url, options);
    worker.addEventListener('error', (event) => {
      // Hide the event from Emscripten's JavaScript, which would throw the error again.
      event.stopImmediatePropagation();
      fail(event.message ?? 'a worker did not start');
    });
    return worker;
  }
  const { Worker: NodeWorker } = globalThis.process.getBuiltinModule('node:worker_threads');
  /** @type {any} */
  const worker = new NodeWorker(kNodeScript, {
    eval: true,
    // By default a worker inherits the options of the process. If an option is not allowed in
    // workers, the worker does not start.
    execArgv: [],
    workerData: { url, name: options.name },
  });
  worker.on('error', fail);
  worker.on('message', (/** @type {unknown} */ data) => worker.onmessage({ data }));
  return worker;
}
