/**
 * The chapters in reading order. Each is loaded when it comes near.
 *
 * @typedef {object} ChapterProps what every chapter's component gets
 * @property {import('attn').Attn} attn the loaded module
 * @property {import('../model/pipeline.svelte.js').Pipeline} model from the sentence to attention, as
 *   the settings are: for what looks at its first tokens only
 * @property {import('../model/pipeline.svelte.js').Pipeline} shown the same for what looks at all of
 *   them: earlier ones while new results are being computed
 * @property {string[]} tokens of the sentence
 *
 * @typedef {object} ChapterEntry
 * @property {string} id its folder, and its place in links
 * @property {string} title
 * @property {() => Promise<{ default: import('svelte').Component<ChapterProps> }>} load
 */

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
    id: 'precision',
    title: 'float32 is not enough',
    load: () => import('./precision/Precision.svelte'),
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
    id: 'speed',
    title: 'How fast is your browser?',
    load: () => import('./speed/Speed.svelte'),
  },
];
