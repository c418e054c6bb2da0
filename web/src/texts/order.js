/** Text shown in the chapter on word order. */
export const texts = {
  question: 'Does attention know which word comes first?',
  lead: [
    '“Man bites dog” and “dog bites man” are the same three words. Without an order, a language could not say who bites whom, or what a “not” denies. Can attention tell the two sentences apart?',
    'Below, *f* is the layer. In shuffle(*f*(X)) the layer comes first, and then the rows of its output are shuffled. In *f*(shuffle(X)) the words are shuffled first. The picture shows how the two results differ, without positions and with them (chapters 4 and 5 explain their kinds).',
  ],
  predict: {
    question:
      'You shuffle the words. There are no positions and no mask. What changes in the output vector of a word?',
    choices: {
      all: {
        says: 'Nearly all its numbers: it has other neighbours now',
        reply:
          'The word now has other neighbours, but no score depends on who is next to whom. It is still compared with the same words as before.',
      },
      some: {
        says: 'A little: nearby words count for more',
        reply:
          'Attention does not know near from far. No score depends on distance unless somebody puts distance into it.',
      },
      none: {
        says: 'Nothing: the vector only moves to another row',
        reply: 'Exactly. Attention simply does not see order.',
      },
    },
  },
  /** @param {{ without: string, with: string, causal: string }} found */
  differences: (found) =>
    `Shuffle your sentence. Without positions, the numbers of a word change by at most ${found.without}, which is rounding error. With positions, they change by up to ${found.with}. A [causal] mask also reveals the order, because it lets a word see only earlier words. With the mask and without positions, they change by up to ${found.causal}.`,
  why: [
    'Attention alone cannot tell the two sentences apart. A score depends on two words only: the score of “man” and “bites” is the same number wherever the words are. And the result for each word is a sum, which has no order either: 2 + 3 is 3 + 2.',
    'So if you shuffle the words, each word still gets the same scores and the same output vector, only in another row. This is called permutation [equivariant].',
  ],
  more: 'How much a trained model needs the order of words',
  loss: 'How much is order worth, then? Ask a model that knows a language. It predicts each word from the words before it. The better it knows which words may follow, the less they surprise it. Its [loss] measures this surprise. Below, the words are shuffled, or the positions are taken away.',
  losses: ['as written', 'shuffled', 'without positions'],
  whoseLoss: 'The model’s loss',
  /** @param {{ whose: string, vocabulary: string, blind: string }} given */
  lossIs: ({ whose, vocabulary, blind }) =>
    `${whose}: how much each token surprises the model, given the tokens before. A loss of 3 is like guessing among 20 equally likely tokens. Blind guessing among all ${vocabulary} tokens would have a loss of ${blind}.`,
  oneToken: 'A single token leaves nothing to predict. Type another.',
  /**
   * @param {number[]} losses
   * @param {number} blind the loss of guessing uniformly among all tokens
   */
  surprise: ([written, shuffled, without], blind) =>
    [
      shuffled > blind - 0.5
        ? `On shuffled words the model does ${shuffled > blind ? 'worse' : 'hardly better'} than a blind guess, because it confidently predicts words that do not come next.`
        : '',
      without < shuffled && without > written
        ? 'Removing the positions hurts less than shuffling, because the causal mask still shows the model which words came before.'
        : '',
      without > written
        ? 'The model was trained with positions. A model trained without them might do better.'
        : '',
    ]
      .filter(Boolean)
      .join(' '),
  whenLearned: 'A model that has learned to predict the next word shows how much order is worth.',
  nothing: 'Nothing to shuffle yet. Type a word or two above.',
  takeaway:
    'Without positions and without a mask a sentence is a bag of words: attention sees which words are there, but not where.',
};

/** Labels of the controls, and notes. */
export const labels = {
  shuffle: 'Shuffle',
  back: 'original order',
  causal: 'with a causal mask',
  /** @param {number} tokens */
  first: (tokens) => `The losses are for the first ${tokens} tokens.`,
};
