export const products = String.raw`{\bigl(P P^\top\bigr)_{ik} = \sum_{j}\, \cos\bigl(\htmlData{part=distance}{(i-k)}\; b^{-2j/d}\bigr)}\qquad\allowbreak \text{for even } d`;
