// Draws a picture's text. Letters become outlines, so that they look the same in every program,
// whichever fonts are installed, unless the text should stay editable.

import { faces } from 'virtual:outlines';

import { graphemes } from '../core/tokens.js';
import { canvasContext, paint, setAll, snapped, svgElement } from './pictureBoxes.js';

/** @import { Face } from 'virtual:outlines' */

/**
 * @typedef {{ text: string, x: number, y: number }} Placed a grapheme and where it begins on its
 *   baseline
 *
 * @typedef {Pick<CSSStyleDeclaration, 'fontFamily' | 'fontSize' | 'fontStyle' | 'fontWeight'>
 *   & { fontVariantNumeric?: string, letterSpacing?: string }} Style
 */

/** Units per em of the outlines. */
const em = 1000;

/** @param {Style} style */
export const fontOf = ({ fontStyle, fontWeight, fontSize, fontFamily }) =>
  `${fontStyle} ${fontWeight} ${fontSize} ${fontFamily}`;

/** The font of an SVG text. @param {Style} style */
const fontAttributes = ({ fontFamily, fontSize, fontStyle, fontWeight }) => ({
  'font-family': fontFamily,
  'font-size': fontSize,
  'font-style': fontStyle,
  'font-weight': fontWeight,
});

/**
 * Lays out a text that is not on the page, as a line that begins at x, y.
 * @param {string} text
 * @param {Style} style
 * @param {number} x
 * @param {number} y
 * @returns {Placed[]}
 */
export function placed(text, style, x, y) {
  const context = canvasContext();
  context.font = fontOf(style);
  const widthOf = (/** @type {string} */ part) => context.measureText(part).width;
  return Array.from(graphemes.segment(text), ({ segment, index }) => {
    // Kerning may bring two letters closer together than their widths suggest.
    const end = widthOf(text.slice(0, index + segment.length));
    return { text: segment, x: x + end - widthOf(segment), y };
  });
}

/** The letter outlines of one picture, each stored once. */
export class Letters {
  defs = svgElement('defs', {});
  #editable;
  /** @type {Set<string>} */
  #ids = new Set();

  /** @param {boolean} editable whether text stays text */
  constructor(editable) {
    this.#editable = editable;
  }

  /**
   * Draws a text in one style. Characters that the page's fonts lack remain text.
   * @param {Placed[]} characters
   * @param {Style} style
   * @param {Record<string, string | number>} fill
   */
  drawn(characters, style, fill) {
    const text = characters.map(({ text }) => text).join('');
    const [first] = characters;
    if (this.#editable) {
      const element = svgElement('text', {
        ...{ x: hundredths(Math.min(...characters.map(({ x }) => x))), y: hundredths(first.y) },
        ...{ 'text-anchor': 'start', ...fill, ...fontAttributes(style) },
      });
      element.textContent = text;
      return element;
    }
    const scale = parseFloat(style.fontSize) / em;
    const group = svgElement('g', {
      ...{ role: 'img', 'aria-label': text.trim(), ...fill },
      transform: `translate(${hundredths(first.x)} ${hundredths(first.y)}) scale(${scale})`,
    });
    const units = (/** @type {number} */ length) => Math.round(length / scale);
    const own = facesOf(style);
    // With letter spacing, letters form no ligatures.
    const longest = parseFloat(style.letterSpacing ?? '') ? 1 : 3;
    /** @type {SVGElement | null} the current run of characters that the fonts lack */
    let lacking = null;
    for (let i = 0; i < characters.length;) {
      const { text, ...at } = characters[i];
      const x = at.x - first.x;
      const y = at.y - first.y;
      const next = characters.slice(i, i + longest).map(({ text }) => text.normalize());
      const found = this.#find(next, own, Number(style.fontWeight));
      i += found?.count ?? 1;
      if (found) {
        lacking = null;
        const use = { 'xlink:href': `#${found.id}`, x: units(x), ...(y && { y: units(y) }) };
        if (found.id) group.append(svgElement('use', use));
        continue;
      }
      if (!lacking) {
        lacking = svgElement('text', {
          ...{ x, y, transform: `scale(${1 / scale})`, 'text-anchor': 'start' },
          ...fontAttributes(style),
        });
        group.append(lacking);
      }
      lacking.textContent += text;
      // A run may go from right to left, so x is the smallest x of its characters.
      setAll(lacking, { x: Math.min(x, Number(lacking.getAttribute('x'))) });
    }
    return group;
  }

  /** Number of units of a drawn text in a CSS pixel. @param {Style} style */
  unitsPerPixel({ fontSize }) {
    return this.#editable ? 1 : em / parseFloat(fontSize);
  }

  /**
   * The outline of the next character, or of the next characters if they form a ligature. For white
   * space, the id is empty.
   * @param {string[]} next
   * @param {Face[]} own
   * @param {number} weight
   */
  #find(next, own, weight) {
    if (!next[0].trim()) return { id: '', count: 1 };
    for (let count = next.length; count > 0; count--) {
      const text = next.slice(0, count).join('');
      const face = own.find(({ glyphs }) => text in glyphs[0]);
      if (!face) continue;
      const [least, most] = face.weights;
      const share = Math.min(1, Math.max(0, (weight - least) / (most - least))) || 0;
      // The same letter has the same id in every picture.
      const letter = Array.from(text, (each) => each.codePointAt(0)?.toString(16)).join('-');
      const id = `f${faces.indexOf(face)}-${share}-${letter}`;
      if (!this.#ids.has(id)) {
        const [light, heavy = light] = face.glyphs.map((glyphs) => glyphs[text]);
        this.defs.append(svgElement('path', { id, d: between(light, heavy, share) }));
      }
      this.#ids.add(id);
      return { id, count };
    }
    return undefined;
  }
}

/**
 * Interpolates between two outlines with the same commands.
 * @param {string} light @param {string} heavy @param {number} share share of the second outline
 */
function between(light, heavy, share) {
  if (light === heavy || share === 0) return light;
  const numbers = heavy.match(/-?\d+/g) ?? [];
  let i = 0;
  return light.replaceAll(
    /-?\d+/g,
    (number) => ` ${hundredths((1 - share) * Number(number) + share * Number(numbers[i++]))}`,
  );
}

/** @param {number} length */
const hundredths = (length) => Math.round(100 * length) / 100;

/** The faces for a text, starting with the faces of its first font family. @param {Style} style */
function facesOf({ fontFamily, fontStyle, fontWeight }) {
  const families = fontFamily.split(',').map((family) => family.trim().replaceAll(/["']/g, ''));
  const weight = Number(fontWeight);
  const distance = (/** @type {Face} */ { italic, weights: [least, most] }) =>
    Math.max(0, least - weight, weight - most) + (italic === (fontStyle === 'italic') ? 0 : em);
  return families.flatMap((name) => {
    const family = faces.filter((face) => face.family === name);
    const least = Math.min(...family.map(distance));
    return family.filter((face) => distance(face) === least);
  });
}

/**
 * Draws the text of an SVG as outlines, with each character at the position that the browser gave
 * it.
 * @param {SVGTextElement} from
 * @param {Letters} letters
 */
export function outlined(from, letters) {
  const group = svgElement('g', {});
  const { opacity } = getComputedStyle(from);
  const transform = from.getAttribute('transform');
  setAll(group, { ...(transform && { transform }), ...(opacity !== '1' && { opacity }) });
  const { b, d, f } = /** @type {DOMMatrix} */ (from.getCTM());
  const level = (/** @type {number} */ y) => (b ? y : (snapped(d * y + f) - f) / d);
  const texts = document.createTreeWalker(from, NodeFilter.SHOW_TEXT);
  let counted = 0;
  let isSpaced = true;
  while (texts.nextNode()) {
    const { data, parentElement } = /** @type {Text} */ (texts.currentNode);
    const style = getComputedStyle(/** @type {Element} */ (parentElement));
    if (style.display === 'none') continue;
    // Collapses white space, because getNumberOfChars() counts a run of it as one character.
    let text = data.replaceAll(/[ \t\r\n]+/g, ' ');
    if (isSpaced) text = text.replace(/^ /, '');
    isSpaced = text ? text.endsWith(' ') : isSpaced;
    const characters = Array.from(graphemes.segment(text))
      .filter(({ index }) => counted + index < from.getNumberOfChars())
      .map(({ segment, index }) => ({
        text: segment,
        x: from.getExtentOfChar(counted + index).x,
        y: level(from.getStartPositionOfChar(counted + index).y),
      }));
    counted += text.length;
    if (!text.trim() || !characters.length || style.visibility === 'hidden') continue;
    const fill = paint('fill', style.fill, Number(style.fillOpacity));
    const run = letters.drawn(characters, style, fill);
    if (style.stroke !== 'none') {
      // Draw the stroke first, so that it is under the fill of every letter.
      const halo = /** @type {SVGElement} */ (run.cloneNode(true));
      const width = parseFloat(style.strokeWidth) * letters.unitsPerPixel(style);
      const stroke = { ...paint('stroke', style.stroke), 'stroke-width': width };
      setAll(halo, { 'aria-hidden': 'true', ...stroke });
      group.append(halo);
    }
    setAll(run, { stroke: 'none' });
    group.append(run);
  }
  return group;
}
