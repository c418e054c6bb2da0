const common = { heads: 4, layers: 2, causal: false, rate: 3e-3, seed: 7 };

/**
 * Formulas that together use all variables. They also call functions that some programming
 * languages lack.
 */
const both = {
  added: 'k % 2 == 0 ? sin(i / 50^(k / d)) : round(3 * i / n) / 3 + random(i, k) / 4',
  bias: '-slope^(h + 1) * abs(i - j) + mod(i - j, 3) * i / n / d',
  parameters: [{ name: 'slope', value: 0.5, min: 0, max: 1 }],
};

/**
 * Options of lanes in the chapter on training. Together they cover every task (`world`) and every
 * positional scheme.
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
  { ...common, world: 'reverse', positions: 'yours', written: both },
  { ...common, world: 'repeat', positions: 'yours', written: { ...both, added: '' }, causal: true },
  { ...common, world: 'dates', positions: 'yours', written: both, decoder: 'transformer' },
];
