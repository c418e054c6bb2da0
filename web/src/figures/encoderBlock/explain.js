import { brief } from '../../drawing/numbers.js';
import { turnedRow } from '../../model/turned.js';
import { sumOfProducts } from '../stages/terms.js';

/** @typedef {import('attn').Tensor} Tensor */
/** @typedef {import('./flow.js').Stage} Stage */

/**
 * How a cell was computed, in numbers.
 * @typedef {object} Explanation
 * @property {[number, number][]} terms products that are added up; none for `sum` and `norm`
 * @property {number[]} operands of a sum: both addends; of a norm: value, mean and deviation; of a
 *   weight: its score
 * @property {number} [bias] that is added
 * @property {number} [factor] of a norm: what it is multiplied by before
 */

/** Within the square root, as in the core. */
const epsilon = 1e-5;

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
 * @param {number} heads
 * @param {number} [base] of rotary positions, which turn queries and keys
 * @returns {Explanation}
 */
export function explain(stage, { row, column }, { stages, scores }, parameters, heads, base) {
  const [first, second] = stage.from.map((id) => stages[id]);
  switch (stage.kind) {
    case 'input':
      return { terms: [], operands: [] };
    case 'product': {
      const [weight, biases] = [parameters[stage.id], parameters[`${stage.id}Bias`]?.data];
      if (base && (stage.id === 'q' || stage.id === 'k')) {
        const depth = weight.shape[0] / heads;
        const turned = turnedRow(weight, biases, column, { depth, base, position: row });
        return { terms: pairs(rowOf(first, row), turned.row), operands: [], bias: turned.bias };
      }
      return {
        terms: pairs(rowOf(first, row), rowOf(weight, column)),
        ...{ operands: [], bias: biases?.[column] },
      };
    }
    case 'weights': {
      const depth = first.shape[1] / heads;
      const left = /** @type {number} */ (stage.head) * depth;
      return {
        terms: pairs(
          rowOf(first, row, left, left + depth),
          rowOf(second, column, left, left + depth),
        ),
        operands: [rowOf(scores[stage.id], row)[column]],
      };
    }
    case 'mix': {
      const { v } = stages;
      const [length, width] = v.shape;
      const weights = stages[stage.from[Math.floor((column * heads) / width)]];
      const values = Array.from({ length }, (_, j) => v.data[j * width + column]);
      return { terms: pairs(rowOf(weights, row), values), operands: [] };
    }
    case 'sum':
      return { terms: [], operands: [rowOf(first, row)[column], rowOf(second, row)[column]] };
    case 'norm': {
      const values = rowOf(first, row);
      const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
      const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length;
      return {
        ...{ terms: [], operands: [values[column], mean, Math.sqrt(variance + epsilon)] },
        factor: parameters[stage.id]?.data[column],
        bias: parameters[`${stage.id}Bias`]?.data[column],
      };
    }
  }
}

/** A number within a sum: its sign as an operator. @param {number} value @param {boolean} first */
function operand(value, first) {
  const sign = value < 0 ? '−' : '+';
  const magnitude = brief(Math.abs(value));
  return first ? (value < 0 ? `−${magnitude}` : magnitude) : ` ${sign} ${magnitude}`;
}

/**
 * A sum of products, the largest ones written out and the others counted.
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
 * @param {{ most: number, depth: number, keys: number, activation?: string }} sizes most: products
 *   that are written out; depth: D; keys: how many are attended to
 */
export function inWords(stage, explanation, { most, depth, keys, activation = 'ReLU' }) {
  const { terms, operands, bias, factor } = explanation;
  const offset = bias ? operand(bias, false) : '';
  switch (stage.kind) {
    case 'input':
      return '';
    case 'product': {
      const sum = writtenOut(terms, most) + offset;
      if (stage.id !== 'hidden') return sum;
      const value = brief(terms.reduce((total, [a, b]) => total + a * b, bias ?? 0));
      return `${activation === 'ReLU' ? `max(0, ${value})` : `${activation}(${value})`} of ${sum}`;
    }
    case 'mix':
      return writtenOut(terms, most);
    case 'weights':
      return operands[0] === undefined
        ? ''
        : `softmax over ${keys} ${keys === 1 ? 'key' : 'keys'}, score ${brief(operands[0])} = (${writtenOut(terms, most)}) / √${depth}`;
    case 'sum':
      return `${operand(operands[0], true)}${operand(operands[1], false)}`;
    case 'norm': {
      const [value, mean, deviation] = operands;
      const times = factor === undefined ? '' : ` · ${brief(factor)}`;
      return `(${operand(value, true)}${operand(-mean, false)}) / ${brief(deviation)}${times}${offset}`;
    }
  }
}
