import { windowLength } from './precision.js';

export const error = String.raw`\bigl|\,\tilde P_{i,c} - P_{i,c}\,\bigr|\qquad \tilde P_{i,2j} = \mathrm{fl}\bigl(\sin\,\mathrm{fl}(i / \mathrm{fl}(b^{2j/d}))\bigr)`;

export const drift = String.raw`\max_{k,l}\bigl|\,W^{(s)}_{kl} - W^{(0)}_{kl}\,\bigr|,\qquad W^{(s)} = \operatorname{softmax}\frac{P_s P_s^{\mathsf T}}{\sqrt d},\qquad P_s = P_{s,\,\dots,\,s+${windowLength - 1}}`;
