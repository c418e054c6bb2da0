/** The mean over all tokens except the first. */
export const loss = String.raw`\text{loss} = -\frac{1}{n-1}\sum_{i=2}^{n} \ln p(t_i \mid t_1 \dots t_{i-1})`;
