// How many bytes may be downloaded at most, by compression; `raw` without any.

/** A .wasm, of each flavour. */
export const kMaxWasmBytes = {
  attn: { raw: 351e3, gzip: 154e3 },
  training: { raw: 505e3, gzip: 216e3 },
  models: { raw: 422e3, gzip: 185e3 },
};

/** The whole API with its glue, as a bundler puts it together, and as it lies in the package. */
export const kMaxApiBytes = {
  bundled: { brotli: 25_500, gzip: 28_300 },
  unbundled: { brotli: 25_900 },
};

/**
 * The site as hosts compress it, fonts as they are, without .wasm and the language model; what only those
 * load who let something learn; and what the language model is read with. The page was held to 300 kB
 * before it had a language model: its controls, texts and explanations are in every chapter.
 */
export const kMaxSiteBytes = {
  page: { brotli: 310_000, gzip: 348_000 },
  training: { brotli: 25_000, gzip: 27_000 },
  language: { brotli: 25_000, gzip: 28_000 },
};
