// How a model's predictions change when arcs are cut or parts are silenced.

import { partsOf } from '../core/contributions.js';
import { cutsOff, knockOutOf } from '../core/cuts.js';
import { ablateOf } from '../core/silence.js';
import { logSumExp } from './language/languageModel.js';

/** @typedef {{ logits: Float32Array, weights: import('attn').Tensor }} Run logits: (n, V) */

/**
 * A language model whose values can be changed while it runs.
 * @typedef {object} Changeable
 * @property {readonly number[]} heads number of heads of each layer
 * @property {string} [path] path of the encoder, with a dot at the end
 * @property {(ids: readonly number[], options: import('attn').InterventionOptions & { intermediates?:
 *   string[] }) => { logits: Float32Array, intermediates: Record<string, import('attn').Tensor> }}
 *   run returns the logits of the next token, (V), with the requested intermediates
 * @property {(logits: Float32Array, drawn: number) => { id: number, probability: number }[]}
 *   likeliest the most probable tokens; none if the probabilities are not numbers
 * @property {(id: number) => string} label
 */

/** @param {Float32Array} logits (n, V) @param {number} rows @param {number} row */
const rowOf = (logits, rows, row) =>
  logits.subarray((row * logits.length) / rows, ((row + 1) * logits.length) / rows);

/**
 * The change from one log-probability to another. If both are −∞, nothing changes.
 * @param {number} before @param {number} after
 */
const changeOf = (before, after) => (after === before ? 0 : after - before);

/**
 * Measures how much the prediction after each token changes: the Kullback–Leibler divergence
 * between the predictions before and after, in nats, and the change of the log-probability of the
 * token that actually comes next.
 * @param {Float32Array} before logits, (n, V)
 * @param {Float32Array} after
 * @param {readonly number[]} ids (n)
 * @returns {import('./model.js').Moved[]}
 */
function movedBy(before, after, ids) {
  return ids.map((_, i) => {
    const [was, is] = [before, after].map((logits) => rowOf(logits, ids.length, i));
    const [wasSum, isSum] = [logSumExp(was), logSumExp(is)];
    let divergence = 0;
    for (let id = 0; id < was.length; id++) {
      const log = was[id] - wasSum;
      // A token with probability 0 adds nothing.
      if (log !== -Infinity) divergence += Math.exp(log) * (log - (is[id] - isSum));
    }
    const next = ids[i + 1];
    return {
      // Rounding can make the divergence of almost equal predictions slightly negative.
      divergence: Math.max(0, divergence),
      isSame: was.every((value, id) => value === is[id]),
      change: next === undefined ? null : changeOf(was[next] - wasSum, is[next] - isSum),
    };
  });
}

/**
 * Describes a model's predictions without and with changes.
 * @param {Run} before
 * @param {Run} after
 * @param {{ ids: readonly number[], token: number, drawn: number }} given token: the token whose
 *   probability the figure follows; −1 for the most probable token
 * @param {Pick<Changeable, 'likeliest' | 'label'>} model
 * @returns {import('./model.js').ChangeAnswer}
 */
export function changeAnswer(before, after, { ids, token, drawn }, { likeliest, label }) {
  const n = ids.length;
  const [was, is] = [before, after].map(({ logits }) => rowOf(logits, n, n - 1));
  const likely = (/** @type {Float32Array} */ logits) =>
    likeliest(logits, drawn).map((each) => ({ ...each, label: label(each.id) }));
  const [first, last] = [likely(was), likely(is)];
  const id = token >= 0 && token < was.length ? token : ([...first, ...last][0]?.id ?? 0);
  const [wasLog, isLog] = [was[id] - logSumExp(was), is[id] - logSumExp(is)];
  const change = changeOf(wasLog, isLog);
  return {
    ...{ weights: after.weights, before: first, after: last },
    chosen: { id, label: label(id), before: wasLog, after: isLog, change },
    moved: movedBy(before.logits, after.logits, ids),
  };
}

/**
 * Changes the model in one place after another, and compares the log-probabilities of the followed
 * token. The places are the model's parts, each silenced alone, or the tokens before the last one,
 * each hidden from all later queries. Yields the answer so far before each place. Changes nothing
 * if the model's output is not a number.
 * @param {Pick<Changeable, 'heads' | 'path' | 'run' | 'label'>} model
 * @param {import('./model.js').RankGiven} given
 * @returns {Generator<import('./model.js').RankAnswer, import('./model.js').RankAnswer>}
 */
export function* ranked({ heads, path, run, label }, { ids, token, of, replacement }) {
  const start = performance.now();
  const { logits } = run(ids, {});
  const id =
    token >= 0 && token < logits.length
      ? token
      : logits.reduce((best, value, each) => (value > logits[best] ? each : best), 0);
  const before = logits[id] - logSumExp(logits);
  const parts = heads.flatMap((count, layer) =>
    [...Array(count).keys(), /** @type {const} */ ('mlp')].map((part) => ({ layer, part })),
  );
  /** @type {readonly import('./model.js').Changed[]} */
  const places = of === 'parts' ? parts : ids.slice(1).map((_, key) => ({ key }));
  const total = Number.isNaN(before) ? 0 : places.length;
  const answer = { chosen: { id, label: label(id), before }, total };
  /** @type {import('./model.js').RankAnswer['changes']} */
  const changes = [];
  const soFar = () => ({ ...answer, changes: [...changes], time: performance.now() - start });
  for (const place of places.slice(0, total)) {
    yield soFar();
    const { logits: after } = run(
      ids,
      'key' in place
        ? { knockOut: knockOutOf(cutsOff(place.key, ids.length), heads.length, path) }
        : { ablate: ablateOf([place], replacement, path) },
    );
    changes.push({ ...place, change: changeOf(before, after[id] - logSumExp(after)) });
  }
  return soFar();
}

/**
 * Splits the logit of a token that may come next.
 * @param {Pick<Changeable, 'run' | 'likeliest' | 'label'>} model
 * @param {Omit<import('./model.js').ContributionsGiven, 'encoding'>} given
 * @param {(id: number) => import('attn').Contributions} split
 * @returns {import('./model.js').ContributionsAnswer}
 */
export function contributed({ run, likeliest, label }, { ids, token, drawn }, split) {
  const { logits } = run(ids, {});
  const likely = likeliest(logits, drawn).map(({ id }) => ({ id, label: label(id) }));
  if (!likely.length) return { chosen: null, likely, total: NaN, parts: [] };
  const id = token >= 0 && token < logits.length ? token : likely[0].id;
  const all = split(id);
  return { chosen: { id, label: label(id) }, likely, total: all.total, parts: partsOf(all) };
}
