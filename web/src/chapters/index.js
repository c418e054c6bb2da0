/**
 * The chapters in reading order. Each is loaded when the reader comes near.
 * @typedef {object} ChapterProps the properties of every chapter's component
 * @property {import('attn').Attn} attn the loaded module `attn`
 * @property {import('../work/pipeline.svelte.js').Pipeline} model the pipeline from sentence to
 *   attention for the current settings, for users of its first tokens only
 * @property {import('../work/pipeline.svelte.js').Pipeline} shown the same pipeline for users of
 *   all tokens; it belongs to earlier settings while new results are being computed
 * @property {string[]} tokens tokens of the sentence
 *
 * @typedef {object} ChapterEntry
 * @property {string} id its folder and its name in links
 * @property {string} title
 * @property {boolean} [appendix] whether it belongs to the appendix for engineers
 * @property {() => Promise<{ default: import('svelte').Component<ChapterProps> }>} load
 */

/** The heading above the chapters of the appendix. */
export const appendix = {
  title: 'Appendix, for engineers',
  text: 'How exact and how fast all this is. No earlier chapter depends on it.',
};

/** @type {readonly ChapterEntry[]} */
export const chapters = [
  {
    id: 'pooling',
    title: 'Attention pooling',
    load: () => import('./pooling/Pooling.svelte'),
  },
  {
    id: 'self-attention',
    title: 'Self-attention',
    load: () => import('./self-attention/SelfAttention.svelte'),
  },
  {
    id: 'order',
    title: 'Order does not matter, until it does',
    load: () => import('./order/Order.svelte'),
  },
  {
    id: 'encoding',
    title: 'Positional encoding',
    load: () => import('./encoding/Encoding.svelte'),
  },
  {
    id: 'rotation',
    title: 'Relative position by rotation',
    load: () => import('./rotation/Rotation.svelte'),
  },
  {
    id: 'architectures',
    title: 'CNN, RNN, self-attention',
    load: () => import('./architectures/Architectures.svelte'),
  },
  {
    id: 'transformer',
    title: 'Multi-head to Transformer',
    load: () => import('./transformer/Transformer.svelte'),
  },
  {
    id: 'training',
    title: 'What training changes',
    load: () => import('./training/Training.svelte'),
  },
  {
    id: 'precision',
    appendix: true,
    title: 'float32 is not enough',
    load: () => import('./precision/Precision.svelte'),
  },
  {
    id: 'speed',
    appendix: true,
    title: 'How fast is your browser?',
    load: () => import('./speed/Speed.svelte'),
  },
];

/** The label of each chapter: a number, or a letter in the appendix. */
export const marks = chapters.map(({ appendix }, i) => {
  const before = chapters.slice(0, i).filter((chapter) => chapter.appendix === appendix).length;
  return appendix ? String.fromCharCode(65 + before) : String(before + 1);
});
