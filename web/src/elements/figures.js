// The entry point `attn/figures`: defines the elements. figures.d.ts describes them.

import CurvesDrawing from './CurvesDrawing.svelte';
import { curvesOf, encodingOf, headsOf, heatmapOf, weightsOf } from './data.js';
import EncodingDrawing from './EncodingDrawing.svelte';
import { figureElement } from './FigureElement.svelte.js';
import HeadsDrawing from './HeadsDrawing.svelte';
import HeatmapDrawing from './HeatmapDrawing.svelte';
import WeightsDrawing from './WeightsDrawing.svelte';

export const AttnWeights = figureElement({
  properties: {
    ...{ weights: 'tensor', shape: 'numbers', tokens: 'names', keyTokens: 'names' },
    ...{ head: 'number', causal: 'flag', window: 'number', validLen: 'number' },
  },
  defaults: { head: 0, causal: false },
  data: 'weights',
  read: weightsOf,
  drawing: WeightsDrawing,
});

export const AttnHeads = figureElement({
  properties: { weights: 'tensor', shape: 'numbers', head: 'number' },
  defaults: { head: 0 },
  data: 'weights',
  read: headsOf,
  drawing: HeadsDrawing,
});

export const AttnHeatmap = figureElement({
  properties: {
    ...{ values: 'tensor', shape: 'numbers', rowLabels: 'names', columnLabels: 'names' },
    ...{ rowName: 'text', columnName: 'text', scale: 'text', max: 'number' },
  },
  data: 'values',
  read: heatmapOf,
  drawing: HeatmapDrawing,
});

export const AttnEncoding = figureElement({
  properties: {
    ...{ encoding: 'tensor', shape: 'numbers', positions: 'numbers', base: 'number' },
    ...{ columns: 'numbers', curves: 'text' },
  },
  data: 'encoding',
  read: encodingOf,
  drawing: EncodingDrawing,
});

export const AttnCurves = figureElement({
  properties: {
    ...{ values: 'tensor', shape: 'numbers', positions: 'numbers', columns: 'numbers' },
    ...{ labels: 'names', xName: 'text' },
  },
  data: 'values',
  read: curvesOf,
  drawing: CurvesDrawing,
});

const elements = {
  'attn-weights': AttnWeights,
  'attn-heads': AttnHeads,
  'attn-heatmap': AttnHeatmap,
  'attn-encoding': AttnEncoding,
  'attn-curves': AttnCurves,
};

if (globalThis.customElements) {
  for (const [name, element] of Object.entries(elements)) {
    // Two copies of this module may be on the same page. The first one defines the elements.
    if (!customElements.get(name)) customElements.define(name, element);
  }
}

/**
 * Converts numbers that Python sent as bytes, { data, shape, dtype }, to a tensor.
 * @param {any} value
 */
function fromPython(value) {
  if (!(value?.data instanceof DataView)) return value;
  const { data, shape, dtype = 'float32' } = value;
  if (dtype !== 'float32') throw new TypeError(`the tensor has dtype ${dtype}, needs float32`);
  // Copy the bytes, because a Float32Array cannot begin at every address.
  const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength).slice();
  return { data: new Float32Array(bytes.buffer), shape };
}

/** @param {string} property */
const traitOf = (property) => property.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/**
 * Draws an anywidget model. Its trait `element` names the element, and the other traits are the
 * element's properties in snake_case. The trait `selected` receives the selection.
 * @param {{ model: any, el: HTMLElement }} widget
 */
export function render({ model, el }) {
  const name = model.get('element') ?? 'attn-weights';
  if (!(name in elements)) {
    throw new TypeError(`element: got '${name}', needs ${Object.keys(elements).join(' or ')}`);
  }
  const element = /** @type {any} */ (document.createElement(name));
  /** @type {[string, () => void][]} */
  const listeners = [];
  for (const property of Object.keys(Object.getPrototypeOf(element))) {
    const trait = traitOf(property);
    const update = () => {
      const value = model.get(trait);
      if (value !== undefined) element[property] = fromPython(value);
    };
    update();
    model.on(`change:${trait}`, update);
    listeners.push([`change:${trait}`, update]);
  }
  const report = (/** @type {string} */ trait, /** @type {unknown} */ value) => {
    if (model.get(trait) === undefined) return;
    model.set(trait, value);
    model.save_changes();
  };
  /** @param {string} event @param {(detail: any) => void} listener */
  const on = (event, listener) =>
    element.addEventListener(event, (/** @type {CustomEvent} */ { detail }) => listener(detail));
  on('select', (detail) => {
    report('selected', detail);
    if (name === 'attn-heads') report('head', detail.head);
  });
  on('headchange', ({ head }) => report('head', head));
  on('columnschange', ({ columns }) => report('columns', columns));
  el.append(element);
  return () => {
    for (const [event, update] of listeners) model.off(event, update);
    element.remove();
  };
}

/** The form in which anywidget expects a module. */
export default { render };
