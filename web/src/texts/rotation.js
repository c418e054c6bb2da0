/** Text shown in the chapter on shifts as rotations. */
export const texts = {
  question: 'How can “five words back” be computed from any position?',
  lead: [
    'Five positions after 10 comes 15, and five after 1,000 comes 1,005. Is there one rule that leads from any position’s encoding to the encoding five positions later? Such a rule would be a matrix M_{δ}, which takes the row of a position i to the row of position i + δ.',
    'Begin with one clock hand, which is one pair of columns. From one position to the next it turns by an angle ω_{j}, so in δ positions it turns by δ · ω_{j}. The formula below is this turn: four numbers make the new pair from the old one. M_{δ} contains the four numbers of each hand, one set after the other along its diagonal. Everywhere else M_{δ} is 0, because no hand affects another.',
  ],
  clock: [
    'Move a clock on by five minutes. Each hand turns by its own angle, and that angle is the same whatever the time was. So “five later” is the same rule everywhere: one turn for each pair of columns.',
    'What is this good for, if the encoding is only added to the word? A [projection] is a matrix, too, so W_{q} can learn to turn back by five positions. Then the query of position i fits the key of position i − 5 best, wherever i is: the head looks five words back.',
  ],
  alone: [
    'Why pairs? Would a sine alone not be enough? Look only at the sine, which says how far to the right the tip of the hand is. When it is 0.5, is the tip on its way out, or on its way back? You cannot know, nor where it will be five positions later.',
    'With the cosine you also see whether the hand points up or down. If it points up, the tip is on its way out. If it points down, the tip is on its way back. Now there is a rule, and you know it from school: sin(u + v) = sin u · cos v + cos u · sin v. The new sine is computed from the old sine and the old cosine, and the numbers cos v and sin v depend only on the shift.',
  ],
  predict: {
    question: 'M_{δ} takes position 10 to 10 + δ. What takes position 1,000 to 1,000 + δ?',
    choices: {
      larger: {
        says: 'A larger turn, because 1,000 is further out',
        reply:
          'The clock has run longer, but moving it on by δ always turns a given hand by the same angle, whatever the clock shows.',
      },
      word: {
        says: 'A matrix that depends on the word at that position',
        reply: 'Encodings know nothing about words. Only positions count here.',
      },
      same: {
        says: 'The same matrix',
        reply: 'Exactly, and this matrix works for every other position, too.',
      },
    },
  },
  /** @param {{ delta: string, largest: string }} found */
  same: ({ delta, largest }) =>
    `The core turned the encodings of positions 1,000 to 1,059 with the same matrix, for δ = ${delta}. Each number agrees with the encoding of the target position to within ${largest}.`,
  odd: (/** @type {{ given: number, drawn: number }} */ { given, drawn }) =>
    `The last of ${given} columns is a sine without a cosine, and no matrix leads from this sine alone to the shifted sine. So the figure uses ${drawn} columns.`,
  /** @param {'two' | 'one' | 'none'} words number of the sentence's words that are drawn */
  rotary: (words) => [
    'If encodings are added, each head has to learn such a rotation. [Rotary|rotary] positions build it in. They add nothing to the words, but turn each query by the angles of its position, and each key by the angles of its own position. Each pair of numbers is a clock hand.',
    'The dot product of two hands depends on their lengths and on the angle *between* them. Move both words by five positions, and both hands turn by the same angle. The angle between them stays the same, and so does the score.',
    'So the score of two words depends on how far apart they are, not on where they are, whatever the projections are. In the formula below, i is the position of the query, m is the position of the key, and φ_{j} is the angle between the two hands before they are turned.',
    {
      two: 'Below are two words of your sentence, as a query and a key. A model’s vectors would be too long to draw, so each word has a toy vector, eight numbers made from its letters. Move either word, or both.',
      one: 'Your sentence has only one word to use. Below, it is both the query and the key. A model’s vector would be too long to draw, so here the word gets a toy vector, eight numbers made from its letters. Move the query, the key, or both.',
      none: 'You have typed no sentence, so below are two of the page’s own words, as a query and a key. A model’s vectors would be too long to draw, so each word has a toy vector, eight numbers made from its letters. Move either word, or both.',
    }[words],
  ],
  turned: {
    distance: 'distance, query − key',
    place: 'position of the key (both words move)',
  },
  takeaway:
    'A shift by δ turns each pair of columns, a sine and a cosine, by a fixed angle. So one matrix looks back by δ from every position. Rotary positions turn queries and keys, so that only their distance counts.',
};

/** Labels of the controls. */
export const labels = { distance: 'distance δ', position: 'position i' };
