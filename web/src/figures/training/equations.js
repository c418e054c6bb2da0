import { part } from '../../frame/equation.js';

const loss = part('loss', 'L');

export const learning = String.raw`${loss} = -\frac{1}{n} \sum_{i=1}^{n} \log p_\theta(y_i \mid x),\qquad\allowbreak {\theta \leftarrow \theta - ${part('rate', String.raw`\eta`)} \cdot \operatorname{AdamW}\left(\frac{\partial ${loss}}{\partial \theta}\right)}`;

export const accuracy = String.raw`\text{answer}_i = \operatorname{argmax}_s\, p_\theta(s \mid x)`;
