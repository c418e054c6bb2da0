/** Text shown in the comparison of positional schemes. */

export const title = 'Six ways to say where a word is, and six more';
/**
 * @param {{ tokens: number, head: number, schemes: number, weights: { title: string, weight: string
 *   | null }[] }} of weights: the weight of the selected cell in each scheme
 */
export const summary = ({ tokens, head, schemes, weights }) =>
  `The same ${tokens} tokens and the same projections of head ${head + 1} under ${schemes} positional schemes. ${weights
    .map(({ title, weight }) => `${title} ${weight ?? 'not possible'}`)
    .join(', ')}`;
export const hint = 'Point at a square to compare one pair of words in all cards.';
export const weight = 'attention weight';
export const range =
  '{query} attends to {key} with weight {least} under {leastTitle}, and {most} under {mostTitle}';
/** The selected pair of words in a single scheme. */
export const pair = '{query} and {key}';
export const cell = '{title}, {where}: {value}';
/** How the figure names a cell of a scheme’s matrix. */
export const position = (/** @type {number} */ row, /** @type {number} */ column) =>
  `position ${row}, column ${column}`;
export const wave = (
  /** @type {number} */ row,
  /** @type {number} */ pair,
  /** @type {boolean} */ isCosine,
) => `position ${row}, pair of columns ${pair}, ${isCosine ? 'cosine' : 'sine'}`;
export const ownPosition = (/** @type {number} */ column) =>
  `key at the query’s own position, column ${column}`;
const positions = (/** @type {number} */ count) =>
  `${count} ${count === 1 ? 'position' : 'positions'}`;
/** @param {{ distance: number, isLast: boolean, column: number }} at */
export const distance = ({ distance, isLast, column }) =>
  `key ${isLast ? 'at least ' : ''}${positions(Math.abs(distance))} ${distance < 0 ? 'before' : 'after'} the query, column ${column}`;
/** The equation, and an explanation of its letters. */
export const equation = 'All cards in one equation';
export const letters =
  'The query is at position i, the key at position m. Each card uses one letter and leaves out the others: {p} is added to a word (sinusoidal, learned), {beta} to a score (ALiBi, T5) and {a} to a key (Shaw), and {R} turns a query or key (rotary).';
export const odd = 'a head with one column has no pair of columns to rotate';
/** @param {{ title: string, isBias: boolean, rows: number, columns: number }} of */
export const matrix = ({ title, isBias, rows, columns }) =>
  `${title}: ${isBias ? 'bias' : 'encoding'}, ${rows} rows by ${columns} columns`;
/** @param {string} title @param {number} queries @param {number} keys */
export const weights = (title, queries, keys) =>
  `${title}: attention weights, ${queries} queries by ${keys} keys`;
/** Texts of the chart of a scaling rule's effect. */
export const stretch = {
  /**
   * @param {{ hands: number, base: string, trained: string, fastest: string, slowest: string, length:
   *   string }} of
   */
  about: ({ hands, base, trained, fastest, slowest, length }) =>
    `${hands} hands, base ${base}. The model was trained for ${trained} positions, in which the fastest hand turns ${fastest} times and the slowest ${slowest} times. The text has ${length} positions.`,
  /**
   * @param {{ title: string, hands: number, rules: Record<'title' | 'first' | 'last' | 'middle',
   *   string>[] }} of
   */
  label: ({ title, hands, rules }) =>
    `${title}: how much each of ${hands} hands is slowed, from the fastest to the slowest. ${rules
      .map(
        ({ title, first, last, middle }) =>
          `${title}: ${first} to ${last}, the middle hand ${middle}`,
      )
      .join('; ')}.`,
  x: 'hand, from the fastest to the slowest',
  y: 'slowdown (grid lines are a factor of 2 apart)',
};
