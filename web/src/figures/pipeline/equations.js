/** @param {string} read what the layer reads */
const weightsOf = (read) =>
  String.raw`{\htmlData{part=w}{W} = \operatorname{softmax}\!\left(\frac{Q\,K^\top}{\sqrt D}\right)},\qquad\allowbreak {Q = \htmlData{part=sum}{${read}}\,W_q^\top},\qquad\allowbreak {K = \htmlData{part=sum}{${read}}\,W_k^\top}`;

export const encoded = weightsOf(String.raw`(\htmlData{part=x}{X} + \htmlData{part=p}{P})`);

/** Of a layer of a model: X is what comes to it. */
export const read = weightsOf(String.raw`\htmlData{part=sum}{X}`);

export const plain = weightsOf(String.raw`\htmlData{part=x}{X}`);
