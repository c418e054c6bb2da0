// A figure as one SVG. Canvases become images, SVGs are copied with their computed styles, and text
// stays text.

const svgNamespace = 'http://www.w3.org/2000/svg';

const copied = [
  ...['fill', 'fill-opacity', 'stroke', 'stroke-width', 'stroke-opacity', 'stroke-dasharray'],
  ...['stroke-linecap', 'stroke-linejoin', 'opacity', 'font-family', 'font-size', 'font-style'],
  ...['font-weight', 'letter-spacing', 'text-anchor', 'dominant-baseline', 'paint-order'],
  ...['visibility', 'stop-color', 'stop-opacity', 'mix-blend-mode', 'shape-rendering'],
];

/** @param {Element} from @param {Element} to */
function copyStyles(from, to) {
  const style = getComputedStyle(from);
  for (const name of copied) {
    const value = style.getPropertyValue(name);
    if (value) to.setAttribute(name, value.replaceAll('"', "'"));
  }
  to.removeAttribute('class');
  to.removeAttribute('style');
  [...from.children].forEach((child, i) => copyStyles(child, to.children[i]));
}

/** @param {Element} element */
function isHidden(element) {
  // A picture has no controls.
  if (element.matches('button.link, fieldset, [data-hint]')) return true;
  const { visibility, display, opacity, clipPath } = getComputedStyle(element);
  return (
    visibility === 'hidden' || display === 'none' || opacity === '0' || clipPath === 'inset(50%)'
  );
}

/**
 * Draws what `element` shows into `svg`, in pixels from the point (left, top) of the window.
 * @param {Element} element
 * @param {SVGElement} svg
 * @param {number} left
 * @param {number} top
 */
function copy(element, svg, left, top) {
  if (isHidden(element)) return;
  const box = element.getBoundingClientRect();
  const [x, y] = [box.left - left, box.top - top];

  if (element instanceof HTMLCanvasElement) {
    if (!element.width || !element.height) return;
    const image = document.createElementNS(svgNamespace, 'image');
    // With `href` the browser would load it at once, which the content security policy forbids.
    const later = { 'data-href': element.toDataURL() };
    setAll(image, { x, y, width: box.width, height: box.height, ...later });
    image.setAttribute('preserveAspectRatio', 'none');
    image.setAttribute('image-rendering', getComputedStyle(element).imageRendering);
    svg.append(image);
    return;
  }
  if (element instanceof SVGSVGElement) {
    const clone = /** @type {SVGSVGElement} */ (element.cloneNode(true));
    copyStyles(element, clone);
    setAll(clone, { x, y, width: box.width, height: box.height });
    clone.setAttribute('overflow', getComputedStyle(element).overflow);
    svg.append(clone);
    return;
  }

  const style = getComputedStyle(element);
  const { backgroundColor, backgroundImage } = style;
  if (!/^rgba\(.*, 0\)$|^transparent$/.test(backgroundColor)) {
    const rect = document.createElementNS(svgNamespace, 'rect');
    setAll(rect, { x, y, width: box.width, height: box.height, fill: backgroundColor });
    const radius = parseFloat(style.borderTopLeftRadius);
    if (radius) rect.setAttribute('rx', String(Math.min(radius, box.height / 2)));
    svg.append(rect);
  }
  if (backgroundImage.startsWith('linear-gradient(to right')) {
    copyGradient(backgroundImage, svg, { x, y, width: box.width, height: box.height });
  }
  for (const node of element.childNodes) {
    if (node instanceof Element) copy(node, svg, left, top);
    else if (node instanceof Text) copyText(node, style, svg, left, top);
  }
}

/** A legend's bar. @param {string} css @param {SVGElement} svg @param {Record<string, number>} box */
function copyGradient(css, svg, box) {
  const colours = css.match(/rgba?\([^)]*\)/g) ?? [];
  const gradient = document.createElementNS(svgNamespace, 'linearGradient');
  const id = `gradient-${svg.querySelectorAll('linearGradient').length}-${Math.round(box.x)}-${Math.round(box.y)}`;
  gradient.id = id;
  colours.forEach((colour, i) => {
    const stop = document.createElementNS(svgNamespace, 'stop');
    setAll(stop, { offset: i / (colours.length - 1), 'stop-color': colour });
    gradient.append(stop);
  });
  const rect = document.createElementNS(svgNamespace, 'rect');
  setAll(rect, { ...box, fill: `url(#${id})` });
  svg.append(gradient, rect);
}

/**
 * Draws each line of a text at its place.
 * @param {Text} node
 * @param {CSSStyleDeclaration} style
 * @param {SVGElement} svg
 * @param {number} left
 * @param {number} top
 */
function copyText(node, style, svg, left, top) {
  if (!node.data.trim()) return;
  const range = document.createRange();
  const context = measuring();
  context.font = `${style.fontStyle} ${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
  const { fontBoundingBoxAscent: ascent, fontBoundingBoxDescent: descent } =
    context.measureText('x');
  /** @type {{ text: string, box: DOMRect } | null} */
  let line = null;
  const write = () => {
    if (!line?.text.trim()) return;
    const text = document.createElementNS(svgNamespace, 'text');
    const { box } = line;
    setAll(text, {
      x: box.left - left,
      y: box.top - top + (box.height - ascent - descent) / 2 + ascent,
      fill: style.color,
      'font-family': style.fontFamily.replaceAll('"', "'"),
      'font-size': style.fontSize,
      'font-style': style.fontStyle,
      'font-weight': style.fontWeight,
      'xml:space': 'preserve',
    });
    text.textContent = line.text;
    svg.append(text);
  };
  for (let i = 0; i < node.data.length; i++) {
    range.setStart(node, i);
    range.setEnd(node, i + 1);
    const box = range.getClientRects()[0];
    if (!box?.width) continue;
    if (line && Math.abs(box.top - line.box.top) < 2) {
      line.text += node.data[i];
    } else {
      write();
      line = { text: node.data[i], box };
    }
  }
  write();
}

/** @type {CanvasRenderingContext2D | null} */
let context = null;
const measuring = () =>
  (context ??= /** @type {CanvasRenderingContext2D} */ (
    document.createElement('canvas').getContext('2d')
  ));

/** @param {Element} element @param {Record<string, string | number>} attributes */
function setAll(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
}

/**
 * @param {HTMLElement} element the figure
 * @param {HTMLElement} heading its title, drawn above it
 * @param {string} description
 * @param {string} [fonts] a style sheet with the fonts in it
 */
export function toSvg(element, heading, description, fonts = '') {
  const box = element.getBoundingClientRect();
  const margin = 16;
  const titleHeight = 28;
  const [width, height] = [box.width + 2 * margin, titleHeight + box.height + 2 * margin];
  const svg = document.createElementNS(svgNamespace, 'svg');
  setAll(svg, { xmlns: svgNamespace, width, height, viewBox: `0 0 ${width} ${height}` });
  const name = document.createElementNS(svgNamespace, 'title');
  name.textContent = heading.textContent;
  const details = document.createElementNS(svgNamespace, 'desc');
  details.textContent = description;
  const paper = document.createElementNS(svgNamespace, 'rect');
  const fill = getComputedStyle(document.documentElement).backgroundColor;
  setAll(paper, { width, height, fill });
  svg.append(name, details, paper);
  if (fonts) {
    const style = document.createElementNS(svgNamespace, 'style');
    style.textContent = fonts;
    svg.append(style);
  }
  const title = document.createElementNS(svgNamespace, 'text');
  const { color, fontFamily, fontSize, fontWeight } = getComputedStyle(heading);
  setAll(title, {
    ...{ x: margin, y: margin + 15, fill: color, 'font-family': fontFamily.replaceAll('"', "'") },
    ...{ 'font-size': fontSize, 'font-weight': fontWeight },
  });
  title.textContent = heading.textContent;
  svg.append(title);
  copy(element, svg, box.left - margin, box.top - margin - titleHeight);
  const text = new XMLSerializer()
    .serializeToString(svg)
    .replaceAll(' data-href="', ' href="')
    .replaceAll('<!---->', '');
  return { text, width, height };
}

/** The page's fonts, with their files inlined, because an image may not fetch any. */
async function fontsInside() {
  const faces = [...document.styleSheets]
    .flatMap((sheet) => [...sheet.cssRules])
    .filter((rule) => rule instanceof CSSFontFaceRule)
    .filter(({ style }) => {
      const range = style.getPropertyValue('unicode-range');
      return /Source/.test(style.getPropertyValue('font-family')) && /U\+0+-0*FF/i.test(range);
    });
  const rules = await Promise.all(
    faces.map(async ({ style, parentStyleSheet }) => {
      const [, url] = /url\("?([^")]*)/.exec(style.getPropertyValue('src')) ?? [];
      const response = await fetch(new URL(url, parentStyleSheet?.href ?? location.href));
      const bytes = new Uint8Array(await response.arrayBuffer());
      let binary = '';
      for (const byte of bytes) binary += String.fromCharCode(byte);
      const family = style.getPropertyValue('font-family');
      const weight = style.getPropertyValue('font-weight');
      const slant = style.getPropertyValue('font-style') || 'normal';
      return `@font-face{font-family:${family};font-weight:${weight};font-style:${slant};src:url(data:font/woff2;base64,${btoa(binary)}) format('woff2')}`;
    }),
  );
  return rules.join('\n');
}

/**
 * @param {HTMLElement} element the figure
 * @param {HTMLElement} heading its title, drawn above it
 * @returns {Promise<Blob>}
 */
export async function toPng(element, heading) {
  const { text, width, height } = toSvg(element, heading, '', await fontsInside());
  const url = URL.createObjectURL(new Blob([text], { type: 'image/svg+xml' }));
  try {
    const image = new Image();
    image.src = url;
    await image.decode();
    // Sharp on paper and on any screen, and within the sizes that browsers allow.
    const ratio = Math.min(2, 8000 / Math.max(width, height));
    const canvas = new OffscreenCanvas(Math.round(width * ratio), Math.round(height * ratio));
    const context = /** @type {OffscreenCanvasRenderingContext2D} */ (canvas.getContext('2d'));
    context.drawImage(image, 0, 0, canvas.width, canvas.height);
    return await canvas.convertToBlob({ type: 'image/png' });
  } finally {
    URL.revokeObjectURL(url);
  }
}
