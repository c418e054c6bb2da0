import { mask } from '../../frame/equation.js';

/**
 * @param {string} read symbol of the layer's input
 * @param {boolean} [turns] whether positions rotate queries and keys
 */
function weightsOf(read, turns = false) {
  const projected = (/** @type {string} */ name) => {
    const product = String.raw`\htmlData{part=sum}{${read}}\,W_${name}^\top`;
    return turns ? String.raw`\operatorname{turn}\bigl(${product}\bigr)` : product;
  };
  const of = (/** @type {string} */ term, /** @type {string} */ meaning) =>
    String.raw`{\htmlData{part=w}{W} = \operatorname{softmax}\!\left(\frac{Q\,K^\top}{\sqrt D}${term}\right)},\qquad\allowbreak {Q = ${projected('q')}},\qquad\allowbreak {K = ${projected('k')}}${meaning}`;
  return { open: of('', ''), masked: of(mask.term, `,${mask.meaning}`) };
}

export const weights = {
  plain: weightsOf(String.raw`\htmlData{part=x}{X}`),
  added: weightsOf(String.raw`(\htmlData{part=x}{X} + \htmlData{part=p}{P})`),
  turned: weightsOf('X', true),
};
