import { checkSignal } from './abort.js';
import { Attn } from './attn.js';
import { AttnError, checkChoice, explainedError, hintOf, invalid } from './errors.js';
import { detectFeatures } from './features.js';
import { kLoadOptions } from './loadOptions.js';
import { readOptions, wanted as switchOf } from './options.js';
import { Runtime } from './runtime.js';
import { startWorker } from './threads.js';
import { builtVariants, flavours, hasThreads, kVariants } from './variants.js';
import { baseAddress, isA } from './realm.js';

/** @import { Features } from './features.js' */
/** @import { Native } from './runtime.js' */
/** @import { ModelsAttn } from './models.js' */
/** @import { TrainingAttn } from './training.js' */
/** @import { TrainingModelsAttn } from './trainingModels.js' */
/** @import { Flavour, Glue, Variant } from './variants.js' */

/**
 * @typedef {object} LoadOptions
 * @property {Variant} [variant]  which build to load; by default the best one that this engine can run
 * @property {boolean} [training]  load the module with training, see {@link TrainingAttn}: a larger .wasm
 *   and more JavaScript; `false` by default
 * @property {boolean} [models]  load the module with language models, see {@link ModelsAttn}: a larger
 *   .wasm and more JavaScript; `false` by default. With `training`, the module can also train these
 *   models, see {@link TrainingModelsAttn}
 * @property {number} [threads]  number of threads that share the work, including the calling thread; by
 *   default one per core, but at most four. Without threads, one thread does the work. Browsers have no
 *   threads unless the page is cross-origin isolated.
 * @property {string | URL} [wasmUrl]  the folder with the .wasm files of all variants, ending in a
 *   slash, or the file of the given `variant`; by default next to this module
 * @property {WasmSource} [wasm]  the .wasm file itself instead of its address, for engines that cannot fetch
 *   or compile files, such as edge runtimes. You need not pass `variant` then.
 * @property {AbortSignal} [signal]  rejects the call with the signal's reason, and ends the requests and
 *   thread workers that have started
 */

/**
 * A .wasm file: compiled, as bytes, or as the response to a request.
 * @typedef {WebAssembly.Module | ArrayBuffer | Uint8Array<ArrayBuffer> | Response} WasmSource
 */

/**
 * Maximum number of threads by default, as in TensorFlow.js and ONNX Runtime Web. Users can request
 * more.
 */
const kMaxDefaultThreads = 4;
const kMaxThreads = 64;
/**
 * Time limit for worker threads to start, in ms. Some engines never report that a worker cannot start.
 */
const kStartTimeout = 30_000;

/**
 * The JavaScript of a flavour.
 * @typedef {object} Parts
 * @property {() => Constructor | Promise<Constructor>} classOf  returns the class to instantiate
 * @property {() => Glue | Promise<Glue>} glue  returns the glue without threads
 * @property {boolean} threads  true if threads may be used
 */

/** @typedef {new (runtime: Runtime, variant: Variant, fallback?: string) => Attn} Constructor */

/**
 * Loads the WebAssembly module: picks the variant, fetches it and compiles it. Every call returns a
 * separate module with its own memory.
 *
 * ```js
 * const attn = await load();
 * const { output } = attn.scaledDotProductAttention(query, key, value, { causal: true });
 * ```
 *
 * @template {boolean} [Training=false]
 * @template {boolean} [Models=false]
 * @param {LoadOptions & { training?: Training, models?: Models }} [options]
 * @returns {Promise<Training extends true
 *   ? (Models extends true ? TrainingModelsAttn : TrainingAttn)
 *   : Models extends true ? ModelsAttn : Attn>}
 * @throws {AttnError} `load_failed` if WebAssembly lacks SIMD or is blocked, or a file is
 *   unavailable; `invalid_argument`
 */
export async function load(options = {}) {
  options = readOptions(options, kLoadOptions);
  const { training, models, ...others } = options;
  const [trains, opensModels] = [switchOf('training', training), switchOf('models', models)];
  /** @type {Flavour} */
  const flavour = trains ? (opensModels ? 'all' : 'training') : opensModels ? 'models' : 'attn';
  const { glue } = flavours[flavour];
  const parts = { classOf: () => classOf(flavour), glue, threads: true };
  return await /** @type {Promise<any>} */ (loadFlavour(flavour, others, parts));
}

/**
 * Loads a flavour of the module: attn, training, models or all. Rejects as soon as `signal` is aborted.
 * If the module becomes ready later, this function disposes of the module.
 * @param {Flavour} flavour
 * @param {LoadOptions} options
 * @param {Parts} parts
 * @returns {Promise<Attn>}
 */
export async function loadFlavour(flavour, options, parts) {
  const { signal } = options;
  checkSignal(signal);
  signal?.throwIfAborted();
  const loading = loadBest(flavour, options, parts);
  // `await` keeps the caller's line in the stack traces of errors. If this function returned the
  // promise, the traces would lack that line.
  if (!signal) return await loading;
  return await new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    signal.addEventListener('abort', abort);
    loading
      .then((attn) => (signal.aborted ? attn.dispose() : resolve(attn)), reject)
      .finally(() => signal.removeEventListener('abort', abort));
  });
}

/**
 * @param {Flavour} flavour
 * @param {LoadOptions} options
 * @param {Parts} parts
 * @returns {Promise<Attn>}
 */
async function loadBest(flavour, { variant, threads, wasmUrl, wasm, signal }, parts) {
  if (variant !== undefined) checkChoice('variant', variant, kVariants);
  if (
    threads !== undefined &&
    !(Number.isInteger(threads) && 1 <= threads && threads <= kMaxThreads)
  ) {
    throw invalid('threads', threads, `a whole number from 1 to ${kMaxThreads}`);
  }
  if (wasm !== undefined && wasmUrl !== undefined) {
    const sentence = 'cannot be combined with wasm; pass only one of them';
    throw explainedError('invalid_argument', 'wasmUrl', sentence);
  }
  const numThreads = threads ?? defaultThreads();
  const features = detectFeatures();
  features.threads &&= parts.threads;
  /** @type {Build} */
  const build = { flavour, parts, features, signal };
  if (wasm !== undefined) return loadSource(build, wasm, variant, numThreads);

  const url = wasmUrl === undefined ? undefined : resolve(wasmUrl);
  if (url && !isFolder(url) && !variant) {
    const sentence = `'${wasmUrl}' is a file; set variant to the variant of that file, or pass a folder that ends in a slash`;
    throw explainedError('invalid_argument', 'wasmUrl', sentence);
  }
  requireFeatures(variant ?? 'simd128', features);
  if (variant) {
    requireBuilt(variant);
    return loadVariant(build, variant, url, numThreads);
  }
  const bestFirst = [...kVariants]
    .reverse()
    .filter((name) => builtVariants.includes(name) && (features.relaxedSimd || !isRelaxed(name)));
  const single = bestFirst.find((name) => !hasThreads(name));
  const threaded = bestFirst.find(hasThreads);
  if (threaded && features.threads && numThreads > 1) {
    return loadVariant(build, threaded, url, numThreads, single);
  }
  return loadVariant(build, single ?? requireBuilt('simd128'), url, 1);
}

/**
 * The parts of a build that do not depend on the variant.
 * @typedef {object} Build
 * @property {Flavour} flavour
 * @property {Parts} parts
 * @property {Features} features
 * @property {AbortSignal | undefined} signal
 */

/**
 * @param {Variant} variant
 * @returns {Variant}
 */
function requireBuilt(variant) {
  if (builtVariants.includes(variant)) return variant;
  throw new AttnError(
    'load_failed',
    `variant ${variant}: this build of attn contains only ${builtVariants.join(', ')}; run npm run build`,
  );
}

/** @param {Variant} variant */
const isRelaxed = (variant) => variant.startsWith('relaxed-simd');

/**
 * @param {Variant} variant
 * @param {Features} features
 */
function requireFeatures(variant, features) {
  const fail = (/** @type {string} */ message) => {
    throw new AttnError('load_failed', message);
  };
  if (typeof WebAssembly !== 'object') fail('this engine lacks WebAssembly, or it is turned off');
  if (!features.simd128) {
    fail(
      'this engine lacks WebAssembly SIMD; Chrome 91, Firefox 89, Safari 16.4 and newer have it',
    );
  }
  if (isRelaxed(variant) && !features.relaxedSimd) {
    fail(`variant ${variant}: this engine lacks WebAssembly relaxed SIMD`);
  }
  if (hasThreads(variant) && !features.threads) {
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
 * Returns a built-in module in Node, otherwise undefined.
 * @param {string} name
 * @returns {any}
 */
const ofNode = (name) => globalThis.process?.getBuiltinModule?.(`node:${name}`);

/**
 * Returns the class to instantiate. Training and model code is imported on demand.
 * @param {Flavour} flavour
 * @returns {Promise<Constructor>}
 */
async function classOf(flavour) {
  if (flavour === 'training') return (await import('./training.js')).TrainingAttn;
  if (flavour === 'models') return (await import('./models.js')).ModelsAttn;
  if (flavour === 'all') return (await import('./trainingModels.js')).TrainingModelsAttn;
  return Attn;
}

/**
 * @param {Build} build
 * @param {Variant} variant
 * @param {URL | undefined} url
 * @param {number} threads
 * @param {Variant} [fallback]  variant without threads to try if `variant` fails to start
 * @param {string} [reason]  why the preferred variant failed to start
 * @returns {Promise<Attn>}
 */
async function loadVariant(build, variant, url, threads, fallback, reason) {
  const { flavour, signal } = build;
  let file = url ?? flavours[flavour].wasm[variant]();
  if (isFolder(file)) file = new URL(`${flavour}-${variant}.wasm`, file);
  const [code, module] = await Promise.allSettled([
    codeOf(build, variant),
    read(file, signal, url === undefined).then(compile(file.href)),
  ]);
  if (module.status === 'rejected') throw module.reason;
  try {
    if (code.status === 'rejected') throw code.reason;
    const { Class, glue } = code.value;
    return new Class(await start(build, glue, module.value, variant, threads), variant, reason);
  } catch (error) {
    signal?.throwIfAborted();
    const failed = error instanceof AttnError ? error : notStarted(variant, error);
    if (!fallback) throw failed;
    // Some failures cannot be detected in advance: phones may refuse to reserve shared memory, and
    // a content security policy may forbid workers.
    console.warn(`attn runs on one thread: ${failed.message}`);
    return loadVariant(build, fallback, url, 1, undefined, failed.message);
  }
}

/**
 * Loads the given file, and detects which variant it contains.
 * @param {Build} build
 * @param {WasmSource} source
 * @param {Variant | undefined} wanted
 * @param {number} threads
 */
async function loadSource(build, source, wanted, threads) {
  const module = await compile('wasm')(source);
  // Threads share one memory, so a module with threads must import it.
  const shares = WebAssembly.Module.imports(module).some(({ kind }) => kind === 'memory');
  /** @type {Variant} */
  const alike = shares ? 'simd128-threads' : 'simd128';
  if (wanted && hasThreads(wanted) !== shares) {
    throw otherVariant(wanted, `a variant ${shares ? 'with' : 'without'} threads`);
  }
  if (shares) {
    requireFeatures(alike, build.features);
    requireBuilt(alike);
  }
  const { Class, glue } = await codeOf(build, alike);
  /** @type {Runtime} */
  let runtime;
  try {
    runtime = await start(build, glue, module, alike, threads);
  } catch (error) {
    const hint = `; check that it is ${build.flavour}-….wasm of this version of attn`;
    throw notStarted(wanted ?? alike, error, hint);
  }
  const attn = new Class(runtime, wanted ?? alike);
  const relaxed = attn.instructionSet === 'wasm_relaxed_simd';
  /** @type {Variant} */
  const variant = `${relaxed ? 'relaxed-simd' : 'simd128'}${shares ? '-threads' : ''}`;
  if (variant === attn.variant) return attn;
  if (!wanted) return new Class(runtime, variant);
  attn.dispose();
  throw otherVariant(wanted, `variant ${variant}`);
}

/**
 * @param {Variant} wanted
 * @param {string} found
 */
const otherVariant = (wanted, found) =>
  explainedError(
    'invalid_argument',
    'wasm',
    `this module is ${found}, but the option variant is '${wanted}'; leave out variant, or pass the module of that variant`,
  );

/**
 * Loads Emscripten's JavaScript (the glue) and the class to instantiate.
 * @param {Build} build
 * @param {Variant} variant
 * @returns {Promise<{ Class: Constructor, glue: Glue }>}
 */
async function codeOf({ flavour, parts }, variant) {
  const { glueWithThreads } = flavours[flavour];
  try {
    const [Class, glue] = await Promise.all([
      parts.classOf(),
      hasThreads(variant)
        ? import(/* @vite-ignore */ /* webpackIgnore: true */ glueWithThreads().href)
        : parts.glue(),
    ]);
    return { Class, glue };
  } catch (error) {
    const hint =
      'ServiceWorkerGlobalScope' in globalThis
        ? "; in a service worker, use load() of 'attn/static'"
        : hintOf(import.meta.url);
    throw failure(`the JavaScript of variant ${variant} could not be loaded`, error, hint);
  }
}

/**
 * @param {Variant} variant
 * @param {unknown} cause
 * @param {string} [hint]
 */
const notStarted = (variant, cause, hint) =>
  failure(`the WebAssembly module (variant ${variant}) could not be started`, cause, hint);

/**
 * @param {Build} build
 * @param {Glue} glue
 * @param {WebAssembly.Module} module
 * @param {Variant} variant
 * @param {number} threads
 * @returns {Promise<Runtime>}
 */
async function start({ flavour, signal }, glue, module, variant, threads) {
  signal?.throwIfAborted();
  const poolSize = hasThreads(variant) ? threads - 1 : 0;
  /** @type {ReturnType<typeof startWorker>[]} */
  const workers = [];
  /** @type {(reason: unknown) => void} */
  let fail = () => {};
  const failed = new Promise((_, reject) => (fail = reject));

  /**
   * Emscripten's JavaScript calls this function as its Worker constructor.
   * @param {string} url
   * @param {WorkerOptions} options
   */
  function makeWorker(url, options) {
    const worker = startWorker(url, options, fail);
    workers.push(worker);
    return worker;
  }

  const settings = {
    instantiateWasm(
      /** @type {WebAssembly.Imports} */ imports,
      /** @type {(instance: WebAssembly.Instance, module: WebAssembly.Module) => void} */ receive,
    ) {
      WebAssembly.instantiate(module, imports)
        .then((instance) => receive(instance, module))
        .catch(fail);
      return {};
    },
    // Emscripten's JavaScript calls this function only to report errors.
    printErr: (/** @type {string} */ text) => fail(new Error(text)),
    ...(hasThreads(variant) && {
      poolSize,
      mainScriptUrlOrBlob: flavours[flavour].glueWithThreads().href,
      Worker: makeWorker,
    }),
  };
  if (typeof glue.default !== 'function') {
    throw new Error(
      "the bundler removed the exports of *-threads.glue.js; for Parcel, serve attn/wasm/dist as static files and import attn with: const address = new URL('/attn/index.js', location.href).href; const { load } = await import(address);",
    );
  }
  const abort = () => fail(signal?.reason);
  signal?.addEventListener('abort', abort);
  const timer =
    poolSize > 0 &&
    setTimeout(
      () => fail(new Error(`its threads did not start within ${kStartTimeout / 1000} seconds`)),
      kStartTimeout,
    );
  try {
    /** @type {Native} */
    const native = await Promise.race([glue.default(settings), failed]);
    // Wait for the workers now: later calls are synchronous, and a page must not block.
    await Promise.race([native.pthreadPoolReady, failed]);
    const runtime = new Runtime(native, workers);
    runtime.memory.enter((native) => native.start(poolSize + 1));
    // Idle workers must not keep Node alive.
    for (const worker of workers) worker.unref?.();
    return runtime;
  } catch (error) {
    for (const worker of workers) worker.terminate();
    throw error;
  } finally {
    signal?.removeEventListener('abort', abort);
    if (timer) clearTimeout(timer);
  }
}

/** @param {string | URL} wasmUrl */
function resolve(wasmUrl) {
  try {
    if (typeof wasmUrl !== 'string' && !isA(wasmUrl, 'URL')) throw TypeError();
    return new URL(wasmUrl, baseAddress() ?? import.meta.url);
  } catch {
    throw invalid('wasmUrl', wasmUrl, 'the address of a .wasm file or of its folder');
  }
}

/** @param {URL} url */
const isFolder = (url) => url.pathname.endsWith('/');

/**
 * @param {string} name  name of the source in errors
 * @returns {(source: WasmSource) => Promise<WebAssembly.Module>}
 */
const compile = (name) => async (source) => {
  const isBytes = isA(source, 'ArrayBuffer') || ArrayBuffer.isView(source);
  const isAnswer = isA(source, 'Response');
  if (Object.prototype.toString.call(source) === '[object WebAssembly.Module]') {
    return /** @type {WebAssembly.Module} */ (source);
  }
  if (!isBytes && !isAnswer) {
    throw invalid(name, source, 'a WebAssembly.Module, an ArrayBuffer, a Uint8Array or a Response');
  }
  try {
    if (isBytes) return await WebAssembly.compile(/** @type {BufferSource} */ (source));
    // Streaming requires the right Content-Type, and many servers do not know .wasm files.
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
    throw failure(`${name} could not be compiled`, error);
  }
};

/**
 * @param {URL} url
 * @param {AbortSignal | undefined} signal
 * @param {boolean} isDefault  true if the caller gave no address
 * @returns {Promise<Response | Uint8Array<ArrayBuffer>>}
 */
async function read(url, signal, isDefault) {
  const files = url.protocol === 'file:' && ofNode('fs/promises');
  try {
    if (files) return await files.readFile(url, { signal });
    const response = await fetch(url, { signal });
    if (!response.ok) {
      throw new Error(`the server returned ${response.status} ${response.statusText}`.trim());
    }
    // If a file is missing, many servers return a page with status 200.
    if (response.headers.get('Content-Type')?.startsWith('text/html')) {
      throw new Error('the server returned a page (text/html); the file may be missing');
    }
    return response;
  } catch (error) {
    const ofTool = hintOf(url.href);
    // Browsers report only that fetching failed.
    const hint =
      !ofTool && error instanceof TypeError && url.protocol !== 'file:'
        ? '; check that the file exists, that its server allows other origins (CORS), and that ' +
          'the content security policy (connect-src) allows the request'
        : ofTool ||
          (isDefault
            ? '; with a bundler, copy *.wasm and *-threads.glue.js from attn/wasm/dist next to the bundle'
            : '');
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
