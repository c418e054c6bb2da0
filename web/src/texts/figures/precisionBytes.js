/** Text shown in the figure about numbers stored in fewer bytes. */

export const error = 'error';
export const computing = 'computing …';
export const title = 'What is lost in fewer bytes';
/**
 * @param {{ type: string, losses: { quantity: string, largest: string, mean: string }[] }[]} types
 */
export const summary = (types) =>
  `Errors of numbers stored in fewer bytes: ${types
    .map(
      ({ type, losses }) =>
        `${type} ${losses
          .map(
            ({ quantity, largest, mean }) =>
              `up to ${largest} in the ${quantity}, ${mean} on average`,
          )
          .join(', ')}`,
    )
    .join('; ')}.`;
export const hint = 'All nine maps have the same scale.';
/** The selected number: `{exact}` is in float32, and `{types}` are the rounded numbers. */
export const cell = {
  encoding: '{row}, column {column}: {exact} in float32; {types}',
  scores: '{row} looks at {column}, score: {exact} in float32; {types}',
  weights: '{row} attends to {column}, weight: {exact} in float32; {types}',
};
export const rounded = '{type} {number}, off by {off}';
/** Names of rows and columns. */
export const axes = {
  encoding: ['row', 'column'],
  scores: ['query', 'key'],
  weights: ['query', 'key'],
};
/** @param {{ quantity: string, type: string, rows: number, columns: number }} of */
export const label = ({ quantity, type, rows, columns }) =>
  `Errors of the ${quantity} in ${type}, ${rows} by ${columns}`;
export const largest = 'up to {largest}';
export const mean = 'mean {mean}';
