import { soFar } from '../../core/decode.js';
import { matrixOf } from '../../drawing/matrix.js';

/**
 * The matrices at a step: the query of the new token and its weights, and the keys, values and
 * outputs of all tokens so far. Rows of later tokens are empty.
 * @param {import('../../core/decode.js').Decoding} run
 * @param {number} step
 */
export function matricesAt({ q, keys, values, weights, output }, step) {
  const [length, width] = q.shape;
  const [numHeads] = weights[step].shape;
  // Transpose the weights, so that the weights of each key are next to this key and its value.
  const turned = new Float32Array(length * numHeads);
  weights[step].data.forEach((weight, i) => {
    const [head, key] = [Math.floor(i / (step + 1)), i % (step + 1)];
    turned[key * numHeads + head] = weight;
  });
  return {
    q: { data: q.data.subarray(step * width, (step + 1) * width), rows: 1, columns: width },
    k: soFar(matrixOf(keys), step),
    w: { data: turned, rows: length, columns: numHeads },
    v: soFar(matrixOf(values), step),
    y: soFar(matrixOf(output), step),
  };
}
