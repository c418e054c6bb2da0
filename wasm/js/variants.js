// Addresses of the package's files. Each address is written out in full, because bundlers find files by
// exactly these expressions.

/* global ATTN_VARIANTS */

/** @typedef {'simd128' | 'relaxed-simd' | 'simd128-threads' | 'relaxed-simd-threads'} Variant */

/**
 * The files of one flavour of the module: one .wasm per variant, and Emscripten's JavaScript (the glue).
 * @typedef {object} Files
 * @property {() => Promise<Glue>} glue
 * @property {() => URL} glueWithThreads  glue that the worker threads run, too. If you import it by
 *   name, bundlers make another copy for the workers.
 * @property {Record<Variant, () => URL>} wasm
 */

/** @typedef {{ default: (settings: object) => Promise<any> }} Glue */

/** @satisfies {Record<string, Files>} */
export const flavours = {
  attn: {
    // @ts-ignore: the build generates this file.
    glue: () => import('./attn.glue.js'),
    glueWithThreads: () => new URL('./attn-threads.glue.js', import.meta.url),
    wasm: {
      simd128: () => new URL('./attn-simd128.wasm', import.meta.url),
      'relaxed-simd': () => new URL('./attn-relaxed-simd.wasm', import.meta.url),
      'simd128-threads': () => new URL('./attn-simd128-threads.wasm', import.meta.url),
      'relaxed-simd-threads': () => new URL('./attn-relaxed-simd-threads.wasm', import.meta.url),
    },
  },
  training: {
    // @ts-ignore: the build generates this file.
    glue: () => import('./training.glue.js'),
    glueWithThreads: () => new URL('./training-threads.glue.js', import.meta.url),
    wasm: {
      simd128: () => new URL('./training-simd128.wasm', import.meta.url),
      'relaxed-simd': () => new URL('./training-relaxed-simd.wasm', import.meta.url),
      'simd128-threads': () => new URL('./training-simd128-threads.wasm', import.meta.url),
      'relaxed-simd-threads': () =>
        new URL('./training-relaxed-simd-threads.wasm', import.meta.url),
    },
  },
  models: {
    // @ts-ignore: the build generates this file.
    glue: () => import('./models.glue.js'),
    glueWithThreads: () => new URL('./models-threads.glue.js', import.meta.url),
    wasm: {
      simd128: () => new URL('./models-simd128.wasm', import.meta.url),
      'relaxed-simd': () => new URL('./models-relaxed-simd.wasm', import.meta.url),
      'simd128-threads': () => new URL('./models-simd128-threads.wasm', import.meta.url),
      'relaxed-simd-threads': () => new URL('./models-relaxed-simd-threads.wasm', import.meta.url),
    },
  },
  // Training, models, and the functions that train a model.
  all: {
    // @ts-ignore: the build generates this file.
    glue: () => import('./all.glue.js'),
    glueWithThreads: () => new URL('./all-threads.glue.js', import.meta.url),
    wasm: {
      simd128: () => new URL('./all-simd128.wasm', import.meta.url),
      'relaxed-simd': () => new URL('./all-relaxed-simd.wasm', import.meta.url),
      'simd128-threads': () => new URL('./all-simd128-threads.wasm', import.meta.url),
      'relaxed-simd-threads': () => new URL('./all-relaxed-simd-threads.wasm', import.meta.url),
    },
  },
};

/** @typedef {keyof typeof flavours} Flavour */

/** All variants, from slowest to fastest. */
export const kVariants = /** @type {Variant[]} */ (Object.keys(flavours.attn.wasm));

/**
 * The variants in this build. The published package contains all variants; `npm start` builds one.
 * @type {Variant[]}
 */
// @ts-ignore: the build defines this constant.
export const builtVariants = ATTN_VARIANTS;

/** @param {Variant} variant */
export const hasThreads = (variant) => variant.endsWith('-threads');
