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
 * @property {string} id its folder and its name in links
 * @property {string} title
 * @property {number} height its usual height in a wide window, in CSS pixels, which is reserved until
 *   it is loaded
 * @property {boolean} [appendix] whether it belongs to the appendix for engineers
 * @property {() => Promise<{ default: import('svelte').Component<ChapterProps> }>} load
 */

/** The heading above the chapters of the appendix. */
export const appendix = {
  title: 'Appendix, for engineers',
  text: 'How exact and how fast the computations are. No earlier chapter depends on this appendix.',
};

/** @type {readonly ChapterEntry[]} */
export const chapters = [
  {
    id: 'pooling',
    title: 'Attention pooling',
    height: 1950,
    load: () => import('./pooling/Pooling.svelte'),
  },
  {
    id: 'self-attention',
    title: 'Self-attention',
    height: 4600,
    load: () => import('./self-attention/SelfAttention.svelte'),
  },
  {
    id: 'order',
    title: 'Order does not matter, until it does',
    height: 1750,
    load: () => import('./order/Order.svelte'),
  },
  {
    id: 'encoding',
    title: 'Positional encoding',
    height: 4000,
    load: () => import('./encoding/Encoding.svelte'),
  },
  {
    id: 'rotation',
    title: 'Relative position by rotation',
    height: 3800,
    load: () => import('./rotation/Rotation.svelte'),
  },
  {
    id: 'architectures',
    title: 'CNN, RNN, self-attention',
    height: 2750,
    load: () => import('./architectures/Architectures.svelte'),
  },
  {
    id: 'transformer',
    title: 'From attention heads to a Transformer',
    height: 3000,
    load: () => import('./transformer/Transformer.svelte'),
  },
  {
    id: 'training',
    title: 'What training changes',
    height: 3600,
    load: () => import('./training/Training.svelte'),
  },
  {
    id: 'precision',
    appendix: true,
    title: 'float32 is not enough',
    height: 3900,
    load: () => import('./precision/Precision.svelte'),
  },
  {
    id: 'speed',
    appendix: true,
    title: 'How fast is your browser?',
    height: 1900,
    load: () => import('./speed/Speed.svelte'),
  },
];

/** The figures of the short path, in reading order. */
export const shortPath = [
  'opening.sentence',
  'pooling.pooling-figure',
  'self-attention.weights',
  'self-attention.stages',
  'order.shuffle',
  'encoding.encoding-heatmap',
  'encoding.encoding-schemes',
  'rotation.rotation-sine',
  'rotation.rotation-rotary',
  'architectures.costs',
  'transformer.next-word',
  'training.training-run',
];

/** Texts of the short path through the page. */
export const shortTexts = {
  contents: (/** @type {number} */ count) => `Short path: ${count} figures, about 45 minutes`,
  mark: (/** @type {number} */ step) => `${step} of ${shortPath.length}`,
  next: 'The short path, about 45 minutes. Go to its next figure',
  end: 'The short path ends here',
};

/** The label of each chapter: a number, or a letter in the appendix. */
export const marks = chapters.map(({ appendix }, i) => {
  const before = chapters.slice(0, i).filter((chapter) => chapter.appendix === appendix).length;
  return appendix ? String.fromCharCode(65 + before) : String(before + 1);
});
