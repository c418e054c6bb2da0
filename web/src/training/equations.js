import { part } from '../drawing/equation.js';

const loss = part('loss', 'L');

export const learning = String.raw`${loss} = -\frac{1}{n} \sum_{i=1}^{n} \ln p_i(\text{right answer}),\qquad\allowbreak {\theta \leftarrow \theta - ${part('rate', String.raw`\eta`)} \cdot \operatorname{AdamW}(\text{gradient of } ${loss})}`;

export const accuracy = String.raw`\text{answer}_i = \operatorname{argmax}_s\, p_i(s)`;

export const share = String.raw`\text{right}(n) = \frac{\bigl|\{i : \text{answer}_i = y_i\}\bigr|}{\bigl|\{i : i \text{ is asked}\}\bigr|},\qquad\allowbreak {\text{answer}_i = \operatorname{argmax}_s\, p_\theta(s \mid x_1, \dots, x_n)}`;

export const gram = String.raw`G_{ik} = P_i \cdot P_k,\qquad\allowbreak {P \leftarrow P - \eta \cdot \operatorname{AdamW}\left(\frac{\partial L}{\partial P}\right)}`;
