import { Attn } from './attn.js';
import { AttnError, invalid } from './errors.js';
import { detectFeatures } from './features.js';
import { kLoadOptions } from './loadOptions.js';
import { checkOptions } from './options.js';
import { Runtime } from './runtime.js';
import { checkChoice } from './tensor.js';
import { variants } from './variants.js';

/** @import { Features } from './features.js' */
/** @import { Native } from './runtime.js' */
/** @import { Variant } from './variants.js' */

/**
 * @typedef {object} LoadOptions
 * @property {Variant} [variant]  which build to load; by default the best that this engine runs
 * @property {number} [threads]  how many threads share the work, the calling one included; by
 *   default one per core, but at most four. Where there are no threads, which in a browser is
 *   wherever the page is not cross-origin isolated, one thread does the work.
 * @property {string | URL} [wasmUrl]  the folder that holds the .wasm files of all variants, with a
 *   slash at its end, or the file of the `variant` that is named; by default beside this module
 */

/** As TensorFlow.js and ONNX Runtime Web: more need to be asked for. */
const kMaxDefaultThreads = 4;
const kMaxThreads = 64;

/**
 * Loads the WebAssembly module: picks the variant, fetches and compiles it. Every call gives a
 * module of its own, with its own memory.
 *
 * ```js
 * const attn = await load();
 * const { output } = attn.scaledDotProductAttention(query, key, value, { causal: true });
 * ```
 *
 * @param {LoadOptions} [options]
 * @returns {Promise<Attn>}
 * @throws {AttnError} `load_failed` where WebAssembly lacks SIMD or is blocked, or a file cannot be
 *   had; `invalid_argument`
 */
export async function load(options = {}) {
  checkOptions(options, kLoadOptions);
  const { variant, threads, wasmUrl } = options;
  if (variant !== undefined) checkChoice('variant', variant, Object.keys(variants));
  if (
    threads !== undefined &&
    !(Number.isInteger(threads) && 1 <= threads && threads <= kMaxThreads)
  ) {
    throw invalid('threads', threads, `a whole number from 1 to ${kMaxThreads}`);
  }
  const url = wasmUrl === undefined ? undefined : resolve(wasmUrl);
  if (url && !isFolder(url) && !variant) {
    throw invalid('wasmUrl', `${wasmUrl}`, 'the variant that this file holds: set variant, too');
  }
  const features = detectFeatures();
  const numThreads = threads ?? defaultThreads();
  requireFeatures(variant ?? 'simd128', features);
  if (variant) return start(variant, url, numThreads);
  const single = features.relaxedSimd ? 'relaxed-simd' : 'simd128';
  if (!features.threads || numThreads === 1) return start(single, url, 1);
  return start(`${single}-threads`, url, numThreads, single);
}

/**
 * @param {Variant} variant
 * @param {Features} features
 */
function requireFeatures(variant, features) {
  const fail = (/** @type {string} */ message) => {
    throw new AttnError('load_failed', message);
  };
  if (typeof WebAssembly !== 'object')
    fail('this engine has no WebAssembly, or has it switched off');
  if (!features.simd128) {
    fail(
      'this engine lacks WebAssembly SIMD; Chrome 91, Firefox 89, Safari 16.4 and newer have it',
    );
  }
  if (variant.startsWith('relaxed-simd') && !features.relaxedSimd) {
    fail(`variant ${variant}: this engine lacks WebAssembly relaxed SIMD`);
  }
  if (variant.endsWith('-threads') && !features.threads) {
    fail(
      `variant ${variant}: threads need a page that is cross-origin isolated ` +
        '(headers Cross-Origin-Opener-Policy: same-origin, Cross-Origin-Embedder-Policy: require-corp)',
    );
  }
}

function defaultThreads() {
  const cores =
    globalThis.navigator?.hardwareConcurrency ?? ofNode('os')?.availableParallelism() ?? 1;
  return Math.min(cores, kMaxDefaultThreads);
}

/**
 * A module of Node's, where this is Node.
 * @param {string} name
 * @returns {any}
 */
const ofNode = (name) => globalThis.process?.getBuiltinModule?.(`node:${name}`);

/**
 * Starts a variant. Its workers come up while the module is being compiled.
 * @param {Variant} variant
 * @param {URL | undefined} url
 * @param {number} threads
 * @param {Variant} [fallback]  without threads
 * @returns {Promise<Attn>}
 */
async function start(variant, url, threads, fallback) {
  const { glue, wasm, worker } = variants[variant];
  let file = url ?? wasm();
  if (isFolder(file)) file = new URL(`attn-${variant}.wasm`, file);
  const files = Promise.all([
    glue().catch((error) => {
      throw failure(`the glue of variant ${variant} could not be loaded`, error);
    }),
    compile(file),
  ]);
  /** @type {any[]} */
  const workers = [];
  try {
    while (worker && workers.length < threads - 1) {
      workers.push(worker(globalThis.Worker ?? ofNode('worker_threads').Worker));
    }
    const running = Promise.all(
      workers.map(
        (worker) =>
          new Promise((resolve, reject) => {
            worker.onmessage = resolve;
            worker.onerror = reject;
            // Node's knows only these.
            worker.on?.('message', resolve).on('error', reject);
          }),
      ),
    );
    // Whoever waits for them hears of it.
    for (const promise of [files, running]) promise.catch(() => {});

    const [{ default: make }, module] = await files;
    /** @type {Native} */
    const native = await new Promise((resolve, reject) => {
      const waiting = [...workers];
      const options = {
        // Towards the glue it never fails.
        instantiate: (/** @type {WebAssembly.Imports} */ imports) =>
          new Promise((done) => WebAssembly.instantiate(module, imports).then(done, reject)),
        startThread: (/** @type {object} */ thread) =>
          waiting.pop().postMessage({ ...thread, wasm: module }),
      };
      make(options).then(resolve);
    });
    const runtime = new Runtime(native);
    runtime.ask('start', (call) => call.number(workers.length + 1));
    // Calls cannot wait for workers to come up: a page may not.
    await running;
    for (const worker of workers) worker.unref?.();
    return new Attn(runtime, variant);
  } catch (error) {
    for (const worker of workers) worker.terminate();
    // What is wrong with its files is said by these.
    await files;
    // It is what cannot be detected: phones refuse to reserve shared memory, and a content security
    // policy may forbid workers.
    if (fallback) return start(fallback, url, 1);
    throw failure(`the WebAssembly module (variant ${variant}) could not be started`, error);
  }
}

/** @param {string | URL} wasmUrl */
function resolve(wasmUrl) {
  try {
    if (typeof wasmUrl !== 'string' && !(wasmUrl instanceof URL)) throw TypeError();
    return new URL(wasmUrl, globalThis.location?.href ?? import.meta.url);
  } catch {
    throw invalid('wasmUrl', wasmUrl, 'the address of a .wasm file or of its folder');
  }
}

/** @param {URL} url */
const isFolder = (url) => url.pathname.endsWith('/');

/**
 * @param {URL} url
 * @returns {Promise<WebAssembly.Module>}
 */
async function compile(url) {
  const source = await read(url);
  try {
    if (!(source instanceof Response)) return await WebAssembly.compile(source);
    // Servers that do not know .wasm files are common; streaming insists on their type.
    const isTyped = source.headers.get('Content-Type')?.startsWith('application/wasm');
    if (isTyped) return await WebAssembly.compileStreaming(source);
    return await WebAssembly.compile(await source.arrayBuffer());
  } catch (error) {
    if (/content security policy|unsafe-eval|CSP/i.test(String(error))) {
      throw failure(
        "the page's content security policy blocks WebAssembly; " +
          "add 'wasm-unsafe-eval' to its script-src",
        error,
      );
    }
    throw failure(`${url.href} could not be compiled`, error);
  }
}

/**
 * @param {URL} url
 * @returns {Promise<Response | Uint8Array<ArrayBuffer>>}
 */
async function read(url) {
  const files = url.protocol === 'file:' && ofNode('fs/promises');
  try {
    if (files) return await files.readFile(url);
    const response = await fetch(url);
    if (!response.ok) {
      throw new Error(`the server answered ${response.status} ${response.statusText}`.trim());
    }
    // What many servers send, with status 200, instead of a file that is not there.
    if (response.headers.get('Content-Type')?.startsWith('text/html')) {
      throw new Error('the server answered with a page (text/html); the file may be missing');
    }
    return response;
  } catch (error) {
    // All that browsers say is that fetching failed.
    const hint =
      error instanceof TypeError && url.protocol !== 'file:'
        ? '; is it there, does its server allow other origins (CORS), and does the content ' +
          'security policy (connect-src) allow it?'
        : '';
    throw failure(`${url.href} could not be read`, error, hint);
  }
}

/**
 * @param {string} message
 * @param {unknown} cause
 * @param {string} [hint]
 */
function failure(message, cause, hint = '') {
  const reason = /** @type {any} */ (cause)?.message ?? String(cause);
  return new AttnError('load_failed', `${message}: ${reason}${hint}`, { cause });
}
