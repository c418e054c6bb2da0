import { part } from '../../frame/equation.js';

const [x, a, h, f, y] = ['x', 'a', 'h', 'f', 'y'].map((name) => part(name, name.toUpperCase()));
const norm = String.raw`\operatorname{norm}`;
const attention = String.raw`\operatorname{attention}`;
const feedForward = (/** @type {string} */ of, activation = 'ReLU') =>
  String.raw`\operatorname{${activation}}(${of}\,W_1^\top)\,W_2^\top`;

const normFirst = (/** @type {string} */ activation) =>
  String.raw`{${a} = ${attention}(${norm}(${x}))}\qquad\allowbreak {${h} = ${x} + ${a}}\qquad\allowbreak {${f} = ${feedForward(`${norm}(${h})`, activation)}}\qquad\allowbreak {${y} = ${h} + ${f}}`;

/** The steps of a block, with normalisation before or after them. */
export const block = {
  normFirst: normFirst('ReLU'),
  /** As language models are made. */
  gelu: normFirst('GELU'),
  normLast: String.raw`{${a} = ${attention}(${x})}\qquad\allowbreak {${h} = ${norm}(${x} + ${a})}\qquad\allowbreak {${f} = ${feedForward(h)}}\qquad\allowbreak {${y} = ${norm}(${h} + ${f})}`,
};
