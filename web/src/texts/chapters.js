/** The titles of the chapters, by id. */
export const titles = {
  pooling: 'Attention pooling',
  'self-attention': 'Self-attention',
  order: 'Order does not matter, until it does',
  encoding: 'Positional encoding',
  rotation: 'Relative position by rotation',
  architectures: 'CNN, RNN, self-attention',
  transformer: 'From attention heads to a Transformer',
  training: 'What training changes',
  precision: 'float32 is not enough',
  speed: 'How fast is your browser?',
};

/** The heading above the chapters of the appendix. */
export const appendix = {
  title: 'Appendix, for engineers',
  text: 'How exact and how fast the computations are. No earlier chapter depends on this appendix.',
};

/** The short path through the page. */
export const shortTexts = {
  /** @param {number} count */
  contents: (count) =>
    `Short path: ${count} figures, about 45 minutes. “1\u00a0of\u00a0${count}\u00a0›” on a figure leads to the next one.`,
  /** @param {number} step @param {number} of */
  mark: (step, of) => `${step} of ${of}`,
  next: 'Short path: the most important figures, in about 45 minutes. Go to the next.',
  previous: 'Go to the previous figure of the short path',
  end: 'The short path ends here',
};
