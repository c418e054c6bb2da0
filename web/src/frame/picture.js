// Converts a figure to a single SVG. Canvases become images, SVGs are copied with their computed
// styles, boxes are drawn, and text becomes outlines.

import { graphemes } from '../core/tokens.js';
import { wellFormed } from '../drawing/files.js';
import { creditOf, sourceOf } from './credit.js';
import {
  canvasContext,
  drawnBox,
  drawnPseudo,
  paint,
  setAll,
  snapped,
  svgElement,
} from './pictureBoxes.js';
import { fontOf, Letters, outlined, placed } from './pictureText.js';

/** @import { Placed } from './pictureText.js' */

/**
 * @typedef {{ left: number, top: number, letters: Letters, clips: number }} Picture the picture's
 *   position in the window
 */

/** Interactive elements are left out of a picture. */
const controls =
  'button.link, .button, button:has(> svg), input, select, textarea, fieldset, [data-hint], [data-control]';

const inherited = [
  ...['fill', 'stroke', 'stroke-width', 'stroke-dasharray', 'stroke-linecap', 'stroke-linejoin'],
  ...['visibility', 'shape-rendering'],
];
/** CSS properties with their default values, which need not be written. */
const others = Object.entries({
  ...{ opacity: '1', 'mix-blend-mode': 'normal' },
  ...{ 'stop-color': 'rgb(0, 0, 0)', 'stop-opacity': '1', 'vector-effect': 'none' },
});
const paints = /** @type {const} */ (['fill', 'stroke', 'stop-color']);

/**
 * @param {Element} from
 * @param {Element} to
 * @param {Letters} letters
 * @param {CSSStyleDeclaration} [outer] style of the enclosing element
 */
function copyStyles(from, to, letters, outer) {
  const style = getComputedStyle(from);
  for (const { name } of [...to.attributes]) {
    if (/^(?:class|style|role|tabindex|aria-.*|data-.*)$/.test(name)) to.removeAttribute(name);
  }
  const isNew = (/** @type {string} */ name) =>
    !outer || style.getPropertyValue(name) !== outer.getPropertyValue(name);
  for (const name of inherited) {
    const value = style.getPropertyValue(name);
    const opacity = name === 'fill' || name === 'stroke' ? `${name}-opacity` : name;
    if (value && (isNew(name) || isNew(opacity))) to.setAttribute(name, value);
  }
  for (const [name, usual] of others) {
    const value = style.getPropertyValue(name);
    to.removeAttribute(name);
    if (!value || value === usual) continue;
    // SVG has no attribute `mix-blend-mode`, and the content security policy forbids a `style`
    // attribute.
    if (name === 'mix-blend-mode') to.setAttribute('data-style', `${name}:${value}`);
    else to.setAttribute(name, value);
  }
  for (const name of paints) {
    if (!to.hasAttribute(name)) continue;
    const opacity = name === 'stop-color' ? 'stop-opacity' : `${name}-opacity`;
    to.removeAttribute(opacity);
    const css = to.getAttribute(name) ?? '';
    setAll(to, { [opacity]: 1, ...paint(name, css, Number(style.getPropertyValue(opacity))) });
  }
  const pairs = [...from.children].map((child, i) => [child, to.children[i]]);
  for (const [child, copy] of pairs) {
    if (getComputedStyle(child).display === 'none') copy.remove();
    else if (child instanceof SVGTextElement) copy.replaceWith(outlined(child, letters));
    else copyStyles(child, copy, letters, style);
  }
}

/**
 * Scales cells to twice their displayed size, because many programs smooth enlarged images even if
 * told not to.
 * @param {HTMLCanvasElement} from
 * @param {{ width: number, height: number }} box
 */
function enlarged(from, { width, height }) {
  const canvas = document.createElement('canvas');
  canvas.width = from.width * Math.max(1, Math.ceil((2 * width) / from.width));
  canvas.height = from.height * Math.max(1, Math.ceil((2 * height) / from.height));
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
  context.imageSmoothingEnabled = false;
  context.drawImage(from, 0, 0, canvas.width, canvas.height);
  return canvas;
}

/** @param {Element} element @param {CSSStyleDeclaration} style */
const isHidden = (element, { visibility, display, opacity, clipPath }) =>
  visibility === 'hidden' ||
  display === 'none' ||
  opacity === '0' ||
  clipPath === 'inset(50%)' ||
  element.matches(controls) ||
  // The content of a closed `details` element is hidden, although it has boxes.
  element.matches('details:not([open]) > :not(summary)');

/**
 * Draws the visible content of `element` into `into`.
 * @param {Element} element
 * @param {SVGElement} into
 * @param {Picture} picture
 */
function copy(element, into, picture) {
  const style = getComputedStyle(element);
  if (isHidden(element, style)) return;
  const { left, top, right, bottom } = element.getBoundingClientRect();
  const [x, y] = [snapped(left), snapped(top)];
  const box = {
    ...{ x: x - picture.left, y: y - picture.top },
    ...{ width: snapped(right) - x, height: snapped(bottom) - y },
  };

  if (style.opacity !== '1') {
    const group = svgElement('g', { opacity: style.opacity });
    into.append(group);
    into = group;
  }
  if (!(element instanceof SVGElement)) into.append(...drawnBox(style, box));

  if (element instanceof HTMLCanvasElement) {
    if (!element.width || !element.height) return;
    // Set xlink:href as an attribute without a namespace. With its namespace, the browser would
    // load the image immediately, which the content security policy forbids.
    const pixels = style.imageRendering === 'pixelated' ? enlarged(element, box) : element;
    const image = svgElement('image', { ...box, 'xlink:href': pixels.toDataURL() });
    setAll(image, { preserveAspectRatio: 'none', 'image-rendering': style.imageRendering });
    into.append(image);
    return;
  }
  if (element instanceof SVGSVGElement) {
    const clone = /** @type {SVGSVGElement} */ (element.cloneNode(true));
    copyStyles(element, clone, picture.letters);
    // The enclosing group already has the opacity of this element.
    clone.removeAttribute('opacity');
    setAll(clone, { ...box, overflow: style.overflow });
    into.append(clone);
    return;
  }

  into.append(...drawnPseudo(element, '::before', box));
  const { scrollWidth, scrollHeight, clientWidth, clientHeight } = element;
  const isCut =
    style.overflow !== 'visible' &&
    style.display !== 'inline' &&
    (scrollWidth > clientWidth || scrollHeight > clientHeight);
  if (isCut) {
    const id = `picture-clip-${picture.clips++}`;
    const clip = svgElement('clipPath', { id });
    clip.append(svgElement('rect', box));
    const group = svgElement('g', { 'clip-path': `url(#${id})` });
    into.append(clip, group);
    into = group;
  }
  const line = style.textOverflow === 'ellipsis' && isCut ? right : Infinity;
  for (const node of element.childNodes) {
    if (node instanceof Element) copy(node, into, picture);
    else if (node instanceof Text) copyText(node, style, line, into, picture);
  }
  into.append(...drawnPseudo(element, '::after', box));
}

/**
 * Draws each line of a text at its position.
 * @param {Text} node
 * @param {CSSStyleDeclaration} style style of the enclosing element
 * @param {number} end x at which the text is truncated with an ellipsis
 * @param {SVGElement} into
 * @param {Picture} picture
 */
function copyText(node, style, end, into, picture) {
  if (!node.data.trim()) return;
  const context = canvasContext();
  context.font = fontOf(style);
  const { fontBoundingBoxAscent: ascent, fontBoundingBoxDescent: descent } =
    context.measureText('x');
  const ellipsis = context.measureText('…').width;

  /** @type {{ top: number, right: number, isCut?: boolean, characters: Placed[] }[]} */
  const lines = [];
  const range = document.createRange();
  for (const { segment, index } of graphemes.segment(node.data)) {
    range.setStart(node, index);
    range.setEnd(node, index + segment.length);
    const box = range.getClientRects()[0];
    if (!box?.width) continue;
    const { left, right, top, height } = box;
    if (!(Math.abs(top - (lines.at(-1)?.top ?? NaN)) < 2)) {
      lines.push({ top, right: left, characters: [] });
    }
    const line = lines[lines.length - 1];
    if (line.isCut) continue;
    line.isCut = right > end - ellipsis;
    // Browsers round ascent and descent to whole pixels when they lay out lines.
    const above =
      Math.round(ascent) + Math.round(descent) === Math.round(height)
        ? Math.round(ascent)
        : (height - ascent - descent) / 2 + ascent;
    line.characters.push({
      text: line.isCut ? '…' : segment,
      x: (line.isCut ? line.right : left) - picture.left,
      y: snapped(top + above) - picture.top,
    });
    line.right = Math.max(line.right, right);
  }
  for (const { characters, right } of lines) {
    if (characters.every(({ text }) => !text.trim())) continue;
    const fill = paint('fill', style.color);
    into.append(picture.letters.drawn(characters, style, fill));
    if (style.textDecorationLine === 'line-through') {
      const [{ x, y }] = characters;
      const height = Math.max(1, parseFloat(style.fontSize) / 10);
      const width = right - picture.left - x;
      into.append(
        svgElement('rect', { x, y: y - ascent / 3 - height / 2, width, height, ...fill }),
      );
    }
  }
}

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
