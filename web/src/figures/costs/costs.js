/** @typedef {import('attn').Attn} Attn */

/**
 * @typedef {object} Row
 * @property {keyof typeof import('./equations.js').costs} id
 * @property {string} name
 * @property {{ multiplyAdds: number, sequentialOperations: number, maxPathLength: number | null }} costs
 */

/** How far attention within a window as wide as the kernel sees. @param {number} k */
export const windowOf = (k) => Math.floor(k / 2);

/**
 * What one layer of each architecture costs.
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
      name: 'convolution, dilated 1, k, k² …',
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

/** The slider over n goes in quarter powers of two. @param {number} exponent */
export const lengthAt = (exponent) => Math.round(2 ** exponent);
