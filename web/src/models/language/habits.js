/** @typedef {import('./languageModel.js').Habit} Habit */
/** @typedef {import('./languageModel.js').Scores} Scores */

/**
 * Smallest share of attention with which a head counts as having learned a habit, such as attending
 * to the previous token.
 */
const telling = 0.25;

/**
 * The habits offered to readers, starting with the habits that are easiest to see in a sentence.
 */
const offered = /** @type {const} */ (['induction', 'sameToken', 'previousToken', 'firstToken']);

/**
 * For each habit that any head has learned, finds the head that shows it most.
 * @param {Scores[][] | null} heads
 * @returns {{ habit: Habit, layer: number, head: number, share: number }[]}
 */
export function tellingHeads(heads) {
  const all = (heads ?? []).flatMap((row, layer) =>
    row.map((scores, head) => ({ scores, layer, head })),
  );
  return offered.flatMap((habit) => {
    const [first] = all.sort((a, b) => b.scores[habit] - a.scores[habit]);
    if (!first || first.scores[habit] < telling) return [];
    return [{ habit, layer: first.layer, head: first.head, share: first.scores[habit] }];
  });
}

/**
 * A head's strongest habit, if the head has learned a habit that has a name.
 * @param {Scores | undefined} scores
 */
export function habitOf(scores) {
  if (!scores) return null;
  const [[habit, share]] = /** @type {[Habit, number][]} */ (Object.entries(scores)).sort(
    ([, a], [, b]) => b - a,
  );
  return share < telling ? null : { habit, share };
}
