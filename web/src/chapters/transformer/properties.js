import { cell, choice, integer, linkedCell, number, text } from '../../state/property.js';

/** Most tokens that the encoder block is drawn for. */
export const maxBlockTokens = 128;

/** Most tokens that are decoded one by one. */
export const maxSteps = 64;

/** Most tokens of either sentence of an alignment. */
export const maxAligned = 64;

/** How the language model writes on; topK of 0 leaves all tokens in. */
export const limits = {
  temperature: { min: 0.1, max: 2, step: 0.05 },
  topK: { min: 0, max: 100 },
  draw: { min: 0, max: 2 ** 31 - 1 },
};

/** What this chapter adds to the page's settings. */
export const properties = {
  /** Where the block normalises: after the residual connections, or before the layers. */
  norm: choice(/** @type {'post' | 'pre'} */ ('post'), ['post', 'pre']),
  /** The locked cell of one of the block's matrices. */
  blockCell: linkedCell(1023),

  /** The token that the decoder has come to. */
  decoderStep: integer(4, { min: 0, max: maxSteps - 1 }),

  /** The next word: how boldly it is drawn, from how many, and the seed. */
  temperature: number(0.8, limits.temperature),
  topK: integer(40, limits.topK),
  draw: integer(1, limits.draw),

  /** The sentences that are aligned: what is read, and what is written. */
  source: text('The agreement on the European Economic Area was signed in August 1992.', 2000),
  target: text('L’accord sur la zone économique européenne a été signé en août 1992.', 2000),
  /** What the weights of additive attention are, and what asks. */
  alignment: choice(/** @type {'spelling' | 'xavier' | 'decoder'} */ ('spelling'), [
    ...['spelling', 'xavier', 'decoder'],
  ]),
  alignmentCell: cell(maxAligned - 1),
  /** Scale of w_v where it is set by hand. */
  sharpness: number(0.13, { min: 0, max: 0.5 }),
};
