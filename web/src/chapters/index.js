import { titles } from '../texts/chapters.js';

/**
 * The chapters in reading order. Each is loaded when the reader comes near.
 * @typedef {object} ChapterProps the properties of every chapter's component
 * @property {import('attn').Attn} attn the loaded module `attn`
 * @property {import('../work/pipeline.svelte.js').Pipeline} model the pipeline from sentence to
 *   attention for the current settings, for components that use only the first tokens
 * @property {import('../work/pipeline.svelte.js').Pipeline} shown the same pipeline for components
 *   that use all tokens; its results belong to earlier settings while new results are being
 *   computed
 * @property {string[]} tokens tokens of the sentence
 *
 * @typedef {object} ChapterEntry
 * @property {string} id the chapter's folder and its name in links
 * @property {string} title
 * @property {number} height the chapter's usual height in a wide window, in CSS pixels; this space
 *   is reserved until the chapter is loaded
 * @property {boolean} [appendix] whether it belongs to the appendix for engineers
 * @property {() => Promise<{ default: import('svelte').Component<ChapterProps> }>} load
 */

/** @type {readonly ChapterEntry[]} */
export const chapters = [
  {
    id: 'pooling',
    title: titles.pooling,
    height: 1900,
    load: () => import('./pooling/Pooling.svelte'),
  },
  {
    id: 'self-attention',
    title: titles['self-attention'],
    height: 4650,
    load: () => import('./self-attention/SelfAttention.svelte'),
  },
  {
    id: 'order',
    title: titles.order,
    height: 1700,
    load: () => import('./order/Order.svelte'),
  },
  {
    id: 'encoding',
    title: titles.encoding,
    height: 4250,
    load: () => import('./encoding/Encoding.svelte'),
  },
  {
    id: 'rotation',
    title: titles.rotation,
    height: 3500,
    load: () => import('./rotation/Rotation.svelte'),
  },
  {
    id: 'architectures',
    title: titles.architectures,
    height: 2550,
    load: () => import('./architectures/Architectures.svelte'),
  },
  {
    id: 'transformer',
    title: titles.transformer,
    height: 2750,
    load: () => import('./transformer/Transformer.svelte'),
  },
  {
    id: 'training',
    title: titles.training,
    height: 2900,
    load: () => import('./training/Training.svelte'),
  },
  {
    id: 'precision',
    title: titles.precision,
    appendix: true,
    height: 3900,
    load: () => import('./precision/Precision.svelte'),
  },
  {
    id: 'speed',
    title: titles.speed,
    appendix: true,
    height: 1850,
    load: () => import('./speed/Speed.svelte'),
  },
];

/** The figures of the short path, in reading order. */
export const shortPath = [
  'opening.sentence',
  'pooling.pooling-figure',
  'self-attention.weights',
  'order.shuffle',
  'encoding.encoding-heatmap',
  'encoding.encoding-schemes',
  'rotation.rotation-shift',
  'rotation.rotation-rotary',
  'architectures.costs',
  'transformer.next-word',
  'training.training-run',
  'training.training-heads',
];

/** The figures of the short path that need everything before them in their chapter. */
export const fromChapter = [
  ...['self-attention.weights', 'rotation.rotation-shift', 'architectures.costs'],
  'transformer.next-word',
];

/** The label of each chapter: a number, or a letter in the appendix. */
export const marks = chapters.map(({ appendix }, i) => {
  const before = chapters.slice(0, i).filter((chapter) => chapter.appendix === appendix).length;
  return appendix ? String.fromCharCode(65 + before) : String(before + 1);
});
