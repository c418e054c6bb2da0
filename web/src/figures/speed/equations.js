export const rate = String.raw`\htmlData{part=rate}{\text{FLOP/s}} = \frac{4\,H N^2 D}{\text{seconds}}`;

export const growth = String.raw`{t(N) \propto N^{\htmlData{part=slope}{s}}},\qquad\allowbreak {\htmlData{part=slope}{s} = \frac{\Delta \log t}{\Delta \log N} \to 2}`;
