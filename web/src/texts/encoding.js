/** Text shown in the chapter on positional encoding, around its figures. */
export const texts = {
  question: 'How can a handful of numbers say where a word is?',
  lead: [
    'Why not simply write 0, 1, 2, 3 … next to the words? Because the 5,000th word would carry a number that drowns out all others. Fractions of the length, from 0 to 1, do not work either, because the same step would be a different distance in every sentence.',
    'A clock solves this problem. Its hands never leave the dial. Yet together, hours, minutes and seconds tell apart all 43,200 seconds of half a day. The fast hand tells one second from the next, and the slow hand tells morning from noon. Binary numbers do the same. In 000, 001, 010, 011 the last digit changes at each step, the digit before it half as often.',
    'The encoding of the first Transformer gives each position a row of numbers. Picture each pair of neighbouring numbers (two columns of the map below) as a clock hand that starts at 12. They say where its tip is: the sine says how far to the right, the cosine how far up. The fastest hand turns once in 2π (about 6.3) positions. In the formula below, i is the position, and j counts the hands. The base b sets how slow the slowest hand is: move its slider, and watch the right half of the map.',
  ],
  /** @param {{ factor: string, pairs: string, slowest: string, width: string, base: string }} clock */
  waves: ({ factor, pairs, slowest, width, base }) => [
    `How fast should each clock hand be? Each is slower than the one before by the same *factor*. This is a [geometric series], like units, tens and hundreds, so a few hands cover distances from one word to a whole book. If each hand took 1,000 positions *longer* for a turn than the hand before (6, 1,006, 2,006 …), one hand would be fast and all others slow.`,
    `What does the [base] b do? It decides how slow the slowest clock hand is. Here, with d = ${width} and b = ${base}, there are ${pairs} hands, each ${factor} times as slow as the one before, and the slowest turns once in ${slowest} positions: this is its [wavelength] λ. With a small base even the slowest hand is soon back at the start, and positions far apart look alike. With a large base the slow hands hardly move within a text, and reveal little about the position. Models for long texts use a larger base: the first Transformer had 10,000, and Llama 3 has 500,000.`,
  ],
  bases: {
    title: (/** @type {string} */ width) => `The slowest hand, with d = ${width}:`,
    ...{ base: 'base b', slowest: 'positions for one turn' },
  },
  predict: {
    question:
      'Keep only the fastest clock hand, sin i and cos i. Which position can hardly be told apart from position 0?',
    choices: {
      opposite: {
        says: '22',
        reply:
          '22 positions are three and a half turns, so the hand points the opposite way. No two directions could be less alike.',
      },
      round: {
        says: '44',
        reply: 'Exactly. 44 positions are seven turns, to within about one degree.',
      },
      never: {
        says: 'None: no multiple of 2π is a whole number, so the hand never returns',
        reply:
          'The hand never returns *exactly*. But numbers that differ by less than two hundredths are hard to tell apart, for a model as for an eye. At 44 the hand has turned seven times, to within about one degree.',
      },
    },
  },
  /** @param {{ first: string, all: string, width: string }} found */
  apart: ({ first, all, width }) =>
    `In the first pair of columns, positions 0 and 44 are ${first} apart. In all ${width} columns together they are ${all} apart. The slower hands tell apart what the fast one cannot.`,

  more: 'How alike two positions are',
  similarity: [
    'How alike are two positions? Take the [dot product] of their rows. The product depends only on how far apart the two are. It is largest on the diagonal, and the same along each line parallel to it. So nearness is in these numbers, though nobody put it there.',
    'Exactly this is true only for the encodings alone. In a layer, encodings are added to words, and the sum goes through the projections. A score then has four parts: word with word, word with position, position with word, and position with position. The figure shows only the last part.',
  ],

  /** @param {{ near: string, nearly: string, far: string, alike: string }} found */
  uneven: ({ near, nearly, far, alike }) =>
    `The product does not fall evenly with distance. When a fast clock hand comes round again, positions look more alike again. Here the product of two positions that are ${far} apart is ${alike}, and the product of two only ${near} apart is ${nearly}. Choose a cell of row 0: the curve shows both products.`,

  schemes: [
    'There are other ways to encode positions. They differ in *where* the position enters: it is added to the word, added to the score, or built into query and key. Below, two of each kind are applied to your sentence. The picture in each card shows what encodes the positions.',
  ],
  longer: [
    'The last four cards are rotary encodings with rules for texts that are longer than any in training. In such texts slow clock hands reach angles that the model has never seen. *Linear* divides every speed by the same number, and neighbours become harder to tell apart. *NTK* enlarges the base b instead, and only once a text is too long. Linear, YaRN and Llama 3 affect short texts, too. In a head of D columns hand j turns by b^{−2j/D} at each step. For the first hand, j = 0, this angle is 1 whatever b is, and for the last hand it is nearly 1/b. So the first hand keeps its speed, and each later one is slowed a little more. The fast hands, which tell neighbours apart, are hardly slowed, and the last is slowed by a factor of 1 + c · (L/T − 1). Here T is the trained length, L is the length of the text, and c is a number to choose. With c = 1 the last hand is slowed by L/T, which is just what it needs, and the hands before it are slowed by less than they need. A larger c slows those hands more, but it slows the last hand too much: by a factor of 13 if c = 4 and L is four times T.',
    '*YaRN* and *Llama 3* decide for each clock hand separately. A hand that has turned many times within the trained length has met every angle many times, so it keeps its speed. A hand that has not turned once is slowed as in *Linear*, to stay among the angles that it has met. The two rules differ in how they treat the hands in between. Both mix the old speed with the slowed one. YaRN changes the mixture by the same amount from hand to hand, beginning at the last hand with 32 turns or more and ending at the first with one or less. Llama 3 changes it by the same amount for each turn, from 4 turns to one, so a hand with two and a half turns gets half of each speed. The limits of 32, 4 and 1 were found by experiment. YaRN also multiplies all scores by a number a little above 1. Over more words softmax spreads its weights more widely, and the larger scores draw them together again. The curves below the cards show how much each of the four rules slows each hand. (They show the slowing, not the speed, so changes by equal amounts appear as curves, not as straight lines.)',
  ],
  /** Where the position enters: a title and an explanation for each kind of scheme. */
  kinds: {
    word: {
      title: 'Added to the word',
      text: 'This happens once, before the first layer. Projections can learn to tell word and position apart.',
    },
    score: {
      title: 'Added to the score',
      text: 'Every layer adds a number that depends on the distance.',
    },
    inside: {
      title: 'Built into query and key',
      text: 'Every layer changes these vectors. The words stay as they are.',
    },
  },
  invent: 'Invent one yourself',
  yours: 'The card for your own formula',
  inUse: 'in use on this page',
  stretch: {
    more: 'No positions at all, and four rules for long texts: linear, NTK, YaRN, Llama 3',
    title: 'How much the four rules slow each hand',
    cards: 'With the settings of the cards',
    model: 'With the settings of a large model',
    shorter: (/** @type {number} */ length) =>
      `In the cards NTK slows the hands less, because the text in the cards has only ${length} positions.`,
    few: 'With so few turns, Llama 3 slows every clock hand, and YaRN slows every hand except the fastest. If no hand makes 32 turns, YaRN treats the fastest hand as if it made 32.',
  },
  nothing: 'Nothing to compare yet. Type a word or two above.',

  cards: {
    labels: {
      users: 'used by',
      good: 'strength',
      beyond: 'longer texts',
      attention: 'the attention that results',
    },
    none: {
      idea: 'Nothing encodes the positions.',
      drawn: 'nothing to draw',
      users: 'some layers of Llama 4 and SmolLM3',
      good: 'sets, whose order means nothing; also texts, if a causal mask reveals some of the order',
      beyond:
        'has no limit; in tests on small tasks, models without positions coped best with longer texts',
    },
    sinusoidal: {
      idea: 'Each position has a row of waves, from fast to slow.',
      drawn: 'a row for each position',
      users: 'the first Transformer (2017)',
      good: 'nothing to learn; each step turns every hand by a fixed angle',
      beyond: 'has more rows, but the model has never met them',
    },
    learned: {
      idea: 'Each position has a row in a table. The table is learned, like the table of words.',
      drawn: 'a row for each position',
      users: 'BERT, GPT-2',
      good: 'texts of a fixed length; there is no base to choose',
      beyond: 'the table ends, so there is no row',
    },
    alibi: {
      idea: 'The further away a key is, the more is subtracted from its score, in some heads more than in others.',
      drawn: 'a number for each pair of positions, for the head with the steepest slope',
      users: 'BLOOM, MPT',
      good: 'texts longer than in training; nothing to learn',
      beyond: 'goes on as before: distant words fade',
    },
    t5: {
      idea: 'Each short distance has its own learned number. Longer distances share numbers.',
      drawn: 'a number for each pair of positions',
      users: 'T5 and its relatives',
      good: 'few numbers, and each head learns how far to look',
      beyond: 'distances above 127 share the last number',
    },
    shaw: {
      idea: 'Each distance has a learned vector, which is added to the key. So a query can ask for a distance.',
      drawn: 'a row for each distance',
      users: 'Shaw et al. (2018), Music Transformer',
      good: 'questions such as “which word is two words before mine?”',
      beyond: 'longer distances all share the last vector',
    },
    rotary: {
      idea: 'RoPE: queries and keys are turned like clock hands, so scores depend on how far apart words are.',
      drawn: 'a row for each position: cosines of the angles, then sines',
      users: 'Llama, Mistral, Qwen, and the model on this page',
      good: 'scores depend on distance; nothing to learn',
      beyond: 'slow hands reach unseen angles, unless a rule below slows them',
    },
    linear: {
      idea: 'All clock hands are slowed by the same factor, so more positions fit within the same angles.',
      drawn: 'a row for each position: cosines of the angles, then sines',
      users: 'LongChat and Vicuna 1.5 with 16k tokens',
      good: 'a simple rule that needs a little more training',
      beyond: 'multiplies the trained length by the rule’s factor, but neighbours blur',
    },
    dynamic: {
      idea: 'If the text is too long, the base grows. Slow clock hands become slower, and fast ones hardly change.',
      drawn: 'a row for each position: cosines of the angles, then sines',
      users: 'the first Qwen, for longer texts than in training',
      good: 'short texts stay exactly as they were',
      beyond: 'stretches further as the text grows',
    },
    yarn: {
      idea: 'Fast clock hands keep their speed, slow hands are slowed, and hands in between are slowed less. Scores are sharpened.',
      drawn: 'a row for each position: cosines of the angles, then sines',
      users: 'Qwen 2.5 and 3 for long texts, gpt-oss',
      good: 'keeps the order of nearby words exactly, and needs little training',
      beyond: 'multiplies the trained length by the rule’s factor',
    },
    llama3: {
      idea: 'Like YaRN, but a clock hand keeps its speed if it makes at least four turns within the trained length. Between four turns and one, the fewer turns it makes, the more it is slowed.',
      drawn: 'a row for each position: cosines of the angles, then sines',
      users: 'Llama 3.1 and 3.2',
      good: 'the order of nearby words stays exact, and scores are left as they are',
      beyond: 'after more training, multiplies the trained length by the rule’s factor',
    },
  },

  takeaway:
    'Many clock hands encode a position: fast ones for short distances and slow ones for long distances. Encodings differ in what they change: the word, the score, the key, or the angle of query and key.',
};

const random = 'Random numbers replace the tables that a model would learn.';

/** Labels of the controls, and notes below the comparison of schemes. */
export const labels = {
  weights: 'also show the attention that results',
  random,
  length: 'length',
  width: 'width d',
  base: 'base b',
  start: 'first position',
  step: 'step between rows',
  trained: 'trained for',
  factor: 'stretched by',
  clip: 'vectors for distances up to',
  /** @param {{ head: number, heads: number, layer: number, rotary: boolean }} given */
  learned: ({ head, heads, layer, rotary }) =>
    `The projections belong to layer ${layer + 1}, head ${head + 1} of ${heads}, of a model that was trained with ${rotary ? 'rotary' : 'sinusoidal'} positions, so the attention does not show which way is better. ${random}`,
  /** @param {{ head: number, heads: number, identity: boolean, seed: number }} given */
  untrained: ({ head, heads, identity, seed }) => {
    const projections = identity ? 'identity' : `random (seed ${seed})`;
    return `Head ${head + 1} of ${heads}; the projections are ${projections}. ${random}`;
  },
  /** @param {number} tokens */
  first: (tokens) => `Only the first ${tokens} tokens are compared.`,
};
