/** The texts of the chapter on word order. */
export const texts = {
  question: 'Does attention know which word comes first?',
  lead: [
    '“Man bites dog” and “dog bites man” are the same three words. A language without order would lose half of what it says: who bites whom, what is denied, which word a “very” belongs to.',
    'Attention by itself cannot tell the two sentences apart. A score is made of two words at a time: that of “man” and “bites” is the same number wherever they stand. And what a word takes along is a sum, and a sum has no order: 2 + 3 is 3 + 2.',
  ],
  predict: {
    question:
      'You shuffle the words. There are no positions and no mask. What changes in the vector that comes out for a word?',
    choices: {
      all: {
        says: 'Nearly all: it has other neighbours now',
        reply:
          'It has; but nothing in a score asks who stands beside whom. The word meets the same others as before.',
      },
      some: {
        says: 'A little: near words count for more',
        reply:
          'Near and far do not exist for it. Distance is in no score, unless somebody puts it there.',
      },
      none: {
        says: 'Nothing: it only moves to another row',
        reply: 'So it is: order is simply not there.',
      },
    },
  },
  /** @param {{ without: string, with: string, causal: string }} found */
  differences: (found) =>
    `Your sentence, in the order below: without positions no number of any word changes by more than ${found.without}, which is the rounding of the computer; with positions some change by ${found.with}. A causal mask gives order away by itself, as it lets a word see those before it only: with it, and without positions, numbers change by up to ${found.causal}.`,
  figure: [
    'So shuffle the words: each still meets the same others, with the same scores, and comes out as the same vector, only in another row. This is called permutation [equivariant].',
    'Below, *f* is the layer. In shuffle(*f*(X)) it works first, and then the rows of what comes out are shuffled; in *f*(shuffle(X)) the words are shuffled first. The difference of the two is drawn: without positions, and with them. Drag the words, or shuffle them. No mask is on here, unless you switch one on: the [causal] mask gives order away by itself.',
  ],
  loss: 'What is order worth, then? Ask somebody who knows a language. A model that predicts each word from those before is less surprised, the better it knows what may follow what. Its [loss] measures this surprise. Below, the words are shuffled as above, or the positions are taken away.',
  losses: ['as written', 'shuffled', 'without positions'],
  whoseLoss: 'The model’s loss',
  /** @param {{ whose: string, vocabulary: string, blind: string }} given */
  lossIs: ({ whose, vocabulary, blind }) =>
    `${whose}: how much each token surprises it, given those before it. A loss of 3 is as if it had to guess among 20 tokens that are equally likely; blind guessing among all ${vocabulary} would have a loss of ${blind}.`,
  oneToken: 'One token alone foretells nothing. Type another.',
  /** @param {number[]} losses @param {number} blind the loss of a guess among all tokens */
  surprise: ([written, shuffled, without], blind) =>
    [
      shuffled > blind - 0.5
        ? `Shuffled, it does ${shuffled > blind ? 'worse' : 'hardly better'} than a blind guess: it is sure of words that then do not come.`
        : '',
      without < shuffled && without > written
        ? 'Without positions it loses less than by shuffling: the causal mask still tells it which words came before.'
        : '',
      without > written
        ? 'It was trained with positions; a model that was trained without them might lose less.'
        : '',
    ]
      .filter(Boolean)
      .join(' '),
  whenLearned: 'A model that has learned to predict the next word shows what order is worth.',
  nothing: 'Nothing to shuffle yet. Type a word or two above.',
  takeaway:
    'Without positions and without a mask a sentence is a bag of words: attention sees who is there, but not where.',
};
