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
      name: `convolution, k = ${k}`,
      costs: attn.architectureCosts.convolution({ n, d, k }),
    },
    {
      id: 'dilated',
      name: 'convolution, dilated by 1, k, k² …',
      costs: attn.architectureCosts.dilatedConvolution({ n, d, k }),
    },
    {
      id: 'recurrence',
      name: 'RNN',
      costs: attn.architectureCosts.recurrent({ n, d }),
    },
    {
      id: 'attention',
      name: 'self-attention without projections',
      costs: attn.architectureCosts.selfAttention({ n, d }),
    },
    {
      id: 'window',
      name: `… within ${window} ${window === 1 ? 'token' : 'tokens'} on each side`,
      costs: attn.architectureCosts.windowAttention({ n, d, left: window, right: window }),
    },
    {
      id: 'projections',
      name: 'self-attention with its projections',
      costs: attn.architectureCosts.selfAttention({ n, d, projections: true }),
    },
  ];
}

/** Computes n from its slider: 2^exponent, rounded to a whole number. @param {number} exponent */
export const lengthAt = (exponent) => Math.round(2 ** exponent);
