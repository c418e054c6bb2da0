/** @param {string} read what the attention inside f reads */
const effectOf = (read) =>
  String.raw`{\max\,\bigl|\,\htmlData{part=after}{\pi\bigl(f(X)\bigr)} - \htmlData{part=before}{f\bigl(\pi(X)\bigr)}\,\bigr|},\qquad\allowbreak {f(X) = \operatorname{attention}(${read})}`;

export const encoded = effectOf('X + P');

export const plain = effectOf('X');
