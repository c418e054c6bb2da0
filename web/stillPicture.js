import { readFile } from 'node:fs/promises';

import { mostLines, strongestArcs } from './src/core/arcs.js';
import { archOf, firstOf, strongestPair, transposed } from './src/figures/opening/opening.js';
import { initial } from './src/state/properties/index.js';

/** Number of columns of the encoding that are drawn. The live picture draws the same number. */
const kColumns = 16;
/** Sizes of the picture's parts, in CSS pixels. The window determines the actual width. */
const kWidth = 1200;
const kArches = 128;
const kStrip = 88;
const kNames = 26;
/** Number of shades for each sign. */
const kShades = 8;

/**
 * The package's address. Importing the package by name would fail before the package is built:
 * Vite resolves names while it reads vite.config.js, and the linter resolves names, too.
 */
const kPackage = new URL('../wasm/dist/index.js', import.meta.url).href;

/** Weights below this fraction of the largest weight are barely visible. */
const kLeast = 0.02;

/** The text, layer and head that the page shows first. */
const { text, layer, head } = initial;

const read = (/** @type {string} */ name) =>
  readFile(new URL(`languageModel/${name}`, import.meta.url));

/**
 * Draws the page's first picture as SVG. The picture shows what the words of the first sentence
 * attend to, in the layer and head of the language model that the page shows first. The core
 * computes all numbers.
 * @returns {Promise<{ svg: string, layer: number, head: number, query: string, key: string }>}
 *   layer, head: counted from 1; query, key: the words that the thickest arch connects
 */
export async function stillPicture() {
  const [{ load }, { LanguageModel }, { LanguageTokens }] = await Promise.all([
    /** @type {Promise<typeof import('attn')>} */ (import(kPackage)),
    import('./src/models/language/languageModel.js'),
    import('./src/models/language/languageTokens.js'),
  ]);
  const attn = await load({ threads: 1 });
  const model = new LanguageModel(attn, await read('model.safetensors'));
  const tokenizer = new LanguageTokens(JSON.parse((await read('tokenizer.json')).toString()));
  const { ids, tokens } = tokenizer.of(text);
  const n = ids.length;
  const x = model.read(model.embed(ids)).layerInput(layer);
  const { weights } = model
    .attention(layer, true)
    .forward(x, x, x, { causal: true, needWeights: true });
  const data = weights.data.subarray(head * n * n, (head + 1) * n * n);
  const positions = model.positions(n);
  const [rows, columns] = positions.shape;
  const strip = transposed(firstOf({ data: positions.data, rows, columns }, n, kColumns));
  const matrix = { data, rows: n, columns: n };
  const thickest = /** @type {Arc} */ (strongestPair(matrix));
  return {
    svg: [archesOf(matrix, thickest), stripOf(strip), namesOf(tokens)].join(''),
    ...{ layer: layer + 1, head: head + 1 },
    ...{ query: tokens[thickest.query], key: tokens[thickest.key] },
  };
}

/** @typedef {import('./src/drawing/matrix.js').Matrix} Matrix */
/** @typedef {import('./src/core/arcs.js').Arc} Arc */

/** @param {number} number */
const short = (number) => String(Number(number.toFixed(1)));

/** @param {Matrix} weights @param {Arc} thickest */
function archesOf(weights, { query, weight: largest }) {
  const size = { width: kWidth, height: kArches, lit: query };
  const drawn = strongestArcs(weights, null, mostLines)
    .filter(({ weight }) => weight >= kLeast * largest)
    .map((arc) => {
      const { from, to, ground, rise, broad, alpha } = archOf(arc, weights.rows, largest, size);
      if (arc.query === arc.key) {
        const radius = short(broad);
        return `<path opacity="${alpha}" d="M${short(from - broad)} ${short(ground)}a${radius} ${radius} 0 1 0 ${short(2 * broad)} 0a${radius} ${radius} 0 1 0 ${short(-2 * broad)} 0"/>`;
      }
      const along = Math.sign(to - from);
      const half = (/** @type {number} */ by, /** @type {boolean} */ back) => {
        const start = from - along * by;
        const sweep = along > 0 === !back ? 1 : 0;
        const radii = `${short(Math.abs(to - start) / 2)} ${short(rise + by / 2)}`;
        return `A${radii} 0 0 ${sweep} ${short(back ? start : to)} ${short(ground)}`;
      };
      const start = `M${short(from - along * broad)} ${short(ground)}`;
      return `<path opacity="${alpha.toFixed(2)}" d="${start}${half(broad, false)}${half(-broad, true)}z"/>`;
    });
  return `<svg viewBox="0 0 ${kWidth} ${kArches}" preserveAspectRatio="none" width="100%" height="${kArches}" fill="currentColor" stroke="currentColor" stroke-width=".5">${drawn.join('')}</svg>`;
}

/** @param {Matrix} strip */
function stripOf({ data, rows, columns }) {
  /** @type {Map<number, string>} cells by signed shade */
  const cells = new Map();
  data.forEach((value, i) => {
    const shade = Math.round(kShades * value);
    const cell = `M${i % columns} ${Math.floor(i / columns)}h1v1h-1z`;
    if (shade) cells.set(shade, (cells.get(shade) ?? '') + cell);
  });
  const drawn = Array.from(cells, ([shade, d]) => {
    const name = shade < 0 ? ' class="first-negative"' : '';
    return `<path${name} opacity="${Math.abs(shade) / kShades}" d="${d}"/>`;
  });
  const between = Array.from({ length: columns - 1 }, (_, i) => `M${i + 1} 0v${rows}`).join('');
  drawn.push(`<path class="first-between" stroke="#fff" stroke-width="2" d="${between}"/>`);
  return `<svg viewBox="0 0 ${columns} ${rows}" preserveAspectRatio="none" width="100%" height="${kStrip}" fill="currentColor" shape-rendering="crispEdges">${drawn.join('')}</svg>`;
}

/** @param {readonly string[]} tokens */
function namesOf(tokens) {
  const drawn = tokens.map(
    (token, i) =>
      `<svg x="${short((100 * (i + 0.5)) / tokens.length)}%" overflow="visible"><text transform="translate(0 20)" text-anchor="middle">${token}</text></svg>`,
  );
  return `<svg width="100%" height="${kNames}">${drawn.join('')}</svg>`;
}
