/** Texts around a figure that is shown without the rest of the page. */
export const aloneTexts = {
  region: 'Presentation',
  previous: 'Previous figure (left arrow)',
  next: 'Next figure (right arrow)',
  first: 'This is the first figure',
  last: 'This is the last figure',
  end: 'End the presentation (Escape)',
  whole: 'Open the whole page',
  empty: 'There are no words yet, and this figure needs a sentence.',
  /** @param {string} name */
  missing: (name) => `There is no figure “${name}”. It may have been renamed or removed.`,
};
