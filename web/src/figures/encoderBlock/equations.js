import { part } from '../../drawing/equation.js';

const [x, a, h, f, y] = ['x', 'a', 'h', 'f', 'y'].map((name) => part(name, name.toUpperCase()));
const norm = String.raw`\operatorname{norm}`;
const attention = String.raw`\operatorname{attention}`;
/** A feed-forward network. The name of its activation replaces the `@`. */
const feedForward = (/** @type {string} */ of) =>
  String.raw`\operatorname{@}(${of}\,W_1^\top)\,W_2^\top`;
/** A gated feed-forward network. */
const gated = (/** @type {string} */ of) =>
  String.raw`\bigl(\operatorname{@}(${of}\,W_g^\top) \circ ${of}\,W_u^\top\bigr)\,W_d^\top`;

const steps = (/** @type {string[]} */ ...all) =>
  all.map((step) => `{${step}}`).join(String.raw`\qquad\allowbreak `);

/**
 * The steps of each kind of block. A block normalises the input of each sublayer, the output of
 * each sublayer, both of them, or each residual sum.
 */
export const block = {
  normFirst: steps(
    `${a} = ${attention}(${norm}(${x}))`,
    `${h} = ${x} + ${a}`,
    `${f} = ${feedForward(`${norm}(${h})`)}`,
    `${y} = ${h} + ${f}`,
  ),
  normLast: steps(
    `${a} = ${attention}(${x})`,
    `${h} = ${norm}(${x} + ${a})`,
    `${f} = ${feedForward(h)}`,
    `${y} = ${norm}(${h} + ${f})`,
  ),
  parallel: steps(
    `${a} = ${attention}(${norm}_1(${x}))`,
    `${h} = ${x} + ${a}`,
    `${f} = ${feedForward(`${norm}_2(${x})`)}`,
    `${y} = ${h} + ${f}`,
  ),
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
