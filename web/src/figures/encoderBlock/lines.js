/** Space above each matrix. */
export const titleHeight = 24;

/** Radius of the corners of lines, and of the circles where lines meet. */
export const radius = 9;

/** @param {import('./layout.js').Box} box */
export const middle = ({ x, y, width, height }) => ({ x: x + width / 2, y: y + height / 2 });

/**
 * Returns an SVG path through points, with rounded corners. Each point is left of, right of, above or
 * below the previous point.
 * @param {[number, number][]} points
 */
export function route(points) {
  const [first, ...rest] = points;
  let d = `M${first[0]} ${first[1]}`;
  rest.forEach(([x, y], i) => {
    const next = rest[i + 1];
    if (!next) {
      d += `L${x} ${y}`;
      return;
    }
    const [px, py] = points[i];
    const before = Math.abs(x - px) + Math.abs(y - py);
    const after = Math.abs(next[0] - x) + Math.abs(next[1] - y);
    const r = Math.min(radius, before / 2, after / 2);
    d += `L${x - Math.sign(x - px) * r} ${y - Math.sign(y - py) * r}`;
    d += `Q${x} ${y} ${x + Math.sign(next[0] - x) * r} ${y + Math.sign(next[1] - y) * r}`;
  });
  return d;
}
