/** The story of order. */
export const texts = {
  question: 'Does attention know which word comes first?',
  lead: [
    '“Man bites dog” and “dog bites man” are the same three words. A language without order would lose half of what it says: who bites whom, what is denied, which word a “very” belongs to.',
    'Attention by itself cannot tell the two sentences apart. A score is made of two words at a time: that of “man” and “bites” is the same number wherever they stand. And what a word takes along is a sum, and a sum has no order: 2 + 3 is 3 + 2.',
    'So shuffle the words: each still meets the same others, with the same scores, and comes out as the same vector, only in another row. This is called permutation [equivariant].',
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
  /** @param {{ without: string, with: string }} found */
  differences: (found) =>
    `Your sentence, in the order below: without positions no number of any word changes by more than ${found.without}, which is the rounding of the computer; with positions some change by ${found.with}.`,
  /** @param {string} masked */
  masked: (masked) =>
    `The causal mask is on now, and it gives order away by itself: it lets a word see those before it only. With it, and without positions, numbers change by up to ${masked}.`,
  figure:
    'Below, both are computed and their difference is drawn: *f* is the layer, and π is the order. In π(*f*(X)) the layer works first, and then its rows are shuffled; in *f*(π(X)) the words are shuffled first. Drag the words, or shuffle them.',
  loss: 'What is order worth, then? Ask somebody who knows a language. A model that foretells each word from those before is less surprised, the better it knows what may follow what. Its [loss] measures this surprise. Shuffle the words, or take the positions away, and see what that costs.',
  whenLearned: 'A model that has learned to foretell the next word shows what order is worth.',
  nothing: 'Nothing to shuffle yet. Type a word or two above.',
  takeaway:
    'Without positions a sentence is a bag of words: attention sees who is there, but not where.',
};
