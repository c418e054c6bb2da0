import { part } from '../../drawing/equation.js';

const [q, k] = [part('q', 'q_i'), part('k', 'k_j')];

export const alignment = String.raw`a(${q}, ${k}) = w_v^\top \tanh\left(W_q\,${q} + W_k\,${k}\right),\qquad\allowbreak {${part('w', String.raw`\alpha_{ij}`)} = \operatorname{softmax}_j\, a(${q}, ${k})}`;
