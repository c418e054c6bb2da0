import { javascriptProgram, pythonProgram } from '../../frame/programs.js';
import { randomCount, widths } from './scale.js';

/** Programs for the spread of random scores, by width: Python draws other random numbers. */
export const scaleCode = () => ({
  python: pythonProgram({
    body: `torch.manual_seed(1)
rows = []
for D in ${JSON.stringify(widths)}:
    q, k = torch.randn(${randomCount}, D), torch.randn(${randomCount}, D)
    scores = q @ k.T
    undivided, divided = scores.softmax(1), (scores / D ** 0.5).softmax(1)
    rows.append([D, scores.std(), undivided.amax(1).mean(), divided.amax(1).mean()])
result = torch.tensor(rows)`,
    result: 'result',
  }),
  javascript: javascriptProgram({
    body: `const mean = (values) => values.reduce((a, b) => a + b, 0) / values.length;
const n = ${randomCount};
const rows = ${JSON.stringify(widths)}.map((D) => {
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
const result = { data: Float32Array.from(rows.flat()), shape: [rows.length, 4] };`,
    result: 'result',
  }),
});
