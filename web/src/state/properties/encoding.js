import { cell, choice, flag, integer, integers, number, parameters, text } from './property.js';

/** Largest number of curves side by side. */
export const maxColumns = 8;

export const limits = {
  length: { min: 1, max: 512 },
  width: { min: 1, max: 512 },
  start: { min: 0, max: 1e6 },
  step: { min: 1, max: 1e4 },
  factor: { min: 1, max: 64 },
  /**
   * With fewer positions, no pair of columns makes a full turn, and YaRN’s formula finds no pair to
   * slow.
   */
  trained: { min: 7, max: 8192 },
  clip: { min: 1, max: 64 },
};

/** Longest formula that a link keeps, and the largest number of its parameters. */
export const formulas = { longest: 500, parameters: 3 };

const lastCell = Math.max(limits.length.max, limits.width.max) - 1;

/** The settings of the chapter on positional encoding. */
export const properties = {
  /** Positions and columns of the encoding. Row i has position start + i·step. */
  length: integer(60, limits.length),
  width: integer(32, limits.width),
  start: integer(0, limits.start),
  step: integer(1, limits.step),
  /** Columns drawn as curves. */
  columns: integers([6, 7, 8, 9], { min: 0, max: limits.width.max - 1 }, maxColumns),
  /** Whether the curves are side by side or on the same axes. */
  curves: choice(/** @type {'lanes' | 'axes'} */ ('lanes'), ['lanes', 'axes']),
  /** Locked cells of the encoding and of the products of its rows. */
  encodingCell: cell(lastCell),
  similarityCell: cell(lastCell),
  schemesCell: cell(lastCell),
  /** Whether the cards of the schemes also show the attention weights. */
  schemesWeights: flag(false),

  /**
   * Settings for comparing schemes: the factor of scaled rotary embeddings, and the length beyond
   * which they are stretched.
   */
  factor: number(4, limits.factor),
  trained: integer(8, limits.trained),
  /** Largest distance that Shaw's relative keys distinguish. */
  clip: integer(4, limits.clip),

  /** The reader's own scheme: P(i, k), b(i, j, h), and the parameters of both formulas. */
  formula: text(
    'asin(sin(pi / 2 * (k % 2) + i / longest^(floor(k / 2) * 2 / d))) * 2 / pi',
    formulas.longest,
  ),
  formulaBias: text('', formulas.longest),
  parameters: parameters(
    [{ name: 'longest', value: 1000, min: 2, max: 10000 }],
    formulas.parameters,
  ),
};
