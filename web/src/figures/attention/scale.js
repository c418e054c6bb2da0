import { colourMaps } from '../../drawing/colour.js';

/** @type {WeakMap<Float32Array, number>} */
const largestOf = new WeakMap();

/**
 * Colours of the weights: from zero to the largest weight of all heads, so that heads compare.
 * @param {import('../../model/pipeline.svelte.js').Pipeline} model
 * @param {boolean} dark
 * @returns {import('../../drawing/colour.js').ColourScale}
 */
export function weightScaleOf(model, dark) {
  const data = model.attention?.weights.data;
  let largest = model.attention?.largest ?? (data && largestOf.get(data)) ?? 0;
  if (data && !largest) {
    for (const weight of data) if (weight > largest) largest = weight;
    largestOf.set(data, largest);
  }
  return { map: colourMaps(dark).weights, domain: [0, largest] };
}
