import * as texts from '../../texts/figures/costs.js';

/** @typedef {import('attn').Attn} Attn */

/**
 * @typedef {object} Row
 * @property {keyof typeof import('./equations.js').costs} id
 * @property {string} name
 * @property {{ multiplyAdds: number, sequentialOperations: number, maxPathLength: number | null }} costs
 */

/** Radius of an attention window as wide as the kernel. @param {number} k */
export const windowOf = (k) => Math.floor(k / 2);

/**
 * The cost of one layer of each architecture.
 * @param {Attn} attn
 * @param {{ n: number, d: number, k: number }} sizes
 * @returns {Row[]}
 */
export function costRows(attn, { n, d, k }) {
  const window = windowOf(k);
  return [
    {
      id: 'convolution',
      name: texts.convolution(k),
      costs: attn.architectureCosts.convolution({ n, d, k }),
    },
    {
      id: 'recurrence',
      name: texts.recurrence,
      costs: attn.architectureCosts.recurrent({ n, d }),
    },
    {
      id: 'projections',
      name: texts.projections,
      costs: attn.architectureCosts.selfAttention({ n, d, projections: true }),
    },
    {
      id: 'attention',
      name: texts.attention,
      costs: attn.architectureCosts.selfAttention({ n, d }),
    },
    {
      id: 'window',
      name: texts.window(window),
      costs: attn.architectureCosts.windowAttention({ n, d, left: window, right: window }),
    },
  ];
}

/** Computes n from its slider: 2^exponent, rounded to a whole number. @param {number} exponent */
export const lengthAt = (exponent) => Math.round(2 ** exponent);
