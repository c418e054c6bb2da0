export const growth = String.raw`t(n) \propto n^{s},\qquad s = \frac{\Delta \log t}{\Delta \log n}`;
