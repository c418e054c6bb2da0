/** @typedef {{ width: string, base: string, turns: string }} Even how long turns would take, if each took as much longer */

/** The texts of the chapter on positional encoding, around its figures. */
export const texts = {
  question: 'How can a handful of numbers say where a word stands?',
  lead: [
    'Why not simply write 0, 1, 2, 3 … beside the words? Because the numbers grow without end: the 5,000th word would carry one that drowns all others. And shares of the length, 0 to 1, would mean another distance in every sentence.',
    'A clock has solved this. Its hands never leave the dial, and yet hours, minutes and seconds together tell each of 43,200 moments of half a day. The fast hand tells neighbours apart, the slow one morning from noon. Binary numbers do the same: 000, 001, 010, 011: the last digit changes at each step, the one before it half as often.',
    'The encoding of the first Transformer is such a clock. Each pair of columns is one hand; the two numbers say where its tip is: sideways its sine, upwards its cosine. Its fastest hand turns once in 2π, about 6.3 positions. In the formula below, i is the position, and j counts the hands.',
  ],
  /** @param {{ factor: string, pairs: string, slowest: string, width: string, base: string, even: Even }} clock */
  waves: ({ factor, pairs, slowest, width, base, even }) => [
    `Which speeds should the hands have? Each is slower than the one before by the same *factor*: a [geometric series], like units, tens and hundreds. So a few hands reach from neighbours to whole books. Suppose we *added* instead: each hand takes a fixed number of positions more for its turn. With d = ${even.width} and b = ${even.base} a turn would take ${even.turns} positions, and so on. Then one hand would be fast, and all others slow: to them, place 5 would be nearly the same as place 50.`,
    `What does the [base] b do? It sets the slowest hand. Here, with d = ${width} and b = ${base}, there are ${pairs} hands, each ${factor} times as slow as the one before, and the slowest turns once in ${slowest} positions, which is its [wavelength] λ. With a small base even the slowest is soon round, and places far apart look alike. With a large one slow hands hardly move within a text, and say little. Models for long texts take a larger one: the first Transformer had 10,000, Llama 3 has 500,000. Pull the slider, and watch the right half of the map.`,
  ],
  bases: {
    title: (/** @type {string} */ width) => `The slowest hand, with d = ${width}:`,
    ...{ base: 'base b', slowest: 'positions for one turn' },
  },
  predict: {
    question:
      'Keep only the fastest hand, sin i and cos i. Which position can hardly be told from position 0?',
    choices: {
      opposite: {
        says: '22',
        reply:
          '22 positions are three and a half turns: the hand points the opposite way. Nothing could be less alike.',
      },
      round: {
        says: '44',
        reply: 'So it is: 44 positions are seven turns but for one degree.',
      },
      never: {
        says: 'None: 2π is no whole number, so the hand is never back',
        reply:
          'Never *exactly*; but numbers that differ by a hundredth are hard to tell apart, for a model as for an eye. At 44 the hand has turned seven times but for one degree.',
      },
    },
  },
  /** @param {{ first: string, all: string, width: string }} found */
  apart: ({ first, all, width }) =>
    `In the first pair of columns, positions 0 and 44 are ${first} apart; in all ${width} columns together ${all}. The slower hands tell what the fast one cannot.`,

  similarity: [
    'How alike are two places? Take the [dot product] of their rows. The product depends on nothing but how far apart the two are: largest on the diagonal, and the same along each line beside it. So nearness is in these numbers, though nobody put it there.',
    'That is exact only as long as the encodings are alone. In a layer they are added to words, and the sum goes through the projections. A score has four parts then: word with word, word with place, place with word, and place with place. Only the last is what you see here.',
  ],

  /** @param {{ near: string, nearly: string, far: string, alike: string }} found */
  uneven: ({ near, nearly, far, alike }) =>
    `Nearness does not fall evenly: when a fast hand comes round again, places look more alike again. Here the product of two places that are ${far} apart is ${alike}, and that of two only ${near} apart is ${nearly}. Choose a cell of row 0: the curve shows both.`,

  schemes: [
    'There are other ways to tell positions. They differ in where the position comes in. It can be *added to the word* before the first layer, as waves or as a table that is learned. It can be *added to the score*: a number for each distance, which is fixed (ALiBi) or learned (T5, where far ones share one). It can be *added to the key*: a learned vector for each distance (Shaw). Or queries and keys are *turned*, each pair of columns like the hand of a clock ([rotary], or RoPE): then a score depends on how far the two are apart, and on the words.',
    'The last four cards below are the rotary way with rules for texts that are longer than any in training. There slow hands come to angles that the model has never seen. *Linear* divides every speed by the same number, and neighbours become harder to tell apart. *NTK* enlarges the base b instead, and only once a text is too long; the other three change short texts, too. In a head of D columns hand j turns by b^{−2j/D} at each step: for the first, j = 0, that is 1 whatever b is; for the last it is nearly 1/b. So the first hand stays, and each next one is slowed a little more: the fast ones, which tell neighbours apart, hardly, and the last by 1 + s · (L/T − 1). Here T is the trained length, L that of the text, and s a number to choose. With s = 1 the last hand is slowed by L/T, just as it needs, and those before it by less than they need. A larger s gives them more, and the last too much: 13 with s = 4, if L is four times T.',
    '*YaRN* and *Llama 3* decide hand by hand. A hand that has turned many times within the trained length has met every angle many times: it stays. One that has not turned once is slowed as by *Linear*, to stay among the angles that it has met. The two rules differ in what lies between. Both mix the old speed with the slowed one. YaRN changes the mixture by the same amount from hand to hand, from the last one with 32 turns or more to the first with one or less; Llama 3 by the same amount for each turn, from 4 turns to one: a hand with two and a half gets half of either speed. How many turns are enough was found by trial. And YaRN multiplies all scores by a number a little above 1: over more words softmax spreads its shares wider, and that draws them together again. The curves below the cards show by how much all four slow each hand. (Not its speed: so equal steps look bent.)',
    'Here all are on your sentence, with the same projections. In each card, the left picture is what says where words stand, and the right one is the attention that comes of it.',
  ],
  inUse: 'in use on this page',
  stretch: {
    title: 'How much the four rules slow each hand',
    cards: 'With the settings of the cards',
    model: 'As in a large model',
    shorter: (/** @type {number} */ length) =>
      `The cards’ own text has only ${length} positions, so that NTK slows less there.`,
    few: 'So Llama 3 leaves no hand as it is, and YaRN only the fastest: where none has 32 turns, it stands for the one that has.',
  },
  nothing: 'Nothing to compare yet. Type a word or two above.',

  cards: {
    labels: {
      where: 'acts',
      users: 'used by',
      good: 'good for',
      beyond: 'beyond the trained length',
      attention: 'the attention that results',
    },
    none: {
      idea: 'Nothing is said about positions.',
      drawn: 'nothing is said',
      where: 'nowhere',
      users: 'some layers of Llama 4 and SmolLM3',
      good: 'sets, where order means nothing; with a causal mask, models find out some of it',
      beyond: 'nothing runs out; on small tasks, models without positions have gone furthest',
    },
    sinusoidal: {
      idea: 'Each position has a row of waves, from fast to slow.',
      drawn: 'added to the words: a row for each position',
      where: 'on the words, before the first layer',
      users: 'the first Transformer (2017)',
      good: 'nothing to learn; a step on is a turn by a fixed angle',
      beyond: 'has a row for every position, but models make little of rows they never met',
    },
    learned: {
      idea: 'Each position has a row in a table, learned like those of words.',
      drawn: 'added to the words: a row for each position',
      where: 'on the words, before the first layer',
      users: 'BERT, GPT-2',
      good: 'texts of a fixed length; nothing to choose',
      beyond: 'the table ends: there is no row',
    },
    alibi: {
      idea: 'The further away a key is, the more is taken off its score.',
      drawn: 'added to the scores: a number for each pair, with the slope of head 1, the steepest',
      where: 'on the scores, steeper in some heads than in others',
      users: 'BLOOM, MPT',
      good: 'longer texts than in training; nothing to learn',
      beyond: 'goes on as before: what is far fades',
    },
    t5: {
      idea: 'Each distance has a learned number: near ones one each, far ones share.',
      drawn: 'added to the scores: a number for each pair',
      where: 'on the scores, with numbers for each head',
      users: 'T5 and its kin',
      good: 'few numbers, and each head learns how far to look',
      beyond: 'all distances from 128 on share the last number',
    },
    shaw: {
      idea: 'Each distance has a learned vector: so a query can ask for a distance.',
      drawn: 'added to the keys: a row for each distance',
      where: 'on the keys, so within the scores',
      users: 'Shaw et al. (2018), Music Transformer',
      good: 'questions such as “who stands two before me?”',
      beyond: 'all distances beyond the last share its vector',
    },
    rotary: {
      idea: 'Queries and keys are turned by an angle for their place: their product keeps the difference.',
      drawn: 'turns queries and keys: cosines, then sines, of each position',
      where: 'on queries and keys, in every layer',
      users: 'Llama, Mistral, Qwen, and the model of this page',
      good: 'distances, with nothing to learn; words stay as they are',
      beyond: 'slow hands come to angles never seen, and the model soon fails',
    },
    linear: {
      idea: 'All hands are slowed alike: more places within the same angles.',
      drawn: 'turns queries and keys: cosines, then sines, of each position',
      where: 'on queries and keys, in every layer',
      users: 'LongChat and Vicuna 1.5 with 16k tokens',
      good: 'the simplest stretch, with a little more training',
      beyond: 'reaches further by its factor; neighbours blur',
    },
    dynamic: {
      idea: 'Once the text is too long, the base grows: slow hands slow down, fast ones hardly.',
      drawn: 'turns queries and keys: cosines, then sines, of each position',
      where: 'on queries and keys, in every layer',
      users: 'the first Qwen, for longer texts than in training',
      good: 'short texts stay exactly as they were',
      beyond: 'stretches as the text grows',
    },
    yarn: {
      idea: 'Hand by hand: fast ones stay, slow ones are slowed, those between in part; scores are sharpened.',
      drawn: 'turns queries and keys: cosines, then sines, of each position',
      where: 'on queries and keys, in every layer',
      users: 'Qwen 2.5 and 3 for long texts, gpt-oss',
      good: 'near order stays exact; little training is enough',
      beyond: 'reaches further by its factor',
    },
    llama3: {
      idea: 'As YaRN, but hands stay from four turns on, and those between go by how often they turn.',
      drawn: 'turns queries and keys: cosines, then sines, of each position',
      where: 'on queries and keys, in every layer',
      users: 'Llama 3.1 and 3.2',
      good: 'near order stays exact, and scores are left as they are',
      beyond: 'reaches further by its factor, after more training',
    },
  },

  takeaway:
    'A place is told by many hands, fast ones for near and slow ones for far; and the ways of telling differ in what they touch: the word, the score, the key, or the angle of query and key.',
};
