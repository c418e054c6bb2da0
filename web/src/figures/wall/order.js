/** @typedef {{ layer: number, head: number }} Place */

/**
 * @typedef {readonly ({ shares: Record<string, number | null>[] } | undefined)[]} Layers the
 *   layers computed so far
 */

/** @typedef {Place & { change: number }} Effect */

/**
 * All heads, the head whose silencing changes the prediction most first. Heads without a known
 * change come last.
 * @param {Layers} layers
 * @param {readonly Effect[]} effects
 */
export function sortedByEffect(layers, effects) {
  const size = (/** @type {Place} */ place) => Math.abs(effectAt(effects, place) ?? 0) || 0;
  const known = (/** @type {Place} */ place) => Number(effectAt(effects, place) !== undefined);
  return byLayers(layers)
    .flat()
    .sort((a, b) => known(b) - known(a) || size(b) - size(a));
}

/** @param {readonly Effect[]} effects @param {Place} place */
export const effectAt = (effects, { layer, head }) =>
  effects.find((each) => each.layer === layer && each.head === head)?.change;

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
