/** @typedef {import('./languageModel.js').Habit} Habit */
/** @typedef {import('./languageModel.js').Scores} Scores */

/** Least share of its attention by which a head is said to have learned something. */
const telling = 0.25;

/** Those that are offered, the ones first that are seen best in a sentence. */
const offered = /** @type {const} */ (['induction', 'sameToken', 'previousToken', 'firstToken']);

/**
 * For each habit the head that has it most, if any has learned it.
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
 * What a head does most, if it has learned anything that has a name.
 * @param {Scores | undefined} scores
 */
export function habitOf(scores) {
  if (!scores) return null;
  const [[habit, share]] = /** @type {[Habit, number][]} */ (Object.entries(scores)).sort(
    ([, a], [, b]) => b - a,
  );
  return share < telling ? null : { habit, share };
}
