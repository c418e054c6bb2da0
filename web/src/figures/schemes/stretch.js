import { scalingOf, schemes } from './schemes.js';

/** @typedef {import('./schemes.js').SchemeName} SchemeName */

/** Names of the scaling rules that stretch a rotary embedding to longer texts. */
export const rules = /** @type {const} */ (['linear', 'dynamic', 'yarn', 'llama3']);

/**
 * How much each scaling rule slows each pair of columns of a rotary embedding. The pairs are called
 * hands, because they turn like the hands of a clock.
 * @typedef {object} Stretch
 * @property {number} base base of the hands' wavelengths
 * @property {number} trained number of positions that the model was trained for
 * @property {[number, number]} turns turns of the fastest and the slowest hand within these
 *   positions
 * @property {number} length length of the text, in positions
 * @property {{ name: SchemeName, title: string, slowed: number[] }[]} rules slowed: the divisor
 *   of each hand's speed, from the fastest to the slowest
 */

/**
 * @param {import('attn').Attn} attn
 * @param {{ dim: number, base: number, factor: number, trained: number }} settings dim: number of
 *   columns of a head
 * @returns {Stretch | null} null if a head has fewer than two pairs of columns
 */
export function stretchOf(attn, { dim, base, factor, trained }) {
  const rotaryDim = dim - (dim % 2);
  if (rotaryDim < 4) return null;
  const length = Math.round(factor * trained);
  const speeds = (/** @type {SchemeName} */ name) => {
    const scaling = scalingOf(name, { factor, trained });
    const rotary = new attn.RotaryEmbedding({ rotaryDim, base, scaling });
    try {
      return rotary.frequencies(length);
    } finally {
      rotary.dispose();
    }
  };
  const plain = speeds('rotary');
  const turnsOf = (/** @type {number} */ hand) => (trained * plain[hand]) / (2 * Math.PI);
  return {
    ...{ base, trained, length, turns: [turnsOf(0), turnsOf(plain.length - 1)] },
    rules: rules.map((name) => {
      const scaled = speeds(name);
      return {
        ...{ name, title: schemes[name].title.replace('rotary, ', '') },
        slowed: Array.from(plain, (speed, hand) => speed / scaled[hand]),
      };
    }),
  };
}
