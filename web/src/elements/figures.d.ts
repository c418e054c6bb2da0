/**
 * Custom elements that draw attention and positional encodings: `<attn-weights>`, `<attn-heads>`,
 * `<attn-heatmap>`, `<attn-encoding>` and `<attn-curves>`. Importing this module defines them.
 *
 * If an element's properties do not match, the element shows an error message and dispatches an
 * `error` event. Unless a listener prevents the event's default, the error is also reported like an
 * uncaught error.
 */

/** A typed array of numbers. It needs the property `shape`, unless names determine the shape. */
export type TypedArray =
  | Float32Array
  | Float64Array
  | Int8Array
  | Uint8Array
  | Uint8ClampedArray
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array;

/**
 * The forms in which elements accept a tensor: a tensor of attn, which is an object with `data`
 * (row-major) and `shape`; nested arrays; or a typed array. The element copies the numbers.
 */
export type TensorInput =
  | { readonly data: ArrayLike<number>; readonly shape: readonly number[]; readonly type?: string }
  | readonly (readonly number[] | TypedArray)[]
  | readonly (readonly (readonly number[])[])[]
  | TypedArray;

/** Properties and events of every element. */
interface FigureElement<Detail, Events = {}> extends HTMLElement {
  /** Title above the drawing, and its name for screen readers. Attribute `label`. */
  label: string | null;
  /**
   * Colours. `'auto'`, the default, follows the CSS property `color-scheme` of the surrounding page.
   * Attribute `theme`.
   */
  theme: 'auto' | 'light' | 'dark' | null;
  /** Shape of a typed array. Attribute `shape`, for example `2,3,3`. */
  shape: readonly number[] | null;
  /** The selected part: the detail of the last `select` event. */
  readonly selected: Detail | null;
  addEventListener<Type extends keyof (ElementEvents<Detail> & Events)>(
    type: Type,
    listener: (event: (ElementEvents<Detail> & Events)[Type]) => unknown,
    options?: boolean | AddEventListenerOptions,
  ): void;
  addEventListener(
    type: string,
    listener: EventListenerOrEventListenerObject,
    options?: boolean | AddEventListenerOptions,
  ): void;
}

interface ElementEvents<Detail> {
  /**
   * The pointer, the keyboard or a click selected another part. The detail is null if nothing is
   * selected any more.
   */
  select: CustomEvent<Detail | null>;
  /** The properties do not match. */
  error: ErrorEvent;
}

/** A selected weight. */
export interface WeightSelection {
  head: number;
  query: number;
  key: number;
  weight: number;
  queryToken: string;
  keyToken: string;
  /** Whether a click or Enter locked the selection. */
  locked: boolean;
}

/** `<attn-weights>`: attention weights as cells and as arcs from queries to keys. */
export interface AttnWeights extends FigureElement<
  WeightSelection,
  { headchange: CustomEvent<{ head: number }> }
> {
  /** (queries, keys), (heads, queries, keys), or (1, heads, queries, keys). */
  weights: TensorInput | null;
  /** Tokens of the queries. In self-attention, also of the keys. Default: 0, 1, … */
  tokens: readonly string[] | null;
  /** Tokens of the keys in cross-attention. Attribute `key-tokens`. */
  keyTokens: readonly string[] | null;
  /** The head to draw, from 0. A choice of the reader changes it: event `headchange`. */
  head: number;
  /** Hatches the cells of later keys. */
  causal: boolean;
  /** Hatches keys that are further away than this. */
  window: number | null;
  /** Hatches keys starting at this position. Attribute `valid-len`. */
  validLen: number | null;
}

/** A selected head. */
export interface HeadSelection {
  head: number;
  /** Mean over all queries, in bits. */
  entropy: number;
  /** Mean distance between query and key, weighted by attention. */
  distance: number;
  /** The largest weight. */
  largest: number;
}

/** `<attn-heads>`: a small picture of each head, with its statistics. */
export interface AttnHeads extends FigureElement<HeadSelection> {
  /** (heads, queries, keys), or (1, heads, queries, keys). */
  weights: TensorInput | null;
  /** The selected head, from 0. */
  head: number;
}

/** A selected cell. */
export interface CellSelection {
  row: number;
  column: number;
  value: number;
  locked: boolean;
}

/** `<attn-heatmap>`: any matrix as coloured cells, such as scores, embeddings or a gradient. */
export interface AttnHeatmap extends FigureElement<CellSelection> {
  /** (rows, columns). Infinities and NaN are drawn as 0, but the readout shows them unchanged. */
  values: TensorInput | null;
  /** Attribute `row-labels`. */
  rowLabels: readonly string[] | null;
  /** Attribute `column-labels`. */
  columnLabels: readonly string[] | null;
  /** What a row is, for example `'query'`. Attribute `row-name`. */
  rowName: string | null;
  /** What a column is. Attribute `column-name`. */
  columnName: string | null;
  /**
   * `'sequential'` from 0, `'diverging'` with different colours for both signs, or `'auto'`:
   * diverging if any value is negative.
   */
  scale: 'auto' | 'sequential' | 'diverging' | null;
  /** The magnitude with the strongest colour. Default: the largest magnitude of the values. */
  max: number | null;
}

/** A selected number of an encoding or a curve. */
export interface PositionSelection extends CellSelection {
  position: number;
}

/** `<attn-encoding>`: a positional encoding as colours, in binary, and as curves. */
export interface AttnEncoding extends FigureElement<
  PositionSelection,
  { columnschange: CustomEvent<{ columns: number[] }> }
> {
  /** (positions, columns). */
  encoding: TensorInput | null;
  /** Position of each row. Default: 0, 1, … */
  positions: readonly number[] | TypedArray | null;
  /**
   * The base of a sinusoidal encoding, such as 10000, whose sines and cosines alternate. Adds the
   * equation, wavelengths, and binary numbers. Leave it out for other encodings.
   */
  base: number | null;
  /** Columns that are also drawn as curves. The reader can change them: event `columnschange`. */
  columns: readonly number[] | null;
  /** Whether the curves are side by side (default) or on the same axes. */
  curves: 'lanes' | 'axes' | null;
}

/** `<attn-curves>`: columns of a tensor as curves on the same axes. */
export interface AttnCurves extends FigureElement<PositionSelection> {
  /** (positions, columns). */
  values: TensorInput | null;
  /** Position of each row. Default: 0, 1, … */
  positions: readonly number[] | TypedArray | null;
  /** The columns to draw, at least one. Default: the first four. */
  columns: readonly number[] | null;
  /** A name for each column of `values`. */
  labels: readonly string[] | null;
  /** Name of the horizontal axis. Attribute `x-name`. */
  xName: string | null;
}

export declare const AttnWeights: { new (): AttnWeights };
export declare const AttnHeads: { new (): AttnHeads };
export declare const AttnHeatmap: { new (): AttnHeatmap };
export declare const AttnEncoding: { new (): AttnEncoding };
export declare const AttnCurves: { new (): AttnCurves };

/** The part of an anywidget model that `render` uses. */
interface WidgetModel {
  get(name: string): any;
  set(name: string, value: unknown): void;
  on(event: string, listener: () => void): void;
  off(event: string, listener: () => void): void;
  save_changes(): void;
}

/**
 * Draws an anywidget model. The trait `element` names the element, such as `'attn-weights'`. The
 * other traits are its properties in snake_case. If there is a trait `selected`, it receives the
 * selection. Returns a function that removes the drawing.
 */
export declare function render(widget: { model: WidgetModel; el: HTMLElement }): () => void;

declare const widget: { render: typeof render };
export default widget;

declare global {
  interface HTMLElementTagNameMap {
    'attn-weights': AttnWeights;
    'attn-heads': AttnHeads;
    'attn-heatmap': AttnHeatmap;
    'attn-encoding': AttnEncoding;
    'attn-curves': AttnCurves;
  }
}
