import { mask } from '../../drawing/equation.js';

/**
 * The equation for the queries, keys or values of all heads. For queries, `symbol` is Q and `name`
 * is q.
 * @param {string} symbol @param {string} name @param {boolean} [turns] whether positions rotate
 *   them
 */
function projected(symbol, name, turns = false) {
  const product = String.raw`X\,\htmlData{part=${name}}{W_${name}^\top}`;
  const all = turns ? String.raw`\operatorname{turn}\bigl(${product}\bigr)` : product;
  return String.raw`{[\,${symbol}_1 \,\ldots\, ${symbol}_H\,] = ${all}}`;
}

/**
 * @param {boolean} isMasked
 * @param {boolean} turns whether positions rotate queries and keys
 */
const layerOf = (isMasked, turns) =>
  String.raw`{\htmlData{part=output}{Y} = [\,O_1 \,\ldots\, O_H\,]\, \htmlData{part=o}{W_o^\top}},\qquad\allowbreak {O_h = \htmlData{part=weights}{\operatorname{softmax}\!\left(\frac{Q_h\,K_h^\top}{\sqrt D}${isMasked ? mask.term : ''}\right)}\, V_h},\qquad\allowbreak ${projected('Q', 'q', turns)},\qquad\allowbreak ${projected('K', 'k', turns)},\qquad\allowbreak ${projected('V', 'v')}${isMasked ? `,${mask.meaning}` : ''}`;

export const layer = { still: layerOf(false, false), turned: layerOf(false, true) };

export const masked = { still: layerOf(true, false), turned: layerOf(true, true) };
