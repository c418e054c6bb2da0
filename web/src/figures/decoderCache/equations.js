import { part } from '../../drawing/equation.js';

const weights = part('w', 'w_t');

export const step = String.raw`{${weights} = \operatorname{softmax}\!\left(\frac{${part('q', 'q_t')}\,[\,${part('k', String.raw`k_0 \,\ldots\, k_t`)}\,]^\top}{\sqrt{D}}\right)},\qquad\allowbreak {${weights}\,[\,${part('v', String.raw`v_0 \,\ldots\, v_t`)}\,] \;\longrightarrow\; ${part('y', 'y_t')}}`;
