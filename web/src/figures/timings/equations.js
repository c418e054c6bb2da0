export const growth = String.raw`{t(n) \propto n^{\htmlData{part=slope}{s}}},\qquad\allowbreak {\htmlData{part=slope}{s} = \frac{\Delta \log t}{\Delta \log n}}`;
