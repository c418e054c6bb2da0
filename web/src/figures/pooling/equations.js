import { part } from '../../frame/equation.js';
import { weighting } from './pooling.js';

const distance = String.raw`-\frac{(q-k)^2}{2\sigma^2}`;

/** a(q, k) of each scoring function. @type {Record<import('./pooling.js').Scoring, string>} */
const scores = {
  gaussian: distance,
  scaledDot: String.raw`\frac{q^\top k}{\sqrt{d}}`,
  additive: String.raw`w_v^\top \tanh(W_q q + W_k k)`,
  average: '1',
  hard: distance,
  boxcar: String.raw`1_{|q-k| < \sigma}`,
  epanechnikov: String.raw`\max\Bigl(1-\frac{|q-k|}{\sigma},\,0\Bigr)`,
};

const weights = {
  softmax: String.raw`\operatorname{softmax}_i\bigl(a(q, k_i)\bigr)`,
  share: String.raw`\frac{a(q, k_i)}{\sum_j a(q, k_j)}`,
  best: String.raw`\bigl[\,i = \arg\max_j a(q, k_j)\bigr]`,
};

const query = part('query', 'q');

/** @param {import('./pooling.js').Scoring} scoring */
const pooling = (scoring) => String.raw`\begin{aligned}
  ${part('output', 'f')}(${query}) &= \sum_i ${part('weight', weights[weighting(scoring)])}\; ${part('value', 'y_i')} \\
  a(${query}, ${part('key', 'k')}) &= ${scores[scoring]}
\end{aligned}`;

export const poolingBy = {
  gaussian: pooling('gaussian'),
  scaledDot: pooling('scaledDot'),
  additive: pooling('additive'),
  average: pooling('average'),
  hard: pooling('hard'),
  boxcar: pooling('boxcar'),
  epanechnikov: pooling('epanechnikov'),
};
