/** @typedef {import('../../core/arcs.js').Arc} Arc */

/** Largest distance in CSS pixels between the pointer and an arc. */
const reach = 12;
/** If several arcs are within this distance, the strongest one is found. */
const close = 4;

/**
 * Finds the arc under the pointer. All arcs are cubic curves from (0, y of the query) to (width, y
 * of the key). They leave and arrive horizontally, as `Arcs` draws them, so all curves have the
 * same parameter at the same x.
 * @param {{ x: number, y: number }} point
 * @param {readonly Arc[]} arcs
 * @param {{ width: number, step: number }} size step: distance between two tokens
 * @returns {Arc | null}
 */
export function arcAt({ x, y }, arcs, { width, step }) {
  const across = Math.min(1, Math.max(0, x / width));
  let [low, high] = [0, 1];
  for (let i = 0; i < 24; i++) {
    const middle = (low + high) / 2;
    if (1.5 * middle * (1 - middle) + middle ** 3 < across) low = middle;
    else high = middle;
  }
  const share = low * low * (3 - 2 * low);
  const slope = (6 * low * (1 - low)) / ((1.5 - 3 * low + 3 * low * low) * width);
  const found = arcs
    .map((arc) => {
      const rise = (arc.key - arc.query) * step;
      const gap = y - (arc.query + 0.5) * step - rise * share;
      return { arc, distance: Math.abs(gap) / Math.hypot(1, rise * slope) };
    })
    .filter(({ distance }) => distance <= reach)
    .sort((a, b) => a.distance - b.distance);
  const nearest = found.filter(({ distance }) => distance <= close);
  return nearest.sort((a, b) => b.arc.weight - a.arc.weight)[0]?.arc ?? found[0]?.arc ?? null;
}
