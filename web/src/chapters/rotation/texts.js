/** The texts of the chapter on shifts as rotations. */
export const texts = {
  question: 'How can “five words back” be computed, wherever one stands?',
  lead: [
    'Five places on from 10 is 15, and five on from 1,000 is 1,005. Is there a rule that leads from the encoding of the one place to that of the other? It would have to be a table of numbers, a matrix M_{δ}: out of the row of place i it makes the row of place i + δ. A [projection] is such a table, and a model can learn it. With the right one it could look “five words back”.',
  ],
  clock: [
    'Move a clock on by five minutes. Each hand turns by an angle of its own, and by the same angle whatever the time was. So “five later” is one and the same rule everywhere: a turn for each pair of columns. Written as a table of numbers, it is the matrix M_{δ}, which takes the encoding of *any* position i to that of i + δ. In the formula below, ω_{j} is how far hand j turns from one position to the next.',
    'So one projection does for every place of the sentence. But it needs both waves of a pair.',
  ],
  alone: [
    'Why pairs? Would a sine alone not do? Look only at how far to the right the hand’s tip is, its sine. When that is 0.5, is the tip on its way out, or back? You cannot know, and so you cannot know where it will be five positions on. From a sine alone there is no rule that leads to the next.',
    'With the cosine beside it you also see whether the hand points up or down: up, and the tip is on its way out; down, and it is on its way back. Now there is a rule, and it is the one from school: sin(a + b) = sin a · cos b + cos a · sin b. The new sine is made from the old sine and the old cosine, and the numbers cos b and sin b depend on the shift alone.',
  ],
  predict: {
    question: 'M_{δ} takes position 10 to 10 + δ. What takes position 1,000 to 1,000 + δ?',
    choices: {
      larger: {
        says: 'A larger turn: it is further out',
        reply:
          'The clock has gone on longer, but moving it on by δ is the same turn of each hand at any time.',
      },
      word: {
        says: 'It depends on the word that stands there',
        reply: 'Encodings know nothing of words: only places count here.',
      },
      same: { says: 'The same matrix', reply: 'So it is, and for every other place.' },
    },
  },
  /** @param {{ delta: string, largest: string }} found */
  same: ({ delta, largest }) =>
    `The core turned positions 1,000 to 1,059 with the same matrix, for δ = ${delta}: no number is further than ${largest} from the encoding of the place it should lead to.`,
  odd: (/** @type {{ given: number, drawn: number }} */ { given, drawn }) =>
    `The last of ${given} columns is a sine without a cosine, and from it alone no matrix leads to the shifted sine: drawn with ${drawn} columns.`,
  /** @param {'two' | 'one' | 'none'} words of the sentence that are drawn */
  rotary: (words) => [
    '[Rotary|rotary] positions go one step further. They add nothing to the words; they turn each query by the angles of its own place, and each key by those of its place: each pair of numbers is a hand, and the place says how far it is moved on.',
    'The dot product of two hands depends on their lengths and on the angle *between* them. Move both words on by five places: both hands turn alike, the angle stays, and so does the score. So the distance is in every score, whatever the projections are. In the formula below, i is the place of the query, m that of the key, and φ_{j} is the angle between the two hands before they are turned.',
    {
      two: 'Below are two words of your sentence, as a query and a key. For this picture each gets eight numbers, made from its letters. Move one, or both.',
      one: 'Your sentence has only one word to take. Below it is both the query and the key. For this picture it gets eight numbers, made from its letters. Move one, or both.',
      none: 'You have no sentence now. So below are two words of the page, as a query and a key. For this picture each gets eight numbers, made from its letters. Move one, or both.',
    }[words],
  ],
  turned: {
    distance: 'distance, query − key',
    place: 'place of the key: both move',
  },
  takeaway:
    'A shift by δ is a turn of each pair by its own fixed angle, the same from every place; and for that it takes both, the sine and the cosine.',
};
