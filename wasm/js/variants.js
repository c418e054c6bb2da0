// Where the package's files are. Addresses are written out one by one, because bundlers find files by
// these very expressions.

/** @typedef {'simd128' | 'relaxed-simd' | 'simd128-threads' | 'relaxed-simd-threads'} Variant */

/**
 * @typedef {object} VariantFiles
 * @property {() => Promise<{ default: (options: object) => Promise<any> }>} glue
 * @property {() => URL} wasm
 * @property {(Worker: any) => any} [worker]  starts one, the browser's or Node's; of variants with
 *   threads
 */

// @ts-ignore: the build makes it.
const glue = () => import('./glue.js');
// @ts-ignore: the build makes it.
const glueWithThreads = () => import('./glueWithThreads.js');

// In Node, options of the process that are none for a worker would keep it from starting: no execArgv.
/** @param {any} Worker */
const worker = (Worker) =>
  new Worker(new URL('./glueWithThreads.js', import.meta.url), {
    type: 'module',
    name: 'attn-thread',
    workerData: 'attn-thread',
    execArgv: [],
  });

/** @type {Record<Variant, VariantFiles>} */
export const variants = {
  simd128: {
    glue,
    wasm: () => new URL('./attn-simd128.wasm', import.meta.url),
  },
  'relaxed-simd': {
    glue,
    wasm: () => new URL('./attn-relaxed-simd.wasm', import.meta.url),
  },
  'simd128-threads': {
    glue: glueWithThreads,
    wasm: () => new URL('./attn-simd128-threads.wasm', import.meta.url),
    worker,
  },
  'relaxed-simd-threads': {
    glue: glueWithThreads,
    wasm: () => new URL('./attn-relaxed-simd-threads.wasm', import.meta.url),
    worker,
  },
};
