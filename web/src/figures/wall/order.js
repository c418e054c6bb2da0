/** @typedef {{ layer: number, head: number }} Place */

/**
 * @typedef {readonly ({ shares: Record<string, number | null>[] } | undefined)[]} Layers the
 *   layers computed so far
 */

/** The heads of each layer. @param {Layers} layers @returns {Place[][]} */
export const byLayers = (layers) =>
  layers.map((found, layer) => (found?.shares ?? []).map((_, head) => ({ layer, head })));

/**
 * All heads in descending order of a share. Heads without this share come last.
 * @param {Layers} layers
 * @param {string} name name of the share
 */
export function sortedBy(layers, name) {
  const share = (/** @type {Place} */ { layer, head }) => layers[layer]?.shares[head][name] ?? -1;
  return byLayers(layers)
    .flat()
    .sort((a, b) => share(b) - share(a));
}

/**
 * Returns the index of the box to which an arrow key, Home or End leads. The boxes are laid
 * out in lines.
 * @param {readonly { left: number, top: number }[]} boxes
 * @param {number} from
 * @param {string} key
 * @returns {number | null}
 */
export function neighbour(boxes, from, key) {
  const last = boxes.length - 1;
  if (from < 0) return null;
  if (key === 'ArrowLeft') return Math.max(0, from - 1);
  if (key === 'ArrowRight') return Math.min(last, from + 1);
  if (key === 'Home') return 0;
  if (key === 'End') return last;
  if (key !== 'ArrowUp' && key !== 'ArrowDown') return null;
  const { left, top } = boxes[from];
  const beyond = boxes
    .map((box, index) => ({ left: box.left, top: box.top, index }))
    .filter((box) => (key === 'ArrowUp' ? box.top < top - 1 : box.top > top + 1));
  const line =
    key === 'ArrowUp'
      ? Math.max(...beyond.map((box) => box.top))
      : Math.min(...beyond.map((box) => box.top));
  const [nearest] = beyond
    .filter((box) => Math.abs(box.top - line) < 1)
    .sort((a, b) => Math.abs(a.left - left) - Math.abs(b.left - left));
  return nearest?.index ?? from;
}
