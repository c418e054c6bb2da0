import { mask } from '../../frame/equation.js';

export const stages = String.raw`{\htmlData{part=head}{O} = \htmlData{part=weights}{\operatorname{softmax}}\!\left(\frac{\htmlData{part=scores}{\htmlData{part=q}{Q}\,\htmlData{part=k}{K}^\top}}{\htmlData{part=scaled}{\sqrt{D}}}${mask.term}\right)\htmlData{part=v}{V}}\qquad\allowbreak {\htmlData{part=q}{Q} = \htmlData{part=x}{X}\,W_q^\top}\qquad\allowbreak {\htmlData{part=k}{K} = \htmlData{part=x}{X}\,W_k^\top}\qquad\allowbreak {\htmlData{part=v}{V} = \htmlData{part=x}{X}\,W_v^\top}${mask.meaning}`;
