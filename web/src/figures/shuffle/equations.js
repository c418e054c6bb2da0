export const effect = String.raw`{\max\,\bigl|\,\htmlData{part=after}{\operatorname{shuffle}\bigl(f(X)\bigr)} - \htmlData{part=before}{f\bigl(\operatorname{shuffle}(X)\bigr)}\,\bigr|}`;
