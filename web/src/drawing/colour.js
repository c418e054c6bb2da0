import { bisectCenter } from 'd3-array';

/**
 * Colours as pure functions of a value. A colour map is given by a few colours and parametrised so
 * that equal steps in value are equal distances in CIELAB. Zero has the paper's colour, so it is
 * invisible. Orange is positive and blue negative: this pair stays distinguishable with every
 * common colour vision deficiency.
 * @typedef {object} ColourMap
 * @property {boolean} signed true if the paper's colour is in the middle, false if it is at the
 *   start
 * @property {Uint8Array} bytes red, green and blue of each of `size` entries
 * @property {string[]} css the same entries as CSS colours
 *
 * @typedef {object} ColourScale
 * @property {ColourMap} map
 * @property {[number, number]} domain values of the first and the last entry
 * @property {[number, number]} [shown] the part of the domain that a legend shows, if not all. A
 *   signed map extends equally in both directions, although most values may have the same sign
 * @property {boolean} [beyond] whether some values are outside the domain
 * @property {boolean} [log] whether equal ratios rather than equal steps are equal distances in
 *   colour; both ends of the domain are then above zero
 */

/**
 * Number of entries in a colour map. It is odd, so that a signed map has exactly one entry for
 * zero.
 */
export const size = 511;

/** @typedef {{ l: number, a: number, b: number }} Lab a colour in CIELAB, under D50 as in CSS */

const kWhite = [0.96422, 1, 0.82521];

/** @param {string} colour #rrggbb @returns {Lab} */
export function labOf(colour) {
  const [red, green, blue] = [1, 3, 5].map((at) => {
    const part = parseInt(colour.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  const [x, y, z] = [
    0.4360747 * red + 0.3850649 * green + 0.1430804 * blue,
    0.2225045 * red + 0.7168786 * green + 0.0606169 * blue,
    0.0139322 * red + 0.0971045 * green + 0.7141733 * blue,
  ].map((part, i) => {
    const t = part / kWhite[i];
    return t > (6 / 29) ** 3 ? Math.cbrt(t) : t / (3 * (6 / 29) ** 2) + 4 / 29;
  });
  return { l: 116 * y - 16, a: 500 * (x - y), b: 200 * (y - z) };
}

/** The closest displayable colour as red, green and blue, 0 … 255. @param {Lab} colour */
export function rgbOf({ l, a, b }) {
  const f = (l + 16) / 116;
  const [x, y, z] = [f + a / 500, f, f - b / 200].map(
    (t, i) => kWhite[i] * (t > 6 / 29 ? t ** 3 : 3 * (6 / 29) ** 2 * (t - 4 / 29)),
  );
  return [
    3.1338561 * x - 1.6168667 * y - 0.4906146 * z,
    -0.9787684 * x + 1.9161415 * y + 0.033454 * z,
    0.0719453 * x - 0.2289914 * y + 1.4052427 * z,
  ].map((part) => {
    const curved = part <= 0.0031308 ? 12.92 * part : 1.055 * part ** (1 / 2.4) - 0.055;
    return Math.round(255 * Math.min(1, Math.max(0, curved)));
  });
}

/**
 * A uniform cubic B-spline that leads from the first number at 0 to the last number at 1. It equals
 * the spline of d3-interpolate, which is not used because its module also imports colour code.
 * @param {readonly number[]} values
 */
export function splineOf(values) {
  const spans = values.length - 1;
  return (/** @type {number} */ t) => {
    const span = Math.min(Math.floor(t * spans), spans - 1);
    const [from, to] = [values[span], values[span + 1]];
    // The spline continues straight at both ends.
    const before = span > 0 ? values[span - 1] : 2 * from - to;
    const after = span < spans - 1 ? values[span + 2] : 2 * to - from;
    const u = (t - span / spans) * spans;
    const [square, cube] = [u * u, u * u * u];
    return (
      ((1 - 3 * u + 3 * square - cube) * before +
        (4 - 6 * square + 3 * cube) * from +
        (1 + 3 * u + 3 * square - 3 * cube) * to +
        cube * after) /
      6
    );
  };
}

/**
 * A smooth path through CIELAB along `stops`, parametrised by length: `at` gives the colour at a
 * distance from its start.
 * @param {string[]} stops
 */
function measuredPath(stops) {
  const colours = stops.map(labOf);
  const [l, a, b] = [
    splineOf(colours.map((colour) => colour.l)),
    splineOf(colours.map((colour) => colour.a)),
    splineOf(colours.map((colour) => colour.b)),
  ];
  const samples = Array.from({ length: 2001 }, (_, i) => {
    const t = i / 2000;
    return { l: l(t), a: a(t), b: b(t) };
  });
  const distances = [0];
  for (let i = 1; i < samples.length; i++) {
    const [p, q] = [samples[i - 1], samples[i]];
    distances.push(distances[i - 1] + Math.hypot(p.l - q.l, p.a - q.a, p.b - q.b));
  }
  return {
    length: distances[distances.length - 1],
    at: (/** @type {number} */ distance) =>
      samples[Math.min(samples.length - 1, bisectCenter(distances, distance))],
  };
}

/**
 * @param {string[]} positive colours from the paper's colour outwards
 * @param {string[]} [negative] colours from the paper's colour outwards, for a signed map
 * @returns {ColourMap}
 */
function colourMap(positive, negative) {
  const arms = [positive, negative ?? []].filter(({ length }) => length).map(measuredPath);
  // Cut both paths of colours to the length of the shorter path, so that both signs look equally
  // strong.
  const length = Math.min(...arms.map((arm) => arm.length));
  const count = negative ? (size + 1) / 2 : size;
  const [up, down] = arms.map((arm) =>
    Array.from({ length: count }, (_, i) => arm.at((length * i) / (count - 1))),
  );
  const colours = down ? [...down.reverse(), ...up.slice(1)] : up;
  const bytes = new Uint8Array(3 * size);
  const css = colours.map((colour, i) => {
    const rgb = rgbOf(colour);
    bytes.set(rgb, 3 * i);
    return `rgb(${rgb.join(', ')})`;
  });
  return { signed: negative !== undefined, bytes, css };
}

const maps = {
  light: {
    signed: colourMap(
      ['#fdfcf9', '#f7c592', '#dd7a24', '#903e09'],
      ['#fdfcf9', '#9fc6ec', '#1f7ad0', '#08459a'],
    ),
    weights: colourMap(['#fdfcf9', '#f8d8a6', '#ea9a4a', '#c4551c', '#82260f', '#3d0d0a']),
  },
  dark: {
    signed: colourMap(
      ['#161618', '#5c3114', '#c06a20', '#fbb974'],
      ['#161618', '#0b3a6b', '#1878d6', '#86caff'],
    ),
    weights: colourMap(['#161618', '#4f1d10', '#9d3b13', '#dd7a2c', '#f5c277', '#fff4d6']),
  },
};

/** @param {boolean} dark */
export function colourMaps(dark) {
  return dark ? maps.dark : maps.light;
}

/** Number of colours per unit of the value, or of its logarithm. @param {ColourScale} scale */
const entriesPerStep = ({ domain: [low, high], log }) =>
  high > low ? (size - 1) / (log ? Math.log(high / low) : high - low) : 0;

/**
 * The colour map's entry for the low end of the domain. If all values are 0 in a signed map, it is
 * the middle entry.
 * @param {ColourScale} scale
 */
const entryOfLow = ({ map, domain: [low, high] }) =>
  map.signed && !(high > low) ? (size - 1) / 2 : 0;

/**
 * The entry nearest to a position, which is measured in entries from the start of the colour map.
 * @param {number} place
 */
const nearest = (place) => (place > 0 ? (place < size - 1 ? (place + 0.5) | 0 : size - 1) : 0);

/**
 * The colour map's entry for a value. Values outside the domain use the nearest end.
 * @param {ColourScale} scale
 * @param {number} value
 */
export function colourIndex(scale, value) {
  const [low] = scale.domain;
  if (!scale.log) return nearest((value - low) * entriesPerStep(scale) + entryOfLow(scale));
  // For a value at or below zero, the logarithm is either below the low end or NaN.
  return value > low ? nearest(Math.log(value / low) * entriesPerStep(scale)) : 0;
}

/** @type {WeakMap<ColourMap, Uint32Array>} */
const packed = new WeakMap();

/** Each entry of a colour map as the four bytes of a pixel. @param {ColourMap} map */
function packedColours(map) {
  let colours = packed.get(map);
  if (!colours) {
    const bytes = new Uint8Array(4 * size).fill(255);
    for (let i = 0; i < size; i++) bytes.set(map.bytes.subarray(3 * i, 3 * i + 3), 4 * i);
    packed.set(map, (colours = new Uint32Array(bytes.buffer)));
  }
  return colours;
}

/**
 * Converts many values to colours. The tight loop finishes within a frame even for a quarter of a
 * million values.
 * @param {ColourScale} scale
 * @param {Float32Array} values
 * @param {Uint32Array} pixels at least as many as values
 */
export function colourPixels(scale, values, pixels) {
  const colours = packedColours(scale.map);
  const { length } = values;
  if (scale.log) {
    for (let i = 0; i < length; i++) pixels[i] = colours[colourIndex(scale, values[i])];
    return;
  }
  const [low] = scale.domain;
  const [perStep, start] = [entriesPerStep(scale), entryOfLow(scale)];
  for (let i = 0; i < length; i++)
    pixels[i] = colours[nearest((values[i] - low) * perStep + start)];
}

/** @param {ColourScale} scale @param {number} value */
export function colourOf(scale, value) {
  return scale.map.css[colourIndex(scale, value)];
}
