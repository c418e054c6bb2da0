const common = { heads: 4, layers: 2, causal: false, rate: 3e-3, seed: 7 };

/**
 * Options of the chapter on training. Together they cover every world and every positional scheme.
 * @type {import('../web/src/training/model.js').LaneOptions[]}
 */
export const lanes = [
  { ...common, world: 'copy', positions: 'learned' },
  { ...common, world: 'reverse', positions: 'sinusoidal' },
  { ...common, world: 'sort', positions: 't5', layers: 1 },
  { ...common, world: 'repeat', positions: 'rotary', causal: true },
  { ...common, world: 'count', positions: 'shaw', heads: 1 },
  { ...common, world: 'count', positions: 'alibi' },
  { ...common, world: 'reverse', positions: 'none' },
  { ...common, world: 'add', positions: 'sinusoidal' },
  { ...common, world: 'dates', positions: 'sinusoidal', decoder: 'transformer' },
  { ...common, world: 'dates', positions: 'learned', decoder: 'transformer', layers: 1 },
  { ...common, world: 'dates', positions: 't5', decoder: 'transformer' },
  { ...common, world: 'dates', positions: 'none', decoder: 'recurrent' },
];
