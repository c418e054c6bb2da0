export const schemes = String.raw`W = \operatorname{softmax}\!\left(\frac{(R_i\, q_i)^{\mathsf T} R_k\, k_k + q_i^{\mathsf T} a_{k-i}}{\sqrt D} + b_{k-i}\right),\qquad q_i = W_q\,(x_i + p_i)`;
