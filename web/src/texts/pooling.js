/** Text shown in the chapter on attention pooling. */
export const texts = {
  question: 'How can an average choose its own ingredients?',
  lead: [
    'How warm was it at noon? You have readings from ten o’clock, two o’clock and midnight. You would not take the plain mean of all three, because the readings near noon tell you more. Attention is an average of this kind, one that chooses.',
    'Your question, noon, is the [query]. Each reading has a [key] (the hour by which it is found) and a [value] (the temperature that it hands over). The [score] says how well a query and a key go together. Scores become [attention weights|weight], which add up to one. This is usually done by [softmax], which raises e to the power of each score and divides by the sum of all these powers. Finally each value is multiplied by its weight, and the products are added up. The values have been *pooled*.',
    'Below, keys and values are the x and y of some points: the dashed curve plus random noise. The query asks for the y at an x between them. In the formula, a is the score. (Nadaraya and Watson each found this oldest form of attention in 1964.) The *error* says how far the estimated curve is from the dashed one. Drag a point, or move along the curve to see which points have a say in it.',
  ],
  predict: {
    question:
      'A bell curve of width σ sets how fast the influence of a point fades with distance. What happens to the estimated curve if you make the bell narrower and narrower?',
    choices: {
      flat: {
        says: 'A flat line, the mean of all points',
        reply:
          'A flat line is the other extreme. Under a very *wide* bell all points have the same say.',
      },
      smooth: {
        says: 'A smoother curve, nearer to the truth',
        reply:
          'A narrow bell hears fewer points, so the noise of each one counts more. A wider bell makes the curve smoother.',
      },
      steps: {
        says: 'Almost a staircase, because the nearest point decides the value everywhere',
        reply:
          'Exactly. One key takes all, and the average has become a choice. The curve has few points, so its steps look slanted.',
      },
    },
  },
  /** @param {{ narrow: string, wide: string, count: number }} found */
  shares: ({ narrow, wide, count }) =>
    `The strongest of your ${count} points has ${narrow} of the weight with σ = 0.02, and ${wide} with σ = 5 (averaged over the curve).`,
  others: 'Four other ways to weigh the points',
  after:
    'From the next chapter on, keys belong to words instead of points on a line. Query and key are rows of numbers, and the score is their [dot product]: multiply matching numbers, and add up the products.',
  takeaway: 'Attention is a weighted average whose weights come from comparing a query with keys.',
};

/** Labels of the controls. */
export const labels = {
  width: 'width σ',
  idle: 'This scoring function does not use σ',
  points: 'points',
  newPoints: 'New points',
  dotProduct: 'dot product of',
  encodings: 'encodings of x',
  numbers: 'the numbers x',
  weights: 'W and w',
  byHand: 'set by hand',
  random: 'random (Xavier)',
  nextSeed: 'next seed',
};
