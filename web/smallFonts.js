import { readdir, readFile } from 'node:fs/promises';

// @ts-expect-error: the package has no types
import subsetFont from 'subset-font';

import { allEquations, usedBy } from './equations.js';

const range = (/** @type {number} */ first, /** @type {number} */ last) =>
  String.fromCharCode(...Array.from({ length: last - first + 1 }, (_, i) => first + i));
const ascii = range(32, 126);
/** Accented letters, for what readers type. */
const accented = range(0xc0, 0xff);

/**
 * What the page uses of the text fonts: weights, and features beside those that are always on.
 * @type {Record<string, { variationAxes: object, letters: string }>}
 */
const textFonts = {
  'serif-4-latin-wght-normal': {
    variationAxes: { wght: { min: 400, max: 650 } },
    letters: ascii + accented,
  },
  'serif-4-latin-wght-italic': { variationAxes: { wght: 400 }, letters: ascii },
  'sans-3-latin-wght-normal': {
    variationAxes: { wght: { min: 400, max: 700 } },
    letters: ascii + accented,
  },
};
const keepFeatures = ['kern', 'liga', 'mark', 'ccmp', 'tnum', 'lnum'];

/**
 * Keeps of the fonts what is used: of the text fonts the Latin letters and the signs that occur in
 * the sources; of KaTeX's fonts, as WOFF2 alone, the characters that occur in equations; of KaTeX's
 * styles those for classes that occur. In the built page only.
 * @returns {import('vite').Plugin}
 */
export function smallFonts() {
  /** @type {ReturnType<typeof usedBy>} */
  let used;
  return {
    name: 'small-fonts',
    enforce: 'pre',
    apply: 'build',
    async buildStart() {
      used = usedBy(await allEquations());
    },
    transform: (code, id) => (/katex.*\.css$/.test(id) ? smallStyles(code, used) : undefined),
    async generateBundle(_, bundle) {
      const signs = await signsOfSources();
      for (const file of Object.values(bundle)) {
        if (file.type !== 'asset' || !file.fileName.endsWith('.woff2')) continue;
        const { fileName } = file;
        const [, katex] = /KaTeX_([\w]+-[A-Za-z]+)/.exec(fileName) ?? [];
        const text = Object.entries(textFonts).find(([name]) => fileName.includes(name))?.[1];
        file.source = await subsetFont(
          Buffer.from(file.source),
          katex ? [...used.characters[katex]].join('') : text?.letters + signs,
          {
            ...{ targetFormat: 'woff2', noHinting: true },
            ...(text && { variationAxes: text.variationAxes, keepFeatures }),
          },
        );
      }
    },
  };
}

/** @param {string} css @param {ReturnType<typeof usedBy>} used */
function smallStyles(css, { classes, characters }) {
  const kept = (/** @type {string} */ selector) =>
    [...selector.matchAll(/\.([a-z][\w-]*)/gi)].every(([, name]) => classes.has(name));
  return css
    .replace(/,\s*url\([^)]*\.(?:woff|ttf)\)\s*format\(["'](?:woff|truetype)["']\)/g, '')
    .replace(/@font-face\s*\{[^}]*fonts\/KaTeX_([\w-]+)\.woff2[^}]*\}/g, (face, name) =>
      name in characters ? face : '',
    )
    .replace(/(?<=^|[{}])([^{}@]+)(\{[^{}]*\})/g, (_, selectors, rules) => {
      const some = selectors.split(',').filter(kept);
      return some.length ? some.join() + rules : '';
    });
}

/** Signs other than letters that the sources of the page contain. */
async function signsOfSources() {
  const folder = new URL('src/', import.meta.url);
  const files = (await readdir(folder, { recursive: true })).filter(
    (file) => /\.(?:svelte|js)$/.test(file) && !file.endsWith('.test.js'),
  );
  const texts = await Promise.all(files.map((file) => readFile(new URL(file, folder), 'utf8')));
  return [...new Set(texts.join(''))].filter((sign) => sign > '~').join('');
}
