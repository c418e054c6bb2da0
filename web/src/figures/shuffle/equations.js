/** @param {string} f */
const effectOf = (f) =>
  String.raw`{\max\,\bigl|\,\htmlData{part=after}{\operatorname{shuffle}\bigl(f(X)\bigr)} - \htmlData{part=before}{f\bigl(\operatorname{shuffle}(X)\bigr)}\,\bigr|}${f}`;

export const added = effectOf(
  String.raw`,\qquad\allowbreak {f(X) = \operatorname{attention}(X + P) \text{, or } \operatorname{attention}(X)}`,
);

export const turned = effectOf('');
