/**
 * Text shown in the card with the result of training two models, one of them with the reader's
 * formula.
 */
export const texts = {
  title: 'Your formula in the race',
  scheme: 'positions',
  task: 'task',
  fast: 'steps to reach 95 %',
  notYet: 'not yet',
  accuracy: 'right answers',
  /** @param {{ size: number, unit: string }} of */
  longer: ({ size, unit }) => `right with ${size} ${unit}`,
  checksum: 'checksum of the weights',
  unknown: '–',
  end: 'the table ends',
  /** @param {{ task: string, trained: number, unit: string, seed: number, step: number }} race */
  about: ({ task, trained, unit, seed, step }) =>
    `Both lanes learned “${task}” with ${trained} ${unit} and seed ${seed}, for ${step} steps. They saw the same examples in the same order and differ only in their positions.`,
  nothing: 'The race has not begun. Press Play above.',
  /** @param {{ tested: number }} at */
  tested: ({ tested }) => `The longer examples were tested after step ${tested}.`,
  change: 'Change the formula',
  same: 'Anyone who opens your link gets the same checksums, so you can compare results.',
};
