import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';

// @ts-expect-error: the package has no types
import { convert } from 'fontverter';
import { Blob, Buffer, Face, Feature, Font, shape, Variation } from 'harfbuzzjs';

import { usedFonts } from './smallFonts.js';

const require = createRequire(import.meta.url);

const module = 'virtual:outlines';
/** Units per em. All fonts of the page have this value. */
const em = 1000;

/**
 * Provides the letter outlines that exported pictures use, as a virtual module that exports
 * `faces`.
 * @returns {import('vite').Plugin}
 */
export function outlines() {
  return {
    name: 'outlines',
    resolveId: (id) => (id === module ? `\0${module}` : undefined),
    async load(id) {
      if (id !== `\0${module}`) return undefined;
      const faces = await Promise.all((await usedFonts()).map(faceOf));
      return { code: `export const faces = ${JSON.stringify(faces)};`, map: null };
    },
  };
}

/** @param {import('./smallFonts.js').UsedFont} used @returns {Promise<import('virtual:outlines').Face>} */
async function faceOf({ file, family, italic = false, weights, text, keepFeatures }) {
  const bytes = await readFile(require.resolve(file));
  const font = new Font(new Face(new Blob(await convert(bytes, 'truetype'))));
  if (font.face.upem !== em)
    throw new Error(`${file} has ${font.face.upem} units per em, not ${em}`);
  const features = ['liga', 'calt'].map(
    (tag) => new Feature(tag, Number(keepFeatures.includes(tag))),
  );
  /** The single glyph that draws all these characters, or 0 if there is none. */
  const glyphOf = (/** @type {string} */ characters) => {
    const buffer = new Buffer();
    buffer.addText(characters);
    buffer.guessSegmentProperties();
    shape(font, buffer, features);
    const glyphs = buffer.getGlyphInfos();
    return glyphs.length === 1 ? glyphs[0].codepoint : 0;
  };
  const drawn = [...new Set(text)].filter(glyphOf);
  const letters = drawn.filter((character) => /[a-z]/i.test(character));
  for (let ligatures = letters; ligatures.length; drawn.push(...ligatures)) {
    const longer = ligatures.flatMap((begin) => letters.map((letter) => begin + letter));
    ligatures = longer.filter(glyphOf);
  }
  // Outlines change linearly between the lightest and the heaviest weight.
  const glyphs = [...new Set(weights)].map((weight) => {
    font.setVariations([new Variation('wght', weight)]);
    return Object.fromEntries(
      drawn.map((each) => [each, relative(font.glyphToJson(glyphOf(each)))]),
    );
  });
  return { family, italic, weights, glyphs };
}

/**
 * Writes a path in whole units, with relative coordinates and with y pointing down, because that
 * takes the fewest characters.
 * @param {import('harfbuzzjs').SvgPathCommand[]} commands
 */
function relative(commands) {
  let [x, y, startX, startY] = [0, 0, 0, 0];
  return commands
    .map(({ type, values }) => {
      const steps = values.map((value, i) =>
        i % 2 ? -Math.round(value) - y : Math.round(value) - x,
      );
      const [right = 0, down = 0] = steps.slice(-2);
      [x, y] = type === 'Z' ? [startX, startY] : [x + right, y + down];
      if (type === 'M') [startX, startY] = [x, y];
      return type.toLowerCase() + steps.join(' ').replaceAll(' -', '-');
    })
    .join('');
}
