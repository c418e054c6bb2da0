import { part } from '../../frame/equation.js';

const [x, a, h, f, y] = ['x', 'a', 'h', 'f', 'y'].map((name) => part(name, name.toUpperCase()));
const norm = String.raw`\operatorname{norm}`;
const attention = String.raw`\operatorname{attention}`;
const feedForward = (/** @type {string} */ of) =>
  String.raw`\operatorname{ReLU}(${of}\,W_1^\top)\,W_2^\top`;

/** The steps of a block, with normalisation before or after them. */
export const block = {
  normFirst: String.raw`{${a} = ${attention}(${norm}(${x}))}\qquad\allowbreak {${h} = ${x} + ${a}}\qquad\allowbreak {${f} = ${feedForward(`${norm}(${h})`)}}\qquad\allowbreak {${y} = ${h} + ${f}}`,
  normLast: String.raw`{${a} = ${attention}(${x})}\qquad\allowbreak {${h} = ${norm}(${x} + ${a})}\qquad\allowbreak {${f} = ${feedForward(h)}}\qquad\allowbreak {${y} = ${norm}(${h} + ${f})}`,
};
