// Copies elements of the page into an SVG. Canvases become images, SVGs are copied with their
// computed styles, boxes are drawn, and text becomes outlines.

import { graphemes } from '../core/tokens.js';
import {
  canvasContext,
  drawnBox,
  drawnPseudo,
  paint,
  setAll,
  snapped,
  svgElement,
} from './pictureBoxes.js';
import { fontOf, outlined } from './pictureText.js';

/** @import { Letters, Placed } from './pictureText.js' */

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
export function copy(element, into, picture) {
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
    // When a browser lays out a line, it rounds ascent and descent to whole pixels.
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
