export const paths = String.raw`\begin{aligned}
  &\text{CNN: } \htmlData{part=cnn}{\lceil\, |i-j| / (k-1)\, \rceil} \\
  &\text{RNN: } \htmlData{part=rnn}{|i-j|+1} \\
  &\text{self-attention: } \htmlData{part=attention}{1}
\end{aligned}`;
