import { part } from '../../drawing/equation.js';
import { weighting } from './pooling.js';

const query = part('query', 'q');
const key = part('key', 'k');

/** a(q, k) for each form of a scoring function. σ appears only if it affects the result. */
const scores = {
  gaussian: String.raw`-\frac{(q-k)^2}{2\sigma^2}`,
  scaledDot: 'q\\,k',
  scaledDotOfEncodings: String.raw`\frac{p(q/\sigma)^\top\, p(k/\sigma)}{\sqrt{d}}`,
  additive: String.raw`w_v^\top \tanh(W_q q + W_k k)`,
  additiveByHand: String.raw`w_v^\top \tanh(W_q q + W_k k) = 4\tanh\Bigl(\frac{q-k}{\sigma}+1\Bigr) - 4\tanh\Bigl(\frac{q-k}{\sigma}-1\Bigr)`,
  average: '1',
  hard: '-(q-k)^2',
  boxcar: String.raw`1_{|q-k| < \sigma}`,
  epanechnikov: String.raw`\max\Bigl(1-\frac{|q-k|}{\sigma},\,0\Bigr)`,
};

const weights = {
  softmax: String.raw`\operatorname{softmax}_i\bigl(a(q, k_i)\bigr)`,
  share: String.raw`\frac{a(q, k_i)}{\sum_j a(q, k_j)}`,
  best: String.raw`\bigl[\,i = \arg\max_j a(q, k_j)\bigr]`,
};

/** @param {import('./pooling.js').Form} form */
const pooling = (form) =>
  String.raw`{${part('output', 'f')}(${query}) = \sum_i ${part('weight', weights[weighting(form)])}\; ${part('value', 'y_i')}},\qquad\allowbreak {a(${query}, ${key}) = ${scores[form]}}`;

export const poolingBy = {
  gaussian: pooling('gaussian'),
  scaledDot: pooling('scaledDot'),
  scaledDotOfEncodings: pooling('scaledDotOfEncodings'),
  additive: pooling('additive'),
  additiveByHand: pooling('additiveByHand'),
  average: pooling('average'),
  hard: pooling('hard'),
  boxcar: pooling('boxcar'),
  epanechnikov: pooling('epanechnikov'),
};
