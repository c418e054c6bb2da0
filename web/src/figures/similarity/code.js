import { constants, scores, sinusoidalEncoding } from '../../programs/calls.js';
import { printMatrix } from '../../programs/print.js';

/**
 * Programs that compute P·Pᵀ.
 * @param {{ length: number, width: number, base: number, start: number, step: number }} settings
 */
export const similarityPrograms = ({ length, width, base, start, step }) => {
  const comment =
    'The scores of attention in which the rows of P are both the queries and the keys.';
  return printMatrix('products', 'length', 'length', [
    constants({ length, width, base, start, step }),
    { python: '' },
    sinusoidalEncoding(),
    { cpp: `\n// ${comment}`, javascript: `\n// ${comment}` },
    scores('products', 'P', 'P', 'width'),
  ]);
};
