// A figure as one SVG. Canvases become images, SVGs are copied with their computed styles, boxes are
// drawn, and text stays text, in fonts that go along.

import { creditOf } from './credit.js';
import { canvasContext, drawnBox, drawnPseudo, paint, setAll, svgElement } from './pictureBoxes.js';
import { familiesOf, PictureFonts } from './pictureFonts.js';

/**
 * @typedef {{ left: number, top: number, fonts: PictureFonts, clips: number, line?: Line }} Picture where it
 *   begins in the window, and the last line of text in it
 * @typedef {{ element: SVGElement, anchor: string, left: number, right: number, y: number }} Line left, right
 *   and y are those of what it ends with
 */

/** What only the page can do has no place in a picture. */
const controls =
  'button.link, .button, button:has(> svg), input, select, textarea, fieldset, [data-hint], [data-control]';

const inherited = [
  ...['fill', 'stroke', 'stroke-width', 'stroke-dasharray', 'stroke-linecap', 'stroke-linejoin'],
  ...['font-family', 'font-size', 'font-style', 'font-weight', 'letter-spacing', 'text-anchor'],
  ...['paint-order', 'visibility', 'shape-rendering', 'font-variant-numeric'],
];
/** With what they are where nothing is said. */
const others = Object.entries({
  ...{ opacity: '1', 'mix-blend-mode': 'normal', 'dominant-baseline': 'auto' },
  ...{ 'stop-color': 'rgb(0, 0, 0)', 'stop-opacity': '1', 'vector-effect': 'none' },
});
const paints = /** @type {const} */ (['fill', 'stroke', 'stop-color']);
/** These are no attributes of SVG. */
const inStyle = new Set(['font-variant-numeric', 'mix-blend-mode']);

/**
 * @param {Element} from
 * @param {Element} to
 * @param {PictureFonts} fonts
 * @param {CSSStyleDeclaration} [outer] of the element around it
 */
function copyStyles(from, to, fonts, outer) {
  const style = getComputedStyle(from);
  for (const { name } of [...to.attributes]) {
    if (/^(?:class|style|role|tabindex|aria-.*|data-.*)$/.test(name)) to.removeAttribute(name);
  }
  const isNew = (/** @type {string} */ name) =>
    !outer || style.getPropertyValue(name) !== outer.getPropertyValue(name);
  const css = [];
  for (const name of inherited) {
    const value = style.getPropertyValue(name);
    const opacity = name === 'fill' || name === 'stroke' ? `${name}-opacity` : name;
    if (!value || !(isNew(name) || isNew(opacity))) continue;
    if (inStyle.has(name)) css.push(`${name}:${value}`);
    else to.setAttribute(name, name === 'font-family' ? familiesOf(value) : value);
  }
  for (const [name, usual] of others) {
    const value = style.getPropertyValue(name);
    to.removeAttribute(name);
    if (!value || value === usual) continue;
    if (inStyle.has(name)) css.push(`${name}:${value}`);
    else to.setAttribute(name, value);
  }
  for (const name of paints) {
    if (!to.hasAttribute(name)) continue;
    const opacity = name === 'stop-color' ? 'stop-opacity' : `${name}-opacity`;
    to.removeAttribute(opacity);
    const css = to.getAttribute(name) ?? '';
    setAll(to, { [opacity]: 1, ...paint(name, css, Number(style.getPropertyValue(opacity))) });
  }
  // As an attribute the content security policy would forbid it.
  if (css.length) to.setAttribute('data-style', css.join(';'));
  if (from instanceof SVGTextContentElement) fonts.add(style);
  if (from instanceof SVGTextElement) keepLength(to, from.getComputedTextLength());
  const pairs = [...from.children].map((child, i) => [child, to.children[i]]);
  for (const [child, copy] of pairs) {
    if (getComputedStyle(child).display === 'none') copy.remove();
    else copyStyles(child, copy, fonts, style);
  }
}

/** A text is as long in a program that has another font for it. @param {Element} text @param {number} length */
function keepLength(text, length) {
  if (length > 0) {
    setAll(text, { textLength: Math.round(100 * length) / 100, lengthAdjust: 'spacingAndGlyphs' });
  }
}

/**
 * Cells as large as they are seen, twice over: many programs smooth what they enlarge, whatever it asks for.
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
  element.matches(controls);

/** Where the screen draws an edge or a baseline: on whole pixels of its own. @param {number} place */
const snapped = (place) => Math.round(place * devicePixelRatio) / devicePixelRatio;

/**
 * Draws what `element` shows into `into`.
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
    // With `href` the browser would load it at once, which the content security policy forbids.
    const pixels = style.imageRendering === 'pixelated' ? enlarged(element, box) : element;
    const image = svgElement('image', { ...box, 'data-href': pixels.toDataURL() });
    setAll(image, { preserveAspectRatio: 'none', 'image-rendering': style.imageRendering });
    into.append(image);
    return;
  }
  if (element instanceof SVGSVGElement) {
    const clone = /** @type {SVGSVGElement} */ (element.cloneNode(true));
    copyStyles(element, clone, picture.fonts);
    // Of the whole picture; its own opacity is that of the group.
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
 * Draws each line of a text at its place.
 * @param {Text} node
 * @param {CSSStyleDeclaration} style of the element that it is in
 * @param {number} end where it is cut, with an ellipsis
 * @param {SVGElement} into
 * @param {Picture} picture
 */
function copyText(node, style, end, into, picture) {
  if (!node.data.trim()) return;
  const context = canvasContext();
  context.font = `${style.fontStyle} ${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
  const { fontBoundingBoxAscent: ascent, fontBoundingBoxDescent: descent } =
    context.measureText('x');
  const ellipsis = context.measureText('…').width;
  picture.fonts.add(style);

  /** @type {{ text: string, left: number, right: number, top: number, height: number }[]} */
  const lines = [];
  const range = document.createRange();
  for (let i = 0; i < node.data.length; i++) {
    range.setStart(node, i);
    range.setEnd(node, i + 1);
    const box = range.getClientRects()[0];
    if (!box?.width) continue;
    const line = lines.at(-1);
    if (!line || Math.abs(box.top - line.top) >= 2) {
      const { left, right, top, height } = box;
      lines.push({ text: node.data[i], left, right, top, height });
    } else if (box.right <= end - ellipsis || end === Infinity) {
      line.text += node.data[i];
      line.left = Math.min(line.left, box.left);
      line.right = Math.max(line.right, box.right);
    } else if (!line.text.endsWith('…')) {
      line.text += '…';
      line.right += ellipsis;
    }
  }
  for (const { text, left, right, top, height } of lines) {
    if (!text.trim()) continue;
    // Browsers round both to whole pixels, where they lay out lines.
    const above =
      Math.round(ascent) + Math.round(descent) === Math.round(height)
        ? Math.round(ascent)
        : (height - ascent - descent) / 2 + ascent;
    const x = left - picture.left;
    const y = snapped(top + above) - picture.top;
    let { line } = picture;
    const gap = line ? x - line.right : NaN;
    // What ends at what is beside it may begin further left, but not outside of the picture.
    const anchor = x > 60 && /right|end/.test(style.textAlign) ? 'end' : 'start';
    // What goes on with a line, in other letters, follows it wherever that ends in another font.
    const goesOn =
      line?.element === into.lastChild &&
      line.anchor === anchor &&
      x > line.left - 1 &&
      gap < 14 &&
      Math.abs(y - line.y) < 0.9 * height;
    if (!line || !goesOn) {
      const element = svgElement('text', { x, y, 'text-anchor': anchor, 'xml:space': 'preserve' });
      into.append(element);
      picture.line = line = { element, anchor, left: x, right: x, y };
    }
    const run = svgElement('tspan', {
      ...paint('fill', style.color),
      ...{ 'font-family': familiesOf(style.fontFamily), 'font-size': style.fontSize },
      ...{ 'font-style': style.fontStyle, 'font-weight': style.fontWeight },
      'letter-spacing': style.letterSpacing,
      'text-decoration': style.textDecorationLine === 'line-through' ? 'line-through' : 'none',
      'data-style': `font-variant-numeric:${style.fontVariantNumeric}`,
    });
    if (goesOn && (Math.abs(gap) > 0.1 || y !== line.y)) setAll(run, { dx: gap, dy: y - line.y });
    else keepLength(run, right - left);
    run.textContent = text;
    line.element.append(run);
    Object.assign(line, { left: x, right: right - picture.left, y });
    if (anchor === 'end') setAll(line.element, { x: line.right });
  }
}

/**
 * @typedef {object} About
 * @property {HTMLElement} heading the figure's title, drawn above it
 * @property {string} description for who does not see it
 * @property {HTMLElement} figure that it is of: its equation and its settings stand below
 * @property {import('./credit.js').Around} around
 * @property {boolean} paper whether it has the page's background
 */

/** @param {HTMLElement} element the figure @param {About} about */
export async function toSvg(element, about) {
  const figure = /** @type {HTMLElement} */ (element.closest('figure') ?? element);
  // What floats over the picture stands below it; before the next frame all is as it was.
  figure.dataset.still = '';
  const { svg, styles, fonts, width, height } = drawn(element, about);
  delete figure.dataset.still;

  styles.textContent = await fonts.styleSheet();
  const text = new XMLSerializer()
    .serializeToString(svg)
    .replaceAll(/ data-(href|style)="/g, ' $1="')
    .replaceAll('<!---->', '');
  return { text, width, height };
}

const margin = 16;
const titleHeight = 28;
const creditHeight = 28;
const lineHeight = 16;

/** Parts in lines of at most this width. @param {readonly string[]} parts @param {string} font @param {number} width */
function linesOf(parts, font, width) {
  const context = canvasContext();
  context.font = font;
  /** @type {string[]} */
  const lines = [];
  for (const part of parts) {
    const longer = [...lines.slice(-1), part].join(' · ');
    const fits = lines.length > 0 && context.measureText(longer).width <= width;
    lines.splice(fits ? -1 : lines.length, 1, fits ? longer : part);
  }
  return lines;
}

/**
 * The equation that belongs to a picture, if all of it is in sight. A part of a figure has none.
 * @param {HTMLElement} figure
 * @param {HTMLElement} picture
 */
function equationOf(figure, picture) {
  const equation = picture.matches('.picture')
    ? /** @type {HTMLElement | null} */ (figure.querySelector('[data-equation] > *'))
    : null;
  return equation && equation.scrollWidth <= equation.clientWidth + 1 ? equation : null;
}

/** @param {HTMLElement} element @param {About} about */
function drawn(element, { heading, figure, around, description, paper }) {
  const box = element.getBoundingClientRect();
  const fonts = new PictureFonts();
  const style = getComputedStyle(heading);
  const width = Math.ceil(box.width) + 2 * margin;
  const equation = equationOf(figure, element);
  const between = equation ? Math.ceil(equation.getBoundingClientRect().height) + 2 * margin : 0;
  const credit = creditOf(figure, around);
  const lines = linesOf(credit, `12px ${style.fontFamily}`, width - 2 * margin);
  const foot = between + creditHeight + (lines.length - 1) * lineHeight;
  const height = titleHeight + Math.ceil(box.height) + foot + 2 * margin;
  const svg = svgElement('svg', { width, height, viewBox: `0 0 ${width} ${height}` });
  const name = svgElement('title', {});
  name.textContent = heading.textContent;
  const details = svgElement('desc', {});
  details.textContent = description;
  const styles = svgElement('style', {});
  svg.append(name, details, styles);
  const page = getComputedStyle(document.documentElement);
  if (paper) {
    svg.append(svgElement('rect', { width, height, ...paint('fill', page.backgroundColor) }));
  }

  fonts.add(style);
  const family = familiesOf(style.fontFamily);
  const title = svgElement('text', {
    ...{ x: margin, y: margin + 15, ...paint('fill', page.color) },
    ...{ 'font-family': family, 'font-size': style.fontSize, 'font-weight': style.fontWeight },
  });
  title.textContent = heading.textContent;
  svg.append(title);
  lines.forEach((line, i) => {
    const text = svgElement('text', {
      ...{ x: margin, y: height - margin - (lines.length - 1 - i) * lineHeight },
      ...{ ...paint('fill', page.color), 'fill-opacity': 0.7 },
      ...{ 'font-family': family, 'font-size': 12 },
    });
    text.textContent = line;
    svg.append(text);
  });
  fonts.add({ fontFamily: style.fontFamily, fontStyle: style.fontStyle, fontWeight: '400' });
  // Whole pixels stay whole, so that lines are as sharp as on the screen.
  const [left, top] = [Math.floor(box.left) - margin, Math.floor(box.top) - margin - titleHeight];
  const picture = { left, top, fonts, clips: 0 };
  copy(element, svg, picture);
  if (equation) {
    const at = equation.getBoundingClientRect();
    picture.left = Math.floor(at.left) - margin;
    picture.top = Math.floor(at.top) - (height - foot);
    copy(equation, svg, picture);
  }
  return { svg, styles, fonts, width, height };
}

/**
 * @param {HTMLElement} element the figure
 * @param {About} about
 * @returns {Promise<Blob>}
 */
export async function toPng(element, about) {
  const { text, width, height } = await toSvg(element, about);
  const url = URL.createObjectURL(new Blob([text], { type: 'image/svg+xml' }));
  try {
    const image = new Image();
    image.src = url;
    await image.decode();
    // Sharp on paper, on any screen and, if it is narrow, on a slide; within the sizes that browsers allow.
    const ratio = Math.min(Math.max(2, 1600 / width), 8000 / Math.max(width, height));
    const canvas = new OffscreenCanvas(Math.round(width * ratio), Math.round(height * ratio));
    const context = /** @type {OffscreenCanvasRenderingContext2D} */ (canvas.getContext('2d'));
    context.drawImage(image, 0, 0, canvas.width, canvas.height);
    return await canvas.convertToBlob({ type: 'image/png' });
  } finally {
    URL.revokeObjectURL(url);
  }
}
