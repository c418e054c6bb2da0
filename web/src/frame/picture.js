// Converts a figure to a single SVG, or to a PNG, with its title, equation, settings and source.

import { wellFormed } from '../drawing/files.js';
import { creditOf, sourceOf } from './credit.js';
import { canvasContext, paint, svgElement } from './pictureBoxes.js';
import { copy } from './pictureCopy.js';
import { fontOf, Letters, placed } from './pictureText.js';

/**
 * @typedef {object} About
 * @property {HTMLElement} heading the figure's title, drawn above the picture
 * @property {string} description description of the picture for screen readers
 * @property {HTMLElement} figure the figure whose equation and settings are added below the picture
 * @property {import('./credit.js').Around} around
 * @property {string} [panel] the name of the panel that is drawn instead of the whole picture
 *
 * @typedef {object} Look how to draw a picture
 * @property {boolean} paper whether to draw the page's background
 * @property {boolean} caption whether to draw the title, the equation, the settings and the source
 * @property {boolean} wide whether to extend the picture to 16:9
 * @property {boolean} editable whether text stays text in an SVG, which needs the page's fonts to
 *   look the same; otherwise it becomes outlines
 */

/** @param {HTMLElement} element the picture to draw @param {About} about @param {Look} look */
export function toSvg(element, about, look) {
  const figure = /** @type {HTMLElement} */ (element.closest('figure') ?? element);
  // `data-still` moves floating elements below the picture, and `data-still="panel"` hides marks
  // that only the page explains. The attribute is removed before the next frame.
  figure.dataset.still = about.panel ? 'panel' : '';
  const { svg, width, height } = drawn(element, about, look);
  delete figure.dataset.still;

  const text = wellFormed(new XMLSerializer().serializeToString(svg))
    .replaceAll(' data-style="', ' style="')
    .replaceAll('<!---->', '');
  return { text, width, height };
}

const margin = 16;
const titleHeight = 28;
const creditHeight = 28;
const lineHeight = 16;

/** @param {string} text @param {string} font */
function widthOf(text, font) {
  const context = canvasContext();
  context.font = font;
  return context.measureText(text).width;
}

/**
 * Breaks parts into lines that are at most `width` wide.
 * @param {readonly string[]} parts
 * @param {string} font
 * @param {number} width
 */
function linesOf(parts, font, width) {
  /** @type {string[]} */
  const lines = [];
  for (const part of parts) {
    const longer = [...lines.slice(-1), part].join(' · ');
    const fits = lines.length > 0 && widthOf(longer, font) <= width;
    lines.splice(fits ? -1 : lines.length, 1, fits ? longer : part);
  }
  return lines;
}

/**
 * Breaks a link into lines that are at most `width` wide, after `&` if possible.
 * @param {string} link
 * @param {string} font
 * @param {number} width
 */
function brokenLink(link, font, width) {
  const lines = [''];
  for (const part of link.split(/(?<=&)/)) {
    const pieces = widthOf(part, font) > width ? [...part] : [part];
    for (const piece of pieces) {
      const longer = lines[lines.length - 1] + piece;
      if (widthOf(longer, font) <= width) lines[lines.length - 1] = longer;
      else lines.push(piece);
    }
  }
  return lines;
}

/**
 * The element to draw below a picture: the equation of a whole figure, if all of it is visible, or
 * the legend of a panel.
 * @param {HTMLElement} figure
 * @param {HTMLElement} picture
 * @param {About} about
 * @param {Look} look
 * @returns {HTMLElement | null}
 */
function belowOf(figure, picture, { panel }, { caption }) {
  if (panel) return figure.querySelector(`[data-legend="${panel}"]`);
  if (!caption || !picture.matches('.picture')) return null;
  const equation = /** @type {HTMLElement | null} */ (figure.querySelector('[data-equation] > *'));
  return equation && equation.scrollWidth <= equation.clientWidth + 1 ? equation : null;
}

/** @param {HTMLElement} element @param {About} about @param {Look} look */
function drawn(element, about, look) {
  const { heading, figure, around, description } = about;
  const box = element.getBoundingClientRect();
  const letters = new Letters(look.editable);
  const style = getComputedStyle(heading);
  const title = look.caption ? heading.textContent.trim() : '';
  const below = belowOf(figure, element, about, look);
  const belowBox = below?.getBoundingClientRect();
  const between = belowBox ? Math.ceil(belowBox.height) + (look.caption ? 2 : 1) * margin : 0;
  const credit = look.caption ? creditOf(figure, around) : [];
  const { fontFamily, fontStyle } = style;
  const small = { fontFamily, fontStyle, fontSize: '12px', fontWeight: '400' };
  const words = [
    widthOf(title, fontOf(style)),
    ...credit.map((part) => widthOf(part, fontOf(small))),
  ];
  const legendWidth = (about.panel && belowBox?.width) || 0;
  const least = Math.ceil(Math.max(box.width, legendWidth, ...words)) + 2 * margin;
  const inside = least - 2 * margin;
  const source = look.caption ? brokenLink(sourceOf(figure), fontOf(small), inside) : [];
  const lines = [...linesOf(credit, fontOf(small), inside), ...source];
  const sources = look.caption ? creditHeight + (lines.length - 1) * lineHeight : 0;
  const foot = between + sources;
  const head = look.caption ? titleHeight : 0;
  const needed = head + Math.ceil(box.height) + foot + 2 * margin;
  const unit = Math.ceil(Math.max(least / 16, needed / 9));
  const [width, height] = look.wide ? [16 * unit, 9 * unit] : [least, needed];
  /** Centres the content in a wider or higher picture. */
  const [right, down] = [Math.floor((width - least) / 2), Math.floor((height - needed) / 2)];
  const svg = svgElement('svg', {
    ...{ width, height, viewBox: `0 0 ${width} ${height}` },
    'xmlns:xlink': 'http://www.w3.org/1999/xlink',
  });
  const name = svgElement('title', {});
  name.textContent = heading.textContent;
  const details = svgElement('desc', {});
  details.textContent = description;
  svg.append(name, details, letters.defs);
  const page = getComputedStyle(document.documentElement);
  if (look.paper) {
    svg.append(svgElement('rect', { width, height, ...paint('fill', page.backgroundColor) }));
  }

  if (title) {
    const at = placed(title, style, right + margin, down + margin + 15);
    svg.append(letters.drawn(at, style, paint('fill', page.color)));
  }
  lines.forEach((line, i) => {
    const y = down + needed - margin - (lines.length - 1 - i) * lineHeight;
    const fill = paint('fill', page.color, 0.7);
    svg.append(letters.drawn(placed(line, small, right + margin, y), small, fill));
  });
  // Whole pixels stay whole, so that lines are as sharp as on the screen.
  const left = Math.floor(box.left) - margin - right;
  const top = Math.floor(box.top) - margin - head - down;
  const picture = { left, top, letters, clips: 0 };
  copy(element, svg, picture);
  if (below && belowBox) {
    picture.left = Math.floor(belowBox.left) - margin - right;
    picture.top = Math.floor(belowBox.top) - (down + needed - foot);
    copy(below, svg, picture);
  }
  return { svg, width, height };
}

/**
 * @param {HTMLElement} element the picture to draw
 * @param {About} about
 * @param {Look} look
 */
export async function toPng(element, about, look) {
  const { text, width, height } = toSvg(element, about, { ...look, editable: false });
  const url = URL.createObjectURL(new Blob([text], { type: 'image/svg+xml' }));
  try {
    const image = new Image();
    image.src = url;
    await image.decode();
    // Use at least two pixels per CSS pixel for paper and screens. For slides, use a width of at
    // least 1600 pixels (1920 if the picture fills a slide). Stay within the sizes that browsers
    // support.
    const least = look.wide ? 1920 : 1600;
    const ratio = Math.min(Math.max(2, least / width), 8000 / Math.max(width, height));
    const canvas = new OffscreenCanvas(Math.round(width * ratio), Math.round(height * ratio));
    const context = /** @type {OffscreenCanvasRenderingContext2D} */ (canvas.getContext('2d'));
    context.drawImage(image, 0, 0, canvas.width, canvas.height);
    return await canvas.convertToBlob({ type: 'image/png' });
  } finally {
    URL.revokeObjectURL(url);
  }
}
