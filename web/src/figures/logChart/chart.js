/**
 * @typedef {object} Series
 * @property {string} id
 * @property {string} name
 * @property {{ x: number, y: number }[]} points  ascending in x, all above 0
 * @property {import('../../measurement/powerLaw.js').PowerLaw | null} law
 */

/**
 * The powers of ten that enclose all y values.
 * @param {Series[]} series
 * @param {[number, number]} empty  the domain of an empty chart
 * @returns {[number, number]}
 */
export function domainOf(series, empty) {
  const ys = series.flatMap(({ points }) => points.map(({ y }) => y));
  if (ys.length === 0) return empty;
  const low = 10 ** Math.floor(Math.log10(Math.min(...ys)) + 1e-9);
  const high = 10 ** Math.ceil(Math.log10(Math.max(...ys)) - 1e-9);
  return [low, high > low ? high : 10 * low];
}

/** @param {[number, number]} domain */
export function powersOfTen([low, high]) {
  const first = Math.round(Math.log10(low));
  const last = Math.round(Math.log10(high));
  return Array.from({ length: last - first + 1 }, (_, i) => 10 ** (first + i));
}

/**
 * Moves labels apart by the smallest amounts that leave a distance of at least `gap`, within [0,
 * height].
 * @param {number[]} wanted
 * @param {number} gap
 * @param {number} height
 */
export function spread(wanted, gap, height) {
  const order = wanted.map((_, i) => i).sort((a, b) => wanted[a] - wanted[b]);
  const places = [...wanted];
  let least = 0;
  for (const i of order) {
    places[i] = Math.max(least, places[i]);
    least = places[i] + gap;
  }
  let most = height;
  for (const i of order.toReversed()) {
    places[i] = Math.min(most, places[i]);
    most = places[i] - gap;
  }
  return places;
}

/** Formats a time in a suitable unit: 83 µs, 1.24 ms, 2.1 s. @param {number} seconds */
export function timeLabel(seconds) {
  const [value, unit] =
    seconds < 1e-3 ? [seconds * 1e6, 'µs'] : seconds < 1 ? [seconds * 1e3, 'ms'] : [seconds, 's'];
  const digits = value >= 100 ? 0 : value >= 10 ? 1 : 2;
  return `${digits === 0 ? Math.round(value) : Number(value.toFixed(digits))} ${unit}`;
}

/**
 * The point nearest to the pointer, over all series.
 * @param {Series[]} series
 * @param {number[]} xs  x of the columns
 * @param {(point: { x: number, y: number }) => { x: number, y: number }} place maps a point to
 *   pixels
 * @param {{ x: number, y: number }} pointer
 * @returns {import('../../drawing/selection.svelte.js').Cell | null}
 */
export function nearest(series, xs, place, pointer) {
  let best = null;
  let least = Infinity;
  series.forEach(({ points }, row) => {
    for (const point of points) {
      const { x, y } = place(point);
      const distance = Math.hypot(x - pointer.x, y - pointer.y);
      if (distance < least) {
        least = distance;
        best = { row, column: xs.indexOf(point.x) };
      }
    }
  });
  return best;
}
