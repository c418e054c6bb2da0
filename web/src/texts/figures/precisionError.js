/** Text shown in the figure about the error of the encoding. */

export const error = 'error';
export const computing = 'computing …';
export const title = 'How large the error is';
/**
 * @param {{ positions: number, codes: { code: string, value: string, position: string, usual: {
 *   value: string, position: string }[] }[] }} of
 */
export const summary = ({ positions, codes }) =>
  `Errors of the encoding at ${positions} positions up to 16,777,216: ${codes
    .map(
      ({ code, value, position, usual }) =>
        `${code} is off by up to ${value} at ${position}, ${usual
          .map(({ value, position }) => `by ${value} at ${position}`)
          .join(', ')}`,
    )
    .join('; ')}.`;
export const hint = 'fl(x) is the float32 number nearest to x. The errors are |P̃ − P| and |P̂ − P|.';
export const cell =
  'position {position}, column {column}: exactly {exact}, usual code {usual}, off by {usualOff}; core {core}, off by {coreOff}';
export const position = 'position';
export const column = 'column';
/** @param {string} code @param {number} rows @param {number} columns */
export const label = (code, rows, columns) =>
  `Error of ${code}, ${rows} positions by ${columns} columns`;
export const largest = 'up to {largest} at {position}';
export const at = '{error} at {position}';
