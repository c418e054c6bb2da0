export const effect = String.raw`\max\,\bigl|\,\htmlData{part=after}{\pi\bigl(f(X)\bigr)} - \htmlData{part=before}{f\bigl(\pi(X)\bigr)}\,\bigr|`;
