// Compares two sentences in a language model: measures how their values differ, and how a prediction
// changes when a value of one sentence replaces the same value of the other (activation patching).

import { relativeDistance, rowOf, valuesOf } from '../core/patching.js';
import { logSumExp } from './language/languageModel.js';

/** @typedef {import('./changes.js').Changeable} Changeable */

/**
 * The values of a stage in the model, and their names.
 * @param {Pick<Changeable, 'heads' | 'path'>} model
 * @param {{ stage: import('../core/patching.js').Stage, head: number }} given
 */
function readValues({ heads, path }, { stage, head }) {
  const values = valuesOf(stage, heads.length, head, path);
  return { values, intermediates: [...new Set(values.map(({ name }) => name))] };
}

/**
 * Returns the tokens of another sentence, and compares it with the reader's sentence if both have the
 * same number of tokens.
 * @param {Changeable} model
 * @param {import('./model.js').Split} split the other sentence
 * @param {Omit<import('./model.js').CompareGiven, 'text' | 'encoding'>} given
 * @returns {import('./model.js').CompareAnswer}
 */
export function comparison(model, { ids: all, tokens }, given) {
  const { length: total } = all;
  const first = Math.max(0, total - given.ids.length);
  const ids = all.slice(first);
  const isEqual = total === given.total;
  const compared = isEqual ? compare(model, { ...given, other: ids }) : null;
  return { total, ids, tokens: tokens.slice(first), compared };
}

/**
 * Compares two sentences with the same number of tokens.
 * @param {Changeable} model
 * @param {Omit<import('./model.js').CompareGiven, 'text' | 'encoding' | 'total'> & { other: number[]
 *   }} given token: the token whose log-probability is compared; −1 for the most probable token
 *   after the first sentence
 * @returns {import('./model.js').Compared}
 */
function compare(model, { ids, other, token, drawn, ...stage }) {
  const { run, likeliest, label } = model;
  const { values, intermediates } = readValues(model, stage);
  const runs = [ids, other].map((each) => run(each, { intermediates }));
  const likely = runs.map(({ logits }) =>
    likeliest(logits, drawn).map((each) => ({ ...each, label: label(each.id) })),
  );
  const [{ logits }] = runs;
  const id = token >= 0 && token < logits.length ? token : (likely.flat()[0]?.id ?? 0);
  const [first, second] = runs.map(({ logits }) => logits[id] - logSumExp(logits));
  const distances = ids.flatMap((_, position) =>
    values.map(({ name, head }) => {
      const [a, b] = runs.map((each) => rowOf(each.intermediates[name], position, head));
      return relativeDistance(a, b);
    }),
  );
  return {
    chosen: { id, label: label(id), first, second },
    likely,
    distances: { data: Float32Array.from(distances), shape: [ids.length, values.length] },
  };
}

/**
 * Runs the model on the second sentence repeatedly. In each run, one token's row of one value comes
 * from the first sentence. Yields the answer so far before each run.
 * @param {Omit<Changeable, 'likeliest'>} model
 * @param {Omit<import('./model.js').PatchGiven, 'encoding'>} given token: the token whose
 *   log-probability is followed
 * @returns {Generator<import('./model.js').PatchAnswer, import('./model.js').PatchAnswer>}
 */
export function* patched(model, { ids, other, token, ...stage }) {
  if (ids.length !== other.length) {
    throw new Error(
      `The sentences have ${ids.length} and ${other.length} tokens. Patching needs two sentences with the same number of tokens`,
    );
  }
  const start = performance.now();
  const { run, label } = model;
  const { values, intermediates } = readValues(model, stage);
  const [first, second] = [ids, other].map((each) => run(each, { intermediates }));
  const cellOf = (/** @type {Float32Array} */ logits) => {
    const likely = logits.reduce((best, value, id) => (value > logits[best] ? id : best), 0);
    const sum = logSumExp(logits);
    const probability = Math.exp(logits[likely] - sum);
    return {
      value: logits[token] - sum,
      likely: { id: likely, label: label(likely), probability },
    };
  };
  const total = values.length * ids.length;
  /** @type {import('./model.js').PatchAnswer['cells']} */
  const cells = [];
  const soFar = () => ({ cells: [...cells], total, time: performance.now() - start });
  const unchanged = cellOf(second.logits);
  for (const { name, head } of values) {
    for (let position = 0; position < ids.length; position++) {
      const [row, own] = [first, second].map((each) =>
        rowOf(each.intermediates[name], position, head),
      );
      // A row that is the same in both sentences changes nothing.
      if (row.every((value, i) => value === own[i])) {
        cells.push(unchanged);
        continue;
      }
      yield soFar();
      const patch = [{ name, head, position, values: { data: row, shape: [row.length] } }];
      cells.push(cellOf(run(other, { patch }).logits));
    }
  }
  return soFar();
}
