// Draws HTML boxes as SVG: everything that CSS draws for an element except its content.

const svgNamespace = 'http://www.w3.org/2000/svg';

/**
 * @param {string} name
 * @param {Record<string, string | number>} attributes
 */
export function svgElement(name, attributes) {
  const element = document.createElementNS(svgNamespace, name);
  setAll(element, attributes);
  return element;
}

/** @param {Element} element @param {Record<string, string | number>} attributes */
export function setAll(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
}

/**
 * Rounds a position to device pixels, as the screen does for edges and baselines.
 * @param {number} place
 */
export const snapped = (place) => Math.round(place * devicePixelRatio) / devicePixelRatio;

/** @type {CanvasRenderingContext2D | null} */
let context = null;
export const canvasContext = () =>
  (context ??= /** @type {CanvasRenderingContext2D} */ (
    document.createElement('canvas').getContext('2d', { willReadFrequently: true })
  ));

/** @type {Map<string, { colour: string, alpha: number }>} */
const known = new Map();

/**
 * Converts a CSS colour to a form that any program that reads SVG understands.
 * @param {string} css
 */
function plain(css) {
  let found = known.get(css);
  if (!found) {
    const canvas = canvasContext();
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = css;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    // Read a partly transparent colour from the CSS, because the canvas stores it with fewer bits.
    const [, ...parts] = /^rgba\(([\d.]+), ([\d.]+), ([\d.]+), ([\d.]+)\)$/.exec(css) ?? [];
    const [red, green, blue, alpha] = parts.length ? parts.map(Number) : [r, g, b, a / 255];
    found = { colour: `rgb(${red}, ${green}, ${blue})`, alpha };
    known.set(css, found);
  }
  return found;
}

/**
 * Converts a CSS paint to SVG attributes. Values other than colours stay unchanged.
 * @param {'fill' | 'stroke' | 'stop-color'} name
 * @param {string} css
 * @param {number} [opacity] additional opacity
 */
export function paint(name, css, opacity = 1) {
  if (!css || css === 'none' || css.startsWith('url(')) {
    return { [name]: (css || 'none').replaceAll(/["']/g, '') };
  }
  const { colour, alpha } = plain(css);
  const whole = Math.round(1e4 * alpha * opacity) / 1e4;
  const strength = name === 'stop-color' ? 'stop-opacity' : `${name}-opacity`;
  return { [name]: colour, ...(whole < 1 && { [strength]: whole }) };
}

/** @param {string} css */
const isClear = (css) => plain(css).alpha === 0;

/** @typedef {{ x: number, y: number, width: number, height: number }} Box */

/** @param {Box} box @param {number} by */
const grown = ({ x, y, width, height }, by) => ({
  ...{ x: x - by, y: y - by },
  ...{ width: Math.max(0, width + 2 * by), height: Math.max(0, height + 2 * by) },
});

/**
 * The line around a box, centred `by` pixels outside its edge.
 * @param {Box} box @param {number} by @param {number} width @param {string} colour @param
 *   {number} radius
 */
const ring = (box, by, width, colour, radius) =>
  svgElement('rect', {
    ...{ ...grown(box, by), fill: 'none', 'stroke-width': width, ...paint('stroke', colour) },
    ...(radius && { rx: Math.max(0, radius + by) }),
  });

/**
 * The colours of a gradient and their positions from 0 to 1. Colours without a position are spread
 * evenly.
 * @param {string} css
 * @param {number} length length in pixels
 */
function stopsOf(css, length) {
  const colours = [...css.matchAll(/((?:rgba?|color)\([^)]*\))((?: [\d.]+(?:%|px))*)/g)];
  /** @type {{ colour: string, at: number }[]} */
  const stops = colours.flatMap(([, colour, places], i) => {
    const given = [...places.matchAll(/([\d.]+)(%|px)/g)].map(
      ([, value, unit]) => Number(value) / (unit === '%' ? 100 : length),
    );
    const end = i === 0 ? 0 : i === colours.length - 1 ? 1 : NaN;
    return (given.length ? given : [end]).map((at) => ({ colour, at }));
  });
  stops.forEach((stop, i) => {
    if (!Number.isNaN(stop.at)) return;
    const next = stops.findIndex(({ at }, j) => j > i && !Number.isNaN(at));
    const before = stops[i - 1].at;
    stop.at = before + (stops[next].at - before) / (next - i + 1);
  });
  return stops;
}

/**
 * A background of a single linear gradient that fills the box up to its borders.
 * @param {CSSStyleDeclaration} style
 * @param {Box} box
 */
function gradientOf({ backgroundImage }, { x, y, width, height }) {
  const [, repeating, direction] =
    /^(repeating-)?linear-gradient\((to right|[\d.]+deg),[^]*\)$/.exec(backgroundImage) ?? [];
  if (!direction || backgroundImage.split('gradient').length > 2) return null;
  const degrees = direction === 'to right' ? 90 : parseFloat(direction);
  const [right, down] = [Math.sin, (/** @type {number} */ a) => -Math.cos(a)].map((of) =>
    of((degrees * Math.PI) / 180),
  );
  // As in CSS, perpendiculars at the ends of the gradient line pass through corners of the box.
  const length = Math.abs(width * right) + Math.abs(height * down);
  const stops = stopsOf(backgroundImage, length);
  const used = repeating ? stops[stops.length - 1].at : 1;
  const start = [x + (width - right * length) / 2, y + (height - down * length) / 2];
  const gradient = svgElement('linearGradient', {
    ...{ id: `picture-gradient-${gradients++}`, gradientUnits: 'userSpaceOnUse' },
    ...{ x1: start[0], y1: start[1] },
    ...{ x2: start[0] + right * length * used, y2: start[1] + down * length * used },
    ...(repeating && { spreadMethod: 'repeat' }),
  });
  for (const { colour, at } of stops) {
    gradient.append(svgElement('stop', { offset: at / used, ...paint('stop-color', colour) }));
  }
  return gradient;
}

let gradients = 0;

/**
 * Draws a box's background, shadows without blur, borders and outline.
 * @param {CSSStyleDeclaration} style
 * @param {Box} box
 * @returns {SVGElement[]}
 */
export function drawnBox(style, box) {
  const found = [];
  const radius = Math.min(parseFloat(style.borderTopLeftRadius) || 0, box.height / 2);

  if (!isClear(style.backgroundColor)) {
    const fill = paint('fill', style.backgroundColor);
    found.push(svgElement('rect', { ...box, ...fill, ...(radius && { rx: radius }) }));
  }
  const [left, top, right, bottom] = [
    style.borderLeftWidth,
    style.borderTopWidth,
    style.borderRightWidth,
    style.borderBottomWidth,
  ].map(parseFloat);
  const fill = gradientOf(style, {
    ...{ x: box.x + left, y: box.y + top },
    ...{ width: box.width - left - right, height: box.height - top - bottom },
  });
  if (fill) {
    const rect = svgElement('rect', { ...box, fill: `url(#${fill.id})` });
    found.push(fill, rect);
  }

  const shadow = /((?:rgba?|color)\([^)]*\)) 0px 0px 0px ([\d.]+)px( inset)?/g;
  for (const [, colour, width, inset] of style.boxShadow.matchAll(shadow)) {
    const line = Number(width);
    if (!line || isClear(colour)) continue;
    // An inset shadow is a line inside the border; any other shadow is a line around the box.
    const by = inset ? -parseFloat(style.borderTopWidth) - line / 2 : line / 2;
    found.push(ring(box, by, line, colour, radius));
  }

  const sides = /** @type {const} */ (['Top', 'Right', 'Bottom', 'Left']).map((side) => ({
    side,
    width: style[`border${side}Style`] === 'none' ? 0 : parseFloat(style[`border${side}Width`]),
    colour: style[`border${side}Color`],
  }));
  const [first] = sides;
  if (sides.every(({ width, colour }) => width === first.width && colour === first.colour)) {
    if (first.width && !isClear(first.colour)) {
      found.push(ring(box, -first.width / 2, first.width, first.colour, radius));
    }
  } else {
    const { x, y, width: w, height: h } = box;
    for (const { side, width, colour } of sides) {
      if (!width || isClear(colour)) continue;
      const line = {
        Top: { x, y, width: w, height: width },
        Right: { x: x + w - width, y, width, height: h },
        Bottom: { x, y: y + h - width, width: w, height: width },
        Left: { x, y, width, height: h },
      }[side];
      found.push(svgElement('rect', { ...line, ...paint('fill', colour) }));
    }
  }

  const outline = parseFloat(style.outlineWidth);
  if (style.outlineStyle !== 'none' && outline && !isClear(style.outlineColor)) {
    const by = parseFloat(style.outlineOffset) + outline / 2;
    found.push(ring(box, by, outline, style.outlineColor, radius));
  }
  return found;
}

/**
 * Draws a ::before or ::after box that is positioned absolutely and has no text.
 * @param {Element} element
 * @param {'::before' | '::after'} which
 * @param {Box} box the element's box
 */
export function drawnPseudo(element, which, box) {
  const style = getComputedStyle(element, which);
  if (style.content !== '""' || style.position !== 'absolute' || style.display === 'none') {
    return [];
  }
  const own = getComputedStyle(element);
  const at = {
    x: box.x + parseFloat(own.borderLeftWidth) + parseFloat(style.left),
    y: box.y + parseFloat(own.borderTopWidth) + parseFloat(style.top),
    width: parseFloat(style.width),
    height: parseFloat(style.height),
  };
  const drawn = drawnBox(style, at);
  if (style.transform === 'none' || !drawn.length) return drawn;
  // CSS rotates and mirrors about the centre.
  const [x, y] = [at.x + at.width / 2, at.y + at.height / 2];
  const transform = `translate(${x} ${y}) ${style.transform} translate(${-x} ${-y})`;
  const group = svgElement('g', { transform });
  group.append(...drawn);
  return [group];
}
