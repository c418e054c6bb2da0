import { softmaxTerms, sumOfProducts } from '../../core/terms.js';
import { turnedRow } from '../../core/turned.js';
import { matrixOf, valueAt } from '../../drawing/matrix.js';
import { brief } from '../../drawing/numbers.js';
import * as texts from '../../texts/figures/stages.js';

/** @typedef {import('../../drawing/matrix.js').Matrix} Matrix */
/** @typedef {import('../../core/stages.js').StageId} StageId */

/**
 * The matrices of one head and what they were computed with. `StagesFigure` describes the options.
 * @typedef {object} Head
 * @property {readonly string[]} keys names of the keys, as shown
 * @property {Record<StageId, Matrix>} matrices
 * @property {Matrix} attended outputs of all heads
 * @property {import('../../core/stages.js').Projections | null} projections
 * @property {number} depth
 * @property {number} [sink]
 * @property {boolean} [normalises]
 * @property {import('../../core/turned.js').Turn} [turn]
 */

/** @param {Matrix} matrix @param {number} row */
const rowOf = ({ data, columns }, row) => data.subarray(row * columns, (row + 1) * columns);

/**
 * The calculation of a number, as `Terms` shows it, or null if no single sum explains the number.
 * @param {Head} head
 * @param {StageId} stage
 * @param {import('../../drawing/selection.svelte.js').Cell} cell
 * @param {number} most number of terms to list
 */
export function calculationOf(head, stage, { row, column }, most) {
  const { keys, matrices, attended, projections, depth, sink, normalises, turn } = head;
  const result = valueAt(matrices[stage], { row, column });
  /**
   * @param {ArrayLike<number>} a
   * @param {ArrayLike<number>} b
   * @param {[string, string]} factors
   * @param {number} [offset]
   * @param {readonly string[]} [names] names of the terms, if they are tokens
   */
  const products = (a, b, factors, offset, names) => {
    const { terms, others, rest } = sumOfProducts(a, b, (i) => names?.[i] ?? String(i), most);
    return {
      heads: /** @type {[string, string, string]} */ ([...factors, texts.product]),
      columns: terms.map(({ name, index, a, b, product }) => ({
        name,
        place: names && index,
        values: /** @type {[number, number, number]} */ ([a, b, product]),
      })),
      note: [
        ...(others ? [texts.rest(others, brief(rest))] : []),
        ...(offset === undefined ? [] : [texts.bias(brief(offset))]),
      ].join(' '),
      result,
    };
  };
  switch (stage) {
    case 'q':
    case 'k':
    case 'v': {
      if (!projections || (normalises && stage !== 'v')) return null;
      const { weight, bias } = projections[stage];
      const isCross = stage !== 'q' && matrices.memory.rows > 0;
      const x = rowOf(isCross ? matrices.memory : matrices.x, row);
      if (!turn || stage === 'v')
        return products(
          x,
          rowOf(matrixOf(weight), column),
          [isCross ? 'E' : 'X', `W_${stage}`],
          bias?.[column],
        );
      const turned = turnedRow(weight, bias, column, { depth, turn, position: row });
      return products(x, turned.row, ['X', texts.turnedMatrix(`W_${stage}`)], turned.bias);
    }
    case 'scores':
      return products(rowOf(matrices.q, row), rowOf(matrices.k, column), ['Q', 'K']);
    case 'weights': {
      const scores = rowOf(matrices.masked, row);
      const softmax = softmaxTerms(scores, (i) => keys[i], column, most, sink);
      const { terms, others, largest, total } = softmax;
      const exponential =
        largest === -Infinity ? 'exp' : `exp(score − ${brief(largest)})`.replace('− −', '+ ');
      return {
        heads: /** @type {[string, string, string]} */ ([texts.score, exponential, texts.share]),
        columns: terms.map(({ index, name, score, exponential, share }) => ({
          ...{ name, place: index, marked: index === column },
          values: /** @type {[number, number, number]} */ ([score, exponential, share]),
        })),
        note: [
          ...(others ? [texts.others(others)] : []),
          ...(sink === undefined ? [] : [texts.sink(brief(sink))]),
          ...(total ? [texts.total(brief(total))] : []),
        ].join(', '),
        explanation: largest === -Infinity ? texts.allMasked : texts.largest(brief(largest)),
        result,
      };
    }
    case 'head': {
      const { data, columns } = matrices.v;
      const values = Float32Array.from(keys, (_, i) => data[i * columns + column]);
      const weights = rowOf(matrices.weights, row);
      return products(weights, values, [texts.weight, 'V'], undefined, keys);
    }
    case 'output': {
      if (!projections?.o) return null;
      const { weight, bias } = projections.o;
      const factors = rowOf(matrixOf(weight), column);
      const sum = products(rowOf(attended, row), factors, [texts.heads, 'W_o'], bias?.[column]);
      // The pictures show one head at a time, so each name gives the head and the column in the head.
      for (const term of sum.columns) {
        const [at, within] = [Math.floor(Number(term.name) / depth), Number(term.name) % depth];
        term.name = `${at + 1}: ${within}`;
      }
      return { ...sum, corner: texts.headColumn };
    }
    default:
      return null;
  }
}
