// How many bytes may be downloaded at most, by compression; `raw` without any.

/** A .wasm, of each flavour. */
export const kMaxWasmBytes = {
  attn: { raw: 355e3, gzip: 155e3 },
  training: { raw: 512e3, gzip: 218e3 },
  models: { raw: 428e3, gzip: 187e3 },
};

/** The whole API with its glue, as a bundler puts it together, and as it lies in the package. */
export const kMaxApiBytes = {
  bundled: { brotli: 25_600, gzip: 28_400 },
  unbundled: { brotli: 26_000 },
};

/**
 * The site as hosts compress it, fonts as they are, without .wasm and the language model; what only those
 * load who follow one word, or let something learn; and what the language model is read with. The page was
 * held to 300 kB before it had a language model, whose controls, texts and explanations are in every
 * chapter, and to 310 kB before numbers were told beside what is pointed at, and before it had the walk, whose
 * styles are in the sheet of all.
 */
export const kMaxSiteBytes = {
  page: { brotli: 325_000, gzip: 365_000 },
  walk: { brotli: 12_000, gzip: 13_000 },
  training: { brotli: 25_000, gzip: 27_000 },
  language: { brotli: 25_000, gzip: 28_000 },
};
