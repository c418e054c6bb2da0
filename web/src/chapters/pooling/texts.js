/** The texts of the chapter on attention pooling. */
export const texts = {
  question: 'How can an average choose what it is made of?',
  lead: [
    'How warm was it at noon? You have readings of ten o’clock, of two, and of midnight. You would not take the plain mean of all three: the near ones tell you more. Attention is an average of this kind, one that chooses.',
    'What is asked, noon, is the [query]. Each reading has a [key], the hour by which it is found, and a [value], the temperature that it hands over. How well a query and a key go together is the [score]. Scores become shares, the [weights|weight], which add up to one: mostly by [softmax], which puts e to the power of each score and divides by the sum of all. Then the values are added up, each times its weight.',
    'Below, keys and values are the x and y of some points, and the query asks for the y at an x between them. It is the oldest attention there is, a regression that Nadaraya and Watson each found in 1964. Drag a point; move along the curve to see who has a say in it.',
  ],
  predict: {
    question:
      'A bell of width σ says how fast a point loses its say with distance. Make it ever narrower: what becomes of the curve?',
    choices: {
      flat: {
        says: 'A flat line, the mean of all points',
        reply: 'That is the other end: under a very *wide* bell all points have the same say.',
      },
      smooth: {
        says: 'A smoother curve, nearer to the truth',
        reply:
          'A narrow bell hears fewer points, and so each one’s noise more. Smoothness comes with width.',
      },
      steps: {
        says: 'Steps: everywhere the nearest point decides',
        reply: 'So it is: one key takes all, and the average has become a choice.',
      },
    },
  },
  /** @param {{ narrow: string, wide: string, count: number }} found */
  shares: ({ narrow, wide, count }) =>
    `Of your ${count} points, the strongest one has ${narrow} of the weight with σ = 0.02, as a mean over the curve, and ${wide} with σ = 5.`,
  after:
    'Distance is only one way to compare. From the next chapter on, keys are not places on a line but words, and query and key are compared by a [dot product]: large where two vectors point the same way. The rest stays: scores, shares, a weighted sum.',
  takeaway:
    'Attention is a weighted average whose weights come from comparing what is asked with what there is.',
};
