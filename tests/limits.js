// Limits of download sizes in bytes, by compression; `raw` means uncompressed.

/**
 * The .wasm of each flavour in its largest variant (relaxed SIMD with threads). Embind's wrappers
 * and the registration of names and types take 33 kB of `attn` and 45 kB of `training`.
 */
export const kMaxWasmBytes = {
  attn: { raw: 442e3, gzip: 198e3 },
  training: { raw: 605e3, gzip: 265e3 },
  models: { raw: 591e3, gzip: 261e3 },
  // Training and models together. A page that needs only one of them does not load this file.
  all: { raw: 760e3, gzip: 334e3 },
};

/** The complete API with its glue, both as a bundler writes it and as the package contains it. */
export const kMaxApiBytes = {
  'attn.glue.js': {
    bundled: { brotli: 36_900, gzip: 41_600 },
    unbundled: { brotli: 50_300 },
  },
  // Bundlers copy the glue of threaded builds unchanged.
  'attn-threads.glue.js': {
    bundled: { brotli: 45_100, gzip: 51_900 },
    unbundled: { brotli: 53_600 },
  },
};

/** The elements, `attn/figures`, as in the package, with everything that they import. */
export const kMaxElementsBytes = { brotli: 70_000 };

/**
 * Limits of the site, compressed as hosts compress it. The limits include the fonts, which are
 * already compressed, but not the .wasm files or the language model. `page` is the page with all of
 * its chapters. The page loads the other parts on demand: `walk` when the reader follows a word,
 * `picture` and `outlines` (of letters) when the reader saves a picture, `programs` when the page
 * shows a program, `training` when models are trained, `language` with the language model, `wall`
 * with the picture of all heads, `lens` with the figures that show what each layer adds, `compare`
 * with the figure that compares two sentences, `circuits` with the figure of what a head looks for,
 * `invent` when the reader invents a positional
 * encoding, `models` and `own` when the reader opens a model, and `hub` with the dialog in
 * which the reader chooses a model.
 */
export const kMaxSiteBytes = {
  page: { brotli: 396_900, gzip: 451_700 },
  walk: { brotli: 12_000, gzip: 13_000 },
  picture: { brotli: 6_700, gzip: 7_300 },
  outlines: { brotli: 62_000, gzip: 80_000 },
  programs: { brotli: 36_900, gzip: 42_300 },
  training: { brotli: 20_000, gzip: 22_000 },
  models: { brotli: 20_000, gzip: 22_000 },
  own: { brotli: 19_900, gzip: 22_200 },
  hub: { brotli: 7_200, gzip: 8_150 },
  lens: { brotli: 4_500, gzip: 5_000 },
  compare: { brotli: 5_300, gzip: 6_000 },
  circuits: { brotli: 4_500, gzip: 5_200 },
  wall: { brotli: 6_000, gzip: 7_000 },
  invent: { brotli: 17_000, gzip: 19_000 },
  language: { brotli: 27_800, gzip: 31_300 },
};

/**
 * The page as a single file, with its language model and without it. Both include Base64, which
 * adds a third.
 */
export const kMaxFileBytes = { page: 5e6, withoutModel: 2e6 };
