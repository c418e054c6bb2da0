/** The prediction from the last row of the layers' output. */
export const next = String.raw`p = \operatorname{softmax}\!\left(\frac{h_n\,E^\top}{T}\right),\qquad\allowbreak {h = \operatorname{norm}(\text{layers}(X))}`;
