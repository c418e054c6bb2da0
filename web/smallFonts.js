import { readdir, readFile } from 'node:fs/promises';

// @ts-expect-error: the package has no types
import subsetFont from 'subset-font';

import { allEquations, usedBy } from './equations.js';

const ascii = String.fromCharCode(...Array.from({ length: 95 }, (_, i) => 32 + i));
/** For what readers type; rarer letters come from a font of the system. */
const accented = 'àáâãäåæçèéêëìíîïñòóôõöøùúûüßÄÅÉÖØÜ';

/** Signs that stand in labels alone. */
const ofLabels = /[±°µ≤≥∞]/g;

/**
 * What the page uses of the text fonts.
 * @param {string} signs that the sources contain
 * @param {string} titles of the page and its chapters
 * @returns {Record<string, { text: string, keepFeatures?: string[], variationAxes?: object }>}
 */
const textFonts = (signs, titles) => ({
  'serif-4-latin-400-normal': { text: ascii + accented + signs.replace(ofLabels, '') },
  'serif-4-latin-600-normal': { text: titles },
  // Single words and symbols, and Llama 3.
  'serif-4-latin-400-italic': { text: ascii.replace(/[^A-Za-z3 ]/g, ''), keepFeatures: [] },
  'sans-3-latin-wght-normal': {
    text: ascii + accented + signs,
    variationAxes: { wght: { min: 400, max: 600 } },
  },
});
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
      const texts = Object.entries(textFonts(await signsOfSources(), await titlesOfSources()));
      for (const file of Object.values(bundle)) {
        if (file.type !== 'asset' || !file.fileName.endsWith('.woff2')) continue;
        const { fileName } = file;
        const [, katex] = /KaTeX_([\w]+-[A-Za-z]+)/.exec(fileName) ?? [];
        const { text, ...options } = katex
          ? { text: [...used.characters[katex]].join(''), keepFeatures: [] }
          : (texts.find(([name]) => fileName.includes(name)) ??
              this.error(`${fileName}: whose?`))[1];
        file.source = await subsetFont(Buffer.from(file.source), text, {
          ...{ targetFormat: 'woff2', noHinting: true, keepFeatures },
          ...options,
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

/** Signs other than letters that the sources of the page contain. */
async function signsOfSources() {
  const folder = new URL('src/', import.meta.url);
  const files = (await readdir(folder, { recursive: true })).filter(
    (file) => /\.(?:svelte|js)$/.test(file) && !file.endsWith('.test.js'),
  );
  const texts = await Promise.all(files.map((file) => readFile(new URL(file, folder), 'utf8')));
  // Comments are not shown.
  const shown = texts.join('\n').replace(/\/\*[^]*?\*\/|<!--[^]*?-->|(^|\s)\/\/.*$/gm, '');
  return [...new Set(shown)].filter((sign) => sign > '~').join('');
}

/** What is set in bold serif letters. */
async function titlesOfSources() {
  const source = (/** @type {string} */ file) =>
    readFile(new URL(`src/${file}`, import.meta.url), 'utf8');
  const files = ['App.svelte', 'frame/OwnModel.svelte', 'chapters/index.js'];
  const walk = 'chapters/opening/walkTexts.js';
  const [page, dialog, chapters, steps] = await Promise.all([...files, walk].map(source));
  const title = /<h1>([^]*?)<\/h1>|class="name"[^>]*>([^<]*)</g;
  const titles = [
    ...page.matchAll(title),
    ...dialog.matchAll(/<h2[^>]*>([^<]*)</g),
    ...chapters.matchAll(/title: ['"](.*)['"],/g),
    ...steps.matchAll(/title: ([^]*?),\s+says:/g),
  ];
  const letters = titles.map(([, ...texts]) => texts.join('')).join('');
  // Of the walk's, the source has a little code between them.
  return letters.replace(/[^\p{L}\d ,:?.’-]/gu, '') + '\u00a0';
}
