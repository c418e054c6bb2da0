import { mask } from '../../drawing/equation.js';

/** @param {boolean} masked */
const weightsOf = (masked) =>
  String.raw`{\htmlData{part=weights}{W} = \operatorname{softmax}\!\left(\frac{\htmlData{part=rows}{Q}\, \htmlData{part=columns}{K}^\top}{\sqrt{D}}${masked ? mask.term : ''}\right)},\qquad\allowbreak {D = @}${masked ? `,${mask.meaning}` : ''}`;

export const attention = weightsOf(false);

export const masked = weightsOf(true);
