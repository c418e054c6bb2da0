import { part } from '../../frame/equation.js';

const [x, a, h, f, y] = ['x', 'a', 'h', 'f', 'y'].map((name) => part(name, name.toUpperCase()));
const norm = String.raw`\operatorname{norm}`;
const attention = String.raw`\operatorname{attention}`;
const feedForward = (/** @type {string} */ of, activation = 'ReLU') =>
  String.raw`\operatorname{${activation}}(${of}\,W_1^\top)\,W_2^\top`;

const steps = (/** @type {string[]} */ ...all) =>
  all.map((step) => `{${step}}`).join(String.raw`\qquad\allowbreak `);

const normFirst = (/** @type {string} */ activation) =>
  steps(
    `${a} = ${attention}(${norm}(${x}))`,
    `${h} = ${x} + ${a}`,
    `${f} = ${feedForward(`${norm}(${h})`, activation)}`,
    `${y} = ${h} + ${f}`,
  );
const normLast = (/** @type {string} */ activation) =>
  steps(
    `${a} = ${attention}(${x})`,
    `${h} = ${norm}(${x} + ${a})`,
    `${f} = ${feedForward(h, activation)}`,
    `${y} = ${norm}(${h} + ${f})`,
  );
/** A gated feed-forward network. The activation f of its gate depends on the model. */
const gated = (/** @type {string} */ of) =>
  String.raw`\bigl(\operatorname{f}(${of}\,W_g^\top) \circ ${of}\,W_u^\top\bigr)\,W_d^\top`;

/**
 * The steps of each kind of block. A block normalises the input of each sublayer, the output of
 * each sublayer, both of them, or each residual sum.
 */
export const block = {
  normFirst: normFirst('ReLU'),
  /** The block of the page's language model. */
  gelu: normFirst('GELU'),
  parallel: steps(
    `${a} = ${attention}(${norm}_1(${x}))`,
    `${h} = ${x} + ${a}`,
    `${f} = ${feedForward(`${norm}_2(${x})`, 'GELU')}`,
    `${y} = ${h} + ${f}`,
  ),
  normLast: normLast('ReLU'),
  normLastGelu: normLast('GELU'),
  gated: steps(
    `${a} = ${attention}(${norm}(${x}))`,
    `${h} = ${x} + ${a}`,
    `${f} = ${gated('N')}`,
    `N = ${norm}(${h})`,
    `${y} = ${h} + ${f}`,
  ),
  normsBoth: steps(
    `${a} = ${norm}(${attention}(${norm}(${x})))`,
    `${h} = ${x} + ${a}`,
    `${f} = ${norm}(${gated('N')})`,
    `N = ${norm}(${h})`,
    `${y} = ${h} + ${f}`,
  ),
  normsOutputs: steps(
    `${a} = ${norm}(${attention}(${x}))`,
    `${h} = ${x} + ${a}`,
    `${f} = ${norm}(${gated(h)})`,
    `${y} = ${h} + ${f}`,
  ),
};
