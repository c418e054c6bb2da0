/** The settings below an exported picture. */
export const credit = {
  identity: 'identity projections',
  /** @param {number} seed */
  random: (seed) => `random projections, seed ${seed}`,
  /**
   * @param {{ layer: number, head: number, own: boolean, part?:
   *   import('../core/sentence.js').PartName }} given layer and head are counted from 1
   */
  learned: ({ layer, head, own, part }) =>
    `layer ${layer}, head ${head} of ${part ? `the ${part === 'cross' ? 'cross attention' : part} of ` : ''}${own ? 'a model from files' : 'the language model'}`,
  /** @param {number} width */
  width: (width) => `width ${width}`,
  /** @param {number} heads */
  heads: (heads) => (heads === 1 ? '1 head' : `${heads} heads`),
  positions: {
    none: 'no positions',
    rotary: 'rotary positions',
    sinusoidal: 'sinusoidal positions',
  },
  /** @param {string} base */
  base: (base) => `base ${base}`,
  /** @param {string} masks */
  masks: (masks) => `masks: ${masks}`,
};
