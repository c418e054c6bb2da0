import { readdir, stat } from 'node:fs/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';

import katex from 'katex';

import { activationNames } from './src/texts/figures/encoderBlock.js';

const sources = fileURLToPath(new URL('src', import.meta.url));
const isEquations = (/** @type {string} */ file) => /[\\/]equations\.js$/.test(file);

/** KaTeX's font for each class. Other classes are set in the regular font. */
const fontOf = /** @type {Record<string, string>} */ ({
  mathnormal: 'Math-Italic',
  mathit: 'Main-Italic',
  mathbf: 'Main-Bold',
  textbf: 'Main-Bold',
  amsrm: 'AMS-Regular',
  mathbb: 'AMS-Regular',
  mathsf: 'SansSerif-Regular',
  textsf: 'SansSerif-Regular',
  'small-op': 'Size1-Regular',
  'large-op': 'Size2-Regular',
  'delim-size1': 'Size1-Regular',
  'delim-size4': 'Size4-Regular',
});

/**
 * Simplifies MathML, which is only for screen readers: removes spaces and sizes, and joins the
 * letters of upright words. KaTeX writes each of these letters as a separate identifier.
 * @param {string} math
 */
const spoken = (math) =>
  math
    .replace(/<mspace[^>]*>(?:<\/mspace>)?|<mtext>\s*<\/mtext>/g, '')
    .replace(/ (?:stretchy|minsize|maxsize|fence|separator)="[^"]*"/g, '')
    .replace(
      /(?:<mi mathvariant="normal">\p{L}<\/mi>){2,}/gu,
      (letters) => `<mi>${letters.replace(/<[^>]*>/g, '')}</mi>`,
    )
    .replace(/<mrow>(<m[ino][^>]*>[^<]*<\/m[ino]>)<\/mrow>/g, '$1');

/**
 * Renders TeX as HTML. Inline styles become data-style attributes, because the page's content
 * security policy blocks inline styles in HTML. A script in `Equation.svelte` applies them.
 * @param {string} tex
 */
export function render(tex) {
  const style = tex.startsWith('\\textstyle') ? '' : '\\displaystyle ';
  return (
    katex
      .renderToString(style + tex, {
        strict: false,
        trust: ({ command }) => command === '\\htmlData',
      })
      .replace(/<annotation[^]*?<\/annotation>|<\/?semantics>| xmlns="[^"]*"/g, '')
      .replaceAll(' style="', ' data-style="')
      // Round to hundredths of an em. The error is less than half a pixel.
      .replace(/\d*\.\d+(?=em)/g, (length) => String(Number(Number(length).toFixed(2))))
      .replace(/<math[^]*?<\/math>/g, spoken)
  );
}

/**
 * Collects the characters that equations need from each of KaTeX's fonts, and the classes that
 * equations use.
 * @param {Iterable<string>} equations
 */
export function usedBy(equations) {
  const classes = new Set();
  /** @type {Record<string, Set<string>>} */
  const characters = {};
  for (const html of equations) {
    // Always include the digits and the letters in the names of activation functions, because they
    // are inserted later. Leave out MathML, because it uses system fonts.
    const drawn = `<span>0123456789.${Object.values(activationNames).join('')}</span>${html.replace(/<math[^]*?<\/math>/g, '')}`;
    /** @type {string[]} fonts of the open elements */
    const open = ['Main-Regular'];
    for (const [, end, attributes, text] of drawn.matchAll(/<(\/?)\w+([^>]*)>|([^<]+)/g)) {
      if (text !== undefined) {
        const used = (characters[open[open.length - 1]] ??= new Set());
        for (const character of text.replace(/&\w+;/g, '<>&')) used.add(character);
      } else if (end) {
        open.pop();
      } else {
        const names = /class="([^"]*)"/.exec(attributes)?.[1].split(' ') ?? [];
        for (const name of names) classes.add(name);
        const size = names.includes('delimsizing') && names.find((name) => /^size\d$/.test(name));
        const named = names.map((name) => fontOf[name]).find(Boolean);
        const font = size ? `S${size.slice(1)}-Regular` : named;
        if (!attributes.endsWith('/')) open.push(font ?? open[open.length - 1]);
      }
    }
  }
  return { classes, characters };
}

/** Renders all equations of the page. @returns {Promise<string[]>} */
export async function allEquations() {
  const files = (await readdir(sources, { recursive: true })).filter(isEquations);
  const modules = await Promise.all(files.map((file) => renderedModule(`${sources}/${file}`)));
  /** @type {(value: any) => string[]} */
  const strings = (value) =>
    typeof value === 'string' ? [value] : Object.values(value).flatMap(strings);
  return strings(modules);
}

/** @param {string} file @returns {Promise<Record<string, any>>} its exports, rendered */
async function renderedModule(file) {
  // The query string makes Node import an edited file again.
  const url = `${pathToFileURL(file)}?${(await stat(file)).mtimeMs}`;
  /** @type {(value: any) => any} */
  const rendered = (value) =>
    typeof value === 'string'
      ? render(value)
      : Object.fromEntries(Object.entries(value).map(([name, each]) => [name, rendered(each)]));
  return rendered(await import(url));
}

/**
 * At build time, renders the TeX that modules named `equations.js` export as strings or objects of
 * strings, so that the page neither loads nor runs KaTeX.
 * @returns {import('vite').Plugin}
 */
export function equations() {
  return {
    name: 'equations',
    enforce: 'pre',
    async transform(_, id) {
      if (!isEquations(id)) return undefined;
      const exported = Object.entries(await renderedModule(id));
      return {
        code: exported
          .map(([name, value]) => `export const ${name} = ${JSON.stringify(value)};`)
          .join('\n'),
        map: null,
      };
    },
  };
}
