/** Text shown in the table of costs. */

export const title = 'What one layer costs';
/**
 * @param {{ n: string, d: number, layers: { name: string, multiplyAdds: string, steps: string,
 *   path: string | null }[] }} of
 */
export const summary = ({ n, d, layers }) =>
  `For ${n} tokens of width ${d}: ${layers
    .map(
      ({ name, multiplyAdds, steps, path }) =>
        `${name} takes ${multiplyAdds} multiply-adds in ${steps} sequential steps, longest path ${path ?? 'none'}`,
    )
    .join('; ')}.`;
/** Columns of the exported table. */
export const exported = ['layer', 'multiply-adds', 'sequential steps', 'longest path'];
export const layer = 'layer';
export const multiplyAdds = 'multiply-adds of one layer';
export const steps = 'sequential steps';
export const path = 'longest path, with as many layers as needed';
export const never = 'never';
/** Names of the layers. */
export const convolution = (/** @type {number} */ k) => `convolution, k = ${k}`;
export const recurrence = 'RNN';
export const attention = 'self-attention without its projections';
export const window = (/** @type {number} */ window) =>
  `the same, but only ${window} ${window === 1 ? 'token' : 'tokens'} on each side`;
export const projections = 'self-attention';
