// The first words of the page. `index.html` contains them too, for readers whose browser is still
// loading the page or cannot run it.

import { initial } from '../state/properties/index.js';

/** The sentence that the page starts with. */
const sentence = initial.text;

export const first = {
  title: 'Where a word stands, and\u00a0what it looks\u00a0at',
  lead: 'Self-attention lets every word look at every other word, but it is blind to their order. A positional encoding tells it where each word is. Type a sentence, and watch the picture change.',
  start: 'Follow one word',
  startNote: 'Eight steps, about six minutes',
};

/** The text of `index.html` until the live page replaces it. */
export const still = {
  title: 'A still picture of words, and what they look at',
  /** @param {{ layer: number, head: number, query: string, key: string }} picture */
  alt: ({ layer, head, query, key }) =>
    `Arches from each word of “${sentence}” to the words that it looks at in layer ${layer}, head ${head}. The thickest arch runs from “${query}” to “${key}”.`,
  /** @param {{ layer: number, head: number }} picture */
  caption: ({ layer, head }) =>
    `Each arch is thick at the word that looks and thin at the word it looks at. This is head ${head} in layer ${layer} of a small language model. The stripes under a word show its position. The live picture shows your own words.`,
  loading: 'Loading the live page …',
  /** Messages to show if the live page cannot start, by reason. */
  failures: {
    script:
      'This page computes everything in your browser and needs JavaScript. Turn on JavaScript and reload the page to type your own sentence.',
    file: 'The live page cannot start from this file, because browsers load its parts only from a web server. Open <a href="attn.html">attn.html</a> in the same folder, which contains the whole page.',
    sandbox:
      'The live page cannot start in this frame, because the frame has the attribute “sandbox”. Either the server of attn must send the header “Access-Control-Allow-Origin: *”, or the frame needs sandbox="allow-scripts allow-same-origin". You can open the figure in its own window: <a target="_blank" rel="noopener"></a>',
    unpack: 'Your browser cannot unpack the live page. Open this file in a newer browser.',
    network:
      'A part of the live page could not be loaded. Check your connection and reload the page.',
    wasm: 'This page computes everything in your browser and needs WebAssembly, which your browser lacks or has turned off. Turn it on, or open the page in another browser.',
  },
};

/** Suggestions below the sentence. */
export const tries = {
  read: 'The model has read novels, the Bible and dictionary examples.',
  add: 'Add',
  or: 'or take',
  /** Words to append. Each is one token of the language model. */
  words: ['and the lady', 'cat'],
  /** Sentences for the language model. Each word is one token. */
  learned: ['a rose is a rose'],
  /**
   * Sentences for untrained projections. With these projections, words match if their spellings are
   * similar.
   */
  spelt: [
    'a friend is a friend is a friend',
    'she saw him, he saw her',
    'walk walked walking talk talked talking',
  ],
};
