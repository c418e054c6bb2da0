import { mask } from '../../drawing/equation.js';

/** @param {boolean} turns whether positions rotate queries and keys */
function stagesOf(turns) {
  const projected = (/** @type {string} */ name) => {
    const product = String.raw`\htmlData{part=x}{X}\,W_${name}^\top`;
    return turns ? String.raw`\operatorname{turn}\bigl(${product}\bigr)` : product;
  };
  return String.raw`{\htmlData{part=head}{O} = \htmlData{part=weights}{\operatorname{softmax}}\!\left(\frac{\htmlData{part=scores}{\htmlData{part=q}{Q}\,\htmlData{part=k}{K}^\top}}{\htmlData{part=scaled}{\sqrt{D}}}${mask.term}\right)\htmlData{part=v}{V}}\qquad\allowbreak {\htmlData{part=q}{Q} = ${projected('q')}}\qquad\allowbreak {\htmlData{part=k}{K} = ${projected('k')}}\qquad\allowbreak {\htmlData{part=v}{V} = \htmlData{part=x}{X}\,W_v^\top}`;
}

export const stages = { still: stagesOf(false), turned: stagesOf(true) };
