import { constants, sinusoidalEncoding } from '../../programs/calls.js';
import { printMatrix } from '../../programs/print.js';

/**
 * Programs that compute the encoding.
 * @param {{ length: number, width: number, base: number, start: number, step: number }} settings
 */
export const encodingPrograms = ({ length, width, base, start, step }) =>
  printMatrix('P', 'length', 'width', [
    constants({ length, width, base, start, step }),
    {
      python: `
# PositionalEncoding of D2L 11.6, also for odd widths, and in float64: the errors of float32's
# angles grow with the position.`,
    },
    sinusoidalEncoding(),
  ]);
