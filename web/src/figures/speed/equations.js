export const rate = String.raw`\text{FLOP/s} = \frac{4\,H N^2 D}{\text{seconds}}`;

export const growth = String.raw`t(N) \propto N^{s},\qquad s = \frac{\Delta \log t}{\Delta \log N} \to 2`;
