import { cell, choice, cuts, integer, linkedCell, modelParts, number, text } from './property.js';

/** Largest number of tokens decoded one by one. */
export const maxSteps = 64;

/**
 * Largest number of tokens in the figure in which readers cut queries off from keys, and largest
 * number of cuts.
 */
export const maxCuttable = 32;
export const maxCuts = 64;

/** Largest number of silenced parts. */
export const maxSilenced = 64;

/** Largest number of characters in the sentence that is compared with the page's sentence. */
export const maxCompared = 2000;

/** Largest number of tokens in either sentence of an alignment. */
export const maxAligned = 64;

/** Limits of the settings for generating text. With topK 0, every token is a candidate. */
export const limits = {
  temperature: { min: 0.1, max: 2, step: 0.05 },
  topK: { min: 0, max: 100 },
  draw: { min: 0, max: 2 ** 31 - 1 },
};

/** The settings of the chapter on Transformer blocks. */
export const properties = {
  /** Placement of the norms: after the residual connections, or before the sublayers. */
  norm: choice(/** @type {'post' | 'pre'} */ ('post'), ['post', 'pre']),
  /** The locked cell of one of the block's matrices. */
  blockCell: linkedCell(1023),

  /** The token that the decoder has reached. */
  decoderStep: integer(4, { min: 0, max: maxSteps - 1 }),

  /** Sampling of the next word: temperature, number of candidates, and seed. */
  temperature: number(0.8, limits.temperature),
  topK: integer(40, limits.topK),
  draw: integer(1, limits.draw),

  /**
   * The cuts (keys that a query may not look at), the layers and heads of a new cut, and the token
   * whose probability is followed.
   */
  cuts: cuts(maxCuts, { layers: 128, heads: 128, tokens: maxCuttable }),
  cutScope: choice(/** @type {import('../../core/cuts.js').Scope} */ ('all'), [
    'head',
    'layer',
    'all',
  ]),
  cutToken: integer(-1, { min: -1, max: 2 ** 31 - 1 }),
  /** The locked cell of the logit lens: a token and a layer. */
  lensCell: cell(127),
  /**
   * The token whose query and value are shown (−1 for the last token), and the position of the keys (−1
   * for the position before it).
   */
  circuitQuery: integer(-1, { min: -1, max: maxCuttable - 1 }),
  circuitKey: integer(-1, { min: -1, max: maxCuttable - 1 }),
  /** The silenced parts of the model, and the numbers that replace their outputs. */
  silenced: modelParts(maxSilenced, { layers: 128, heads: 128 }),
  silenceBy: choice(/** @type {'mean' | 'zero'} */ ('mean'), ['mean', 'zero']),

  /**
   * The sentence that is compared with the page's sentence (if it is empty, the page suggests one),
   * the values that are compared, the meaning of the colours, and the locked cell: a token and a
   * layer.
   */
  compareText: text('', maxCompared),
  compareStage: choice(/** @type {import('../../core/patching.js').Stage} */ ('residual'), [
    ...['residual', 'attention', 'mlp', 'head'],
  ]),
  compareShows: choice(/** @type {'effect' | 'distance'} */ ('effect'), ['effect', 'distance']),
  compareCell: cell(127),

  /** The aligned sentences: the source, which is read, and the target, which is written. */
  source: text('The agreement on the European Economic Area was signed in August 1992.', 2000),
  target: text('L’accord sur la zone économique européenne a été signé en août 1992.', 2000),
  /** The weights of additive attention, and the source of its queries. */
  alignment: choice(/** @type {'spelling' | 'xavier' | 'decoder'} */ ('spelling'), [
    ...['spelling', 'xavier', 'decoder'],
  ]),
  alignmentCell: cell(maxAligned - 1),
  /** Scale of the handmade weights w_v. */
  sharpness: number(0.13, { min: 0, max: 0.5 }),
};
