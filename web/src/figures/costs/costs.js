/** @typedef {import('attn').Attn} Attn */

/**
 * @typedef {object} Row
 * @property {string} id
 * @property {string} name
 * @property {string} operations  as KaTeX
 * @property {string} sequential
 * @property {string} path
 * @property {{ multiplyAdds: number, sequentialOperations: number, maxPathLength: number | null }} costs
 */

/**
 * What one layer of each architecture costs.
 * @param {Attn} attn
 * @param {{ n: number, d: number, k: number }} sizes
 * @returns {Row[]}
 */
export function costRows(attn, { n, d, k }) {
  const window = Math.floor(k / 2);
  return [
    {
      id: 'convolution',
      name: `convolution, k = ${k}`,
      operations: 'n k d^2',
      sequential: '1',
      path: String.raw`\lceil (n-1)/(k-1) \rceil`,
      costs: attn.convolutionCosts({ n, d, k }),
    },
    {
      id: 'dilated',
      name: 'convolution, dilated 1, k, k² …',
      operations: 'n k d^2',
      sequential: '1',
      path: String.raw`\lceil\log_k n\rceil`,
      costs: attn.dilatedConvolutionCosts({ n, d, k }),
    },
    {
      id: 'recurrence',
      name: 'RNN',
      operations: '2 n d^2',
      sequential: 'n',
      path: 'n',
      costs: attn.recurrentCosts({ n, d }),
    },
    {
      id: 'attention',
      name: 'self-attention',
      operations: '2 n^2 d',
      sequential: '1',
      path: '1',
      costs: attn.selfAttentionCosts({ n, d }),
    },
    {
      id: 'projections',
      name: '… with its projections',
      operations: '2 n^2 d + 4 n d^2',
      sequential: '1',
      path: '1',
      costs: attn.selfAttentionCosts({ n, d, projections: true }),
    },
    {
      id: 'window',
      name: `… within ${window} ${window === 1 ? 'token' : 'tokens'} on each side`,
      operations: String.raw`\approx 2 n\,(2w + 1)\,d,\; w = ${window}`,
      sequential: '1',
      path: String.raw`\lceil (n-1)/2w \rceil`,
      costs: attn.windowAttentionCosts({ n, d, left: window, right: window }),
    },
  ];
}

/** The slider over n goes in quarter powers of two. @param {number} exponent */
export const lengthAt = (exponent) => Math.round(2 ** exponent);
