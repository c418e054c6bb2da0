import { randomCount, widths } from '../../core/scale.js';
import { printMatrix } from '../../programs/print.js';
import { js, py } from '../../programs/writers.js';

/** Programs that compute the spread of random scores and the largest weights for each width. */
export const scaleCode = () =>
  printMatrix('result', 'rows', 'columns', [
    {
      python: py`rows = []
for D in ${widths}:
    q, k = (normal(${randomCount}, D, 1, stream) for stream in (0, 1))
    scores = q @ k.T
    undivided, divided = scores.softmax(1), (scores / D ** 0.5).softmax(1)
    rows.append([D, scores.std(correction=0), undivided.amax(1).mean(), divided.amax(1).mean()])
result = torch.tensor(rows)`,
      javascript: js`const mean = (values) => values.reduce((a, b) => a + b, 0) / values.length;
const n = ${randomCount};
const all = ${widths}.map((D) => {
  const [q, k] = [0, 1].map((stream) => attn.randomNormal({ shape: [1, n, D], seed: 1, stream }));
  const weights = (scale) =>
    attn.scaledDotProductAttention(q, k, k, {
      ...{ numHeads: 1, scale, needWeights: true, needScaledScores: true },
    });
  const { scaledScores: scores, weights: undivided } = weights(1);
  const largest = ({ data }) =>
    mean(Array.from({ length: n }, (_, i) => Math.max(...data.subarray(i * n, (i + 1) * n))));
  const middle = mean(scores.data);
  const spread = Math.sqrt(mean(scores.data.map((s) => (s - middle) ** 2)));
  return [D, spread, largest(undivided), largest(weights(1 / Math.sqrt(D)).weights)];
});
const result = { data: Float32Array.from(all.flat()), shape: [all.length, 4] };`,
    },
  ]);
