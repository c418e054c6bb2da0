// The first words of the page. `index.html` contains them too, for readers whose browser is still
// loading the page or cannot run it.

/** The sentence that the page starts with. Each word is one token of the language model. */
export const sentence = 'the lady sat by the fire because the lady was tired';

export const first = {
  title: 'Where a word stands, and\u00a0what it looks\u00a0at',
  lead: 'Self-attention lets every word look at every other word, but it is blind to their order. A positional encoding tells it where each word is. Type a sentence, and watch the picture change.',
  start: 'Follow one word',
  startNote: 'Eight steps, about a minute',
};

/** What to try below the sentence. */
export const tries = {
  read: 'The model has read Jane Austen’s novels.',
  add: 'Add',
  or: 'or take',
  /** Words to append. Each is one token of the language model. */
  words: ['and the lady', 'sister', 'letter', 'married'],
  /** Sentences for the language model, likewise. */
  learned: ['a friend is a friend is a friend'],
  /** Sentences for projections that have learned nothing, where words that are spelt alike match. */
  spelt: [
    'a friend is a friend is a friend',
    'she saw him, he saw her',
    'walk walked walking talk talked talking',
  ],
};
