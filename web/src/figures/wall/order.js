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
