import { brief } from '../drawing/numbers.js';
import { sumOfProducts } from './terms.js';
import { turnedRow } from './turned.js';

/** @typedef {import('attn').Tensor} Tensor */
/** @typedef {import('./flow.js').Stage} Stage */

/**
 * The numbers from which a cell was computed.
 * @typedef {object} Explanation
 * @property {[number, number][]} terms products that are added up; empty for `sum` and `norm`,
 *   and if they are unknown
 * @property {number[]} operands for a sum: both addends; for a norm: value, mean and deviation;
 *   for a weight: its score; for a gated product: both factors
 * @property {number} [bias] added bias
 * @property {number} [factor] for a norm: the factor applied first
 */

/**
 * Properties of a layer.
 * @typedef {object} How
 * @property {number} depth D
 * @property {number} [shared] number of heads that share keys and values; 1 by default
 * @property {import('./turned.js').Turn} [turn] how positions rotate queries and keys
 * @property {boolean} [normalises] whether queries and keys are normalised, so that no single sum
 *   explains them
 * @property {boolean} [meanSquare] whether norms divide by the root mean square and keep the mean
 * @property {boolean} [aroundOne] whether norms multiply by 1 + weight
 * @property {number} [epsilon] added inside the square root; by default as in the core
 * @property {string} [scaling] how scores are scaled, if they are not divided by √D
 */

/** @param {Tensor} tensor @param {number} row @param {number} [left] @param {number} [right] */
function rowOf({ data, shape: [, columns] }, row, left = 0, right = columns) {
  return data.subarray(row * columns + left, row * columns + right);
}

/** @param {ArrayLike<number>} a @param {ArrayLike<number>} b @returns {[number, number][]} */
const pairs = (a, b) => Array.from(a, (value, i) => [value, b[i]]);

/**
 * @param {Stage} stage
 * @param {import('./flow.js').Cell} cell
 * @param {{ stages: Record<string, Tensor>, scores: Record<string, Tensor> }} block
 * @param {Record<string, Tensor>} parameters
 * @param {How} how
 * @returns {Explanation}
 */
export function explain(stage, { row, column }, { stages, scores }, parameters, how) {
  const { depth, shared = 1, turn } = how;
  const [first, second] = stage.from.map((id) => stages[id]);
  switch (stage.kind) {
    case 'input':
      return { terms: [], operands: [] };
    case 'product': {
      const [weight, biases] = [parameters[stage.id], parameters[`${stage.id}Bias`]?.data];
      const meets = stage.id === 'q' || stage.id === 'k';
      if (!weight || (meets && how.normalises)) return { terms: [], operands: [] };
      if (turn && meets) {
        const turned = turnedRow(weight, biases, column, { depth, turn, position: row });
        return { terms: pairs(rowOf(first, row), turned.row), operands: [], bias: turned.bias };
      }
      return {
        terms: pairs(rowOf(first, row), rowOf(weight, column)),
        ...{ operands: [], bias: biases?.[column] },
      };
    }
    case 'weights': {
      const head = /** @type {number} */ (stage.head);
      const [left, key] = [head * depth, Math.floor(head / shared) * depth];
      return {
        terms: pairs(
          rowOf(first, row, left, left + depth),
          rowOf(second, column, key, key + depth),
        ),
        operands: [rowOf(scores[stage.id], row)[column]],
      };
    }
    case 'mix': {
      const { v } = stages;
      const [length, width] = v.shape;
      const head = Math.floor(column / depth);
      const weights = stages[`weights${head}`];
      // The weights are missing if the figure does not draw this head.
      if (!weights) return { terms: [], operands: [] };
      const at = Math.floor(head / shared) * depth + (column % depth);
      const values = Array.from({ length }, (_, j) => v.data[j * width + at]);
      return { terms: pairs(rowOf(weights, row), values), operands: [] };
    }
    case 'sum':
      return { terms: [], operands: [rowOf(first, row)[column], rowOf(second, row)[column]] };
    case 'gated':
      return {
        terms: [],
        operands: [rowOf(stages.gate, row)[column], rowOf(stages.up, row)[column]],
      };
    case 'normed':
      return { terms: [], operands: [] };
    case 'norm': {
      const values = rowOf(first, row);
      const mean = how.meanSquare
        ? 0
        : values.reduce((sum, value) => sum + value, 0) / values.length;
      const weight = parameters[stage.id]?.data[column];
      const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length;
      return {
        ...{
          terms: [],
          operands: [values[column], mean, Math.sqrt(variance + (how.epsilon ?? 1e-5))],
        },
        factor: weight === undefined ? undefined : weight + (how.aroundOne ? 1 : 0),
        bias: parameters[`${stage.id}Bias`]?.data[column],
      };
    }
  }
}

/**
 * A number within a sum, with its sign as an operator.
 * @param {number} value
 * @param {boolean} first
 */
function operand(value, first) {
  const sign = value < 0 ? '−' : '+';
  const magnitude = brief(Math.abs(value));
  return first ? (value < 0 ? `−${magnitude}` : magnitude) : ` ${sign} ${magnitude}`;
}

/**
 * A sum of products. The largest products are written out, and the others are counted.
 * @param {[number, number][]} terms
 * @param {number} most
 */
export function writtenOut(terms, most) {
  const present = terms.filter(([a, b]) => a * b !== 0);
  if (present.length === 0) return '0';
  const [left, right] = [0, 1].map((side) => present.map((term) => term[side]));
  const { terms: shown, others } = sumOfProducts(left, right, String, most);
  const text = shown
    .map(({ a, b, product }, i) => {
      return `${operand(Math.sign(product) * Math.abs(a), i === 0)}·${brief(Math.abs(b))}`;
    })
    .join('');
  return others ? `${text} … + ${others} more` : text;
}

/**
 * The explanation as the right-hand side of an equation.
 * @param {Stage} stage
 * @param {Explanation} explanation
 * @param {{ most: number, depth: number, keys: number, activation?: string, scaling?: string }}
 *   sizes most:
 *   number of products to write out; depth: D; keys: number of attended keys; scaling: scaling of
 *   scores
 */
export function inWords(stage, explanation, sizes) {
  const { most, depth, keys, activation = 'ReLU', scaling = `/ √${depth}` } = sizes;
  const { terms, operands, bias, factor } = explanation;
  const offset = bias ? operand(bias, false) : '';
  switch (stage.kind) {
    case 'input':
      return '';
    case 'normed':
      return 'a row of products, normalised';
    case 'gated':
      return `${activation}(${brief(operands[0])}) · ${brief(operands[1])}`;
    case 'product': {
      if (!terms.length) return '';
      const sum = writtenOut(terms, most) + offset;
      if (stage.id !== 'hidden') return sum;
      const value = brief(terms.reduce((total, [a, b]) => total + a * b, bias ?? 0));
      return `${activation === 'ReLU' ? `max(0, ${value})` : `${activation}(${value})`} of ${sum}`;
    }
    case 'mix':
      return terms.length ? writtenOut(terms, most) : '';
    case 'weights':
      return operands[0] === undefined
        ? ''
        : `softmax over ${keys} ${keys === 1 ? 'key' : 'keys'}, score ${brief(operands[0])} = (${writtenOut(terms, most)}) ${scaling}`;
    case 'sum':
      return `${operand(operands[0], true)}${operand(operands[1], false)}`;
    case 'norm': {
      const [value, mean, deviation] = operands;
      const times = factor === undefined ? '' : ` · ${brief(factor)}`;
      return `(${operand(value, true)}${mean ? operand(-mean, false) : ''}) / ${brief(deviation)}${times}${offset}`;
    }
  }
}
