import { readdir, readFile } from 'node:fs/promises';
import { basename } from 'node:path';

// @ts-expect-error: the package has no types
import subsetFont from 'subset-font';

import { allEquations, usedBy } from './equations.js';
import { appendix, titles as chapterTitles } from './src/texts/chapters.js';
import { first, still } from './src/texts/first.js';
import { dialog } from './src/texts/openModel.js';

const ascii = String.fromCharCode(...Array.from({ length: 95 }, (_, i) => 32 + i));
/** Letters that readers may type. Rarer letters come from a system font. */
const accented = 'àáâãäåæçèéêëìíîïñòóôõöøùúûüßÄÅÉÖØÜ';

/** Symbols that occur only in labels. */
const ofLabels = /[±°µ≤≥∞]/g;

const keepFeatures = ['kern', 'liga', 'mark', 'ccmp', 'tnum', 'lnum'];

const sans = '@fontsource-variable/source-sans-3/files/source-sans-3-latin-wght-normal.woff2';

/**
 * @typedef {object} UsedFont
 * @property {string} file name as in the style sheets
 * @property {string} family
 * @property {boolean} [italic]
 * @property {[number, number]} weights the lightest and heaviest weights in use
 * @property {string} text the characters that the page sets in this font
 * @property {string[]} keepFeatures
 */

/**
 * The fonts of the page, with the characters and weights in use.
 * @returns {Promise<UsedFont[]>}
 */
export async function usedFonts() {
  const [{ characters }, signs, titles] = await Promise.all([
    allEquations().then(usedBy),
    signsOfSources(),
    titlesOfSources(),
  ]);
  const latin = ascii + accented + signs;
  const serifs = { family: 'Source Serif 4', weights: [400, 400], keepFeatures };
  const labels = { family: 'Source Sans 3 Variable', weights: [400, 600], keepFeatures };
  const serif = (/** @type {string} */ face) =>
    `@fontsource/source-serif-4/files/source-serif-4-latin-${face}.woff2`;
  const katex = (/** @type {string} */ face) => ({
    ...{ file: `katex/dist/fonts/KaTeX_${face}.woff2`, keepFeatures: [] },
  });
  const regular = [400, 400];
  const bold = [700, 700];
  return /** @type {UsedFont[]} */ ([
    { ...serifs, file: serif('400-normal'), text: latin.replace(ofLabels, '') },
    { ...serifs, file: serif('600-normal'), weights: [600, 600], text: titles },
    {
      ...{ ...serifs, file: serif('400-italic'), italic: true, keepFeatures: [] },
      // The only text in italics: single words, symbols, and "Llama 3".
      text: ascii.replace(/[^A-Za-z3+ ]/g, ''),
    },
    { ...labels, file: sans, text: latin },
    // Keep these characters in step with fonts.css.
    { ...labels, ...katex('Main-Regular'), text: '←→√∝∞≈≤≥⌈⌉' },
    { ...labels, ...katex('Math-Italic'), text: 'βδλσω' },
    ...Object.entries(characters).map(([face, used]) => ({
      ...{ ...katex(face), family: `KaTeX_${face.split('-')[0]}`, text: [...used].join('') },
      ...{ italic: face.endsWith('Italic'), weights: face.includes('-Bold') ? bold : regular },
    })),
  ]);
}

/**
 * Reduces the fonts of the built page to the parts in use. Text fonts keep Latin letters and the
 * symbols in the sources. KaTeX's fonts are kept only as WOFF2, with the characters in equations
 * and labels. KaTeX's style sheet keeps the classes in use.
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
      const fonts = await usedFonts();
      for (const asset of Object.values(bundle)) {
        if (asset.type !== 'asset' || !asset.fileName.endsWith('.woff2')) continue;
        const used = fonts.filter(({ file }) => asset.fileName.includes(basename(file, '.woff2')));
        if (!used.length) this.error(`${asset.fileName} belongs to no font in use`);
        const [{ file, weights, keepFeatures }] = used;
        const text = used.map(({ text }) => text).join('');
        asset.source = await subsetFont(Buffer.from(asset.source), text, {
          ...{ targetFormat: 'woff2', noHinting: true, keepFeatures },
          ...(file === sans && { variationAxes: { wght: { min: weights[0], max: weights[1] } } }),
        });
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

/** Characters outside ASCII that occur in the page's sources. */
async function signsOfSources() {
  const folder = new URL('src/', import.meta.url);
  const files = (await readdir(folder, { recursive: true })).filter(
    (file) => /\.(?:svelte|js)$/.test(file) && !file.endsWith('.test.js'),
  );
  const texts = await Promise.all(files.map((file) => readFile(new URL(file, folder), 'utf8')));
  // Comments are left out, because they are not displayed.
  const shown = texts.join('\n').replace(/\/\*[^]*?\*\/|<!--[^]*?-->|(^|\s)\/\/.*$/gm, '');
  return [...new Set(shown)].filter((sign) => sign > '~').join('');
}

/** Text set in bold serif letters. */
async function titlesOfSources() {
  const steps = await readFile(new URL('src/texts/walk.js', import.meta.url), 'utf8');
  const titles = [
    ...['attn', dialog.title, first.title, still.title, appendix.title],
    ...Object.values(chapterTitles),
    ...[...steps.matchAll(/title: ([^]*?),\s+says:/g)].map(([, title]) => title),
  ];
  const letters = titles.join('');
  // The pattern for the titles in texts/walk.js also captures the code around them. Keep only
  // letters, digits and punctuation.
  return letters.replace(/[^\p{L}\d ,:?.’-]/gu, '') + '\u00a0';
}
