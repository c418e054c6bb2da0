// Where the package's files are. Addresses are written out one by one, because bundlers find files by
// these very expressions.

/** @typedef {'simd128' | 'relaxed-simd' | 'simd128-threads' | 'relaxed-simd-threads'} Variant */

/**
 * @typedef {object} VariantFiles
 * @property {() => Promise<{ default: (options: object) => Promise<any> }>} glue  Emscripten's, which
 *   starts the workers of threads
 * @property {() => URL} wasm
 */

/** @type {Record<Variant, VariantFiles>} */
export const variants = {
  simd128: {
    // @ts-ignore: the build makes it, as those below.
    glue: () => import('./attn-simd128.js'),
    wasm: () => new URL('./attn-simd128.wasm', import.meta.url),
  },
  'relaxed-simd': {
    // @ts-ignore
    glue: () => import('./attn-relaxed-simd.js'),
    wasm: () => new URL('./attn-relaxed-simd.wasm', import.meta.url),
  },
  'simd128-threads': {
    // @ts-ignore
    glue: () => import('./attn-simd128-threads.js'),
    wasm: () => new URL('./attn-simd128-threads.wasm', import.meta.url),
  },
  'relaxed-simd-threads': {
    // @ts-ignore
    glue: () => import('./attn-relaxed-simd-threads.js'),
    wasm: () => new URL('./attn-relaxed-simd-threads.wasm', import.meta.url),
  },
};
