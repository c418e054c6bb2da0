/**
 * Throws an error if the model has no embedding for a token.
 * @param {{ ids: readonly number[], tokens: readonly string[] }} split
 * @param {{ vocabSize: number }} description
 */
export function checkRows({ ids, tokens }, { vocabSize }) {
  const at = ids.findIndex((id) => id >= vocabSize);
  if (at < 0) return;
  throw new Error(
    `The model has no row for the token “${tokens[at]}” (${ids[at].toLocaleString('en')}): its embedding has ${vocabSize.toLocaleString('en')} rows. Change the sentence`,
  );
}
