import { part } from '../../drawing/equation.js';

const inLine = (/** @type {string} */ tex) => String.raw`\textstyle ${tex}`;
const [n, d, k, w] = [part('n', 'n'), part('d', 'd'), part('k', 'k'), part('k', 'w')];

/** The costs of each layer: multiply-adds, sequential steps, longest path. */
export const costs = {
  convolution: {
    operations: inLine(`${n} ${k} ${d}^2`),
    sequential: inLine('1'),
    path: inLine(String.raw`\lceil (${n}-1)/(${k}-1) \rceil`),
  },
  recurrence: {
    operations: inLine(`2 ${n} ${d}^2`),
    sequential: inLine(n),
    path: inLine(n),
  },
  attention: {
    operations: inLine(`2 ${n}^2 ${d}`),
    sequential: inLine('1'),
    path: inLine('1'),
  },
  projections: {
    operations: inLine(`2 ${n}^2 ${d} + 4 ${n} ${d}^2`),
    sequential: inLine('1'),
    path: inLine('1'),
  },
  window: {
    operations: inLine(String.raw`{\approx 2 ${n}\,(2${w} + 1)\,${d},}\;\allowbreak {${w} = @}`),
    sequential: inLine('1'),
    path: inLine(String.raw`\lceil (${n}-1)/2${w} \rceil`),
  },
};
