import { logSumExp } from './language/languageModel.js';

/** @typedef {{ logits: Float32Array, weights: import('attn').Tensor }} Run */

/**
 * Describes a model's predictions with and without cuts.
 * @param {Run} before
 * @param {Run} after
 * @param {number} token the token whose probability the figure follows; −1 for the most probable
 *   token
 * @param {(logits: Float32Array) => { id: number, probability: number }[]} likeliest the most probable
 *   tokens
 * @param {(id: number) => string} label
 * @returns {import('./model.js').CutAnswer}
 */
export function cutAnswer(before, after, token, likeliest, label) {
  const likely = (/** @type {Run} */ { logits }) =>
    likeliest(logits).map((each) => ({ ...each, label: label(each.id) }));
  const first = likely(before);
  const id = token >= 0 && token < before.logits.length ? token : first[0].id;
  const logProbability = (/** @type {Run} */ { logits }) => logits[id] - logSumExp(logits);
  return {
    ...{ weights: after.weights, before: first, after: likely(after) },
    chosen: {
      ...{ id, label: label(id) },
      ...{ before: logProbability(before), after: logProbability(after) },
    },
  };
}
