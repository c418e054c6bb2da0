/** What chapters say of the reader's model, in place of what they say of the page's own. */
export const texts = {
  head: 'of your own model. It is computed on this machine and stays here: a link does not carry it, and a reload brings the page’s own back.',
  close: 'Close it',
  embedding: (/** @type {number} */ d) => [
    `In *self*-attention a sentence asks itself: each word looks at all the others. A computer works on numbers, so each word first becomes a list of them, its [embedding]: a [vector] of ${d} numbers, or [dimensions|dimension]. Here it is a row of your model’s table, with all that is added before the first layer.`,
    'The [tokens|token] are your model’s, those that stand for no text included; a piece that goes on with a word has a hyphen before it. This [layer] does not read those rows as they are: it reads what the layers before it have made of them.',
  ],
  places: {
    learned:
      'In these rows the place of the word is contained already: your model adds it before its first layer.',
    sinusoidal:
      'In these rows the place of the word is contained already: your model adds it before its first layer.',
    rotary:
      'The place of a word comes in later here: queries and keys are turned, as the chapter on rotation shows.',
    none: 'Where a word stands is not said at all: your model has no positions.',
  },
  layer: (/** @type {number} */ layer, /** @type {number} */ layers) =>
    `This is layer ${layer} of the ${layers} layers of your model.`,
  notOwn:
    'A figure stands here that changes a layer, or runs it in parts. It does so with the page’s own models, not with yours.',
  pages: 'Look at the page’s',
};
