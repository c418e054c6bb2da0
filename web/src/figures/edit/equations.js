import { mask } from '../../frame/equation.js';

/** Queries, keys or values of all heads: Q, and q. @param {string} symbol @param {string} name */
const projected = (symbol, name) =>
  String.raw`{[\,${symbol}_1 \,\ldots\, ${symbol}_H\,] = X\,\htmlData{part=${name}}{W_${name}^\top}}`;

/** @param {boolean} isMasked */
const layerOf = (isMasked) =>
  String.raw`{\htmlData{part=output}{Y} = [\,O_1 \,\ldots\, O_H\,]\, \htmlData{part=o}{W_o^\top}},\qquad\allowbreak {O_h = \htmlData{part=weights}{\operatorname{softmax}\!\left(\frac{Q_h\,K_h^\top}{\sqrt D}${isMasked ? mask.term : ''}\right)}\, V_h},\qquad\allowbreak ${projected('Q', 'q')},\qquad\allowbreak ${projected('K', 'k')},\qquad\allowbreak ${projected('V', 'v')}${isMasked ? `,${mask.meaning}` : ''}`;

export const layer = layerOf(false);

export const masked = layerOf(true);
