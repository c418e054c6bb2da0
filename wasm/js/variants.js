// @ts-nocheck: the modules imported here are made by the build.

// Written out one by one, because bundlers find files by these very expressions. In Node, options of
// the process that are none for a worker would keep it from starting: no execArgv.

/** @typedef {'simd128' | 'relaxed-simd' | 'simd128-threads' | 'relaxed-simd-threads'} Variant */

/**
 * @typedef {object} VariantFiles
 * @property {() => Promise<{ default: (options: object) => Promise<any> }>} glue
 * @property {() => URL} wasm
 * @property {(Worker: any) => any} [worker]  starts one, the browser's or Node's; of variants with
 *   threads
 */

/** @type {Record<Variant, VariantFiles>} */
export const variants = {
  simd128: {
    glue: () => import('./attn-simd128.js'),
    wasm: () => new URL('./attn-simd128.wasm', import.meta.url),
  },
  'relaxed-simd': {
    glue: () => import('./attn-relaxed-simd.js'),
    wasm: () => new URL('./attn-relaxed-simd.wasm', import.meta.url),
  },
  'simd128-threads': {
    glue: () => import('./attn-simd128-threads.js'),
    wasm: () => new URL('./attn-simd128-threads.wasm', import.meta.url),
    worker: (Worker) =>
      new Worker(new URL('./attn-simd128-threads.js', import.meta.url), {
        type: 'module',
        name: 'attn-thread',
        workerData: 'attn-thread',
        execArgv: [],
      }),
  },
  'relaxed-simd-threads': {
    glue: () => import('./attn-relaxed-simd-threads.js'),
    wasm: () => new URL('./attn-relaxed-simd-threads.wasm', import.meta.url),
    worker: (Worker) =>
      new Worker(new URL('./attn-relaxed-simd-threads.js', import.meta.url), {
        type: 'module',
        name: 'attn-thread',
        workerData: 'attn-thread',
        execArgv: [],
      }),
  },
};
