/** @typedef {{ layer: number, head: number }} Head */

/** Text shown in the chapter on self-attention, around its figures. */
export const texts = {
  question: 'What does a word look at, and how does it decide?',

  embedding: {
    learned: (/** @type {{ d: number, layer: number, bytes: boolean }} */ { d, layer, bytes }) => [
      `In *self*-attention, each word of a sentence looks at the others. A computer works on numbers, so each word first becomes a [vector], a row of ${d} numbers (or [dimensions|dimension]). The model has learned such a row for each word, its [embedding].`,
      [
        'Rare words are split into pieces. Words and pieces are called [tokens|token].',
        ...(bytes ? ['A character without a row is split into its bytes, such as <e6>.'] : []),
        'A model has several [layers|layer], one after the other.',
        layer === 1
          ? 'You are looking at the first layer. It reads X: the embeddings, each scaled to the same size (*normalised*).'
          : layer === 2
            ? 'You are looking at layer 2. It reads X, the output of layer 1.'
            : `You are looking at layer ${layer}. It reads X, the output of the layers before it.`,
      ].join(' '),
    ],
    spelled: (/** @type {{ d: number }} */ { d }) => [
      `In *self*-attention, each word of a sentence looks at the others. A computer works on numbers, so each word, or [token], first becomes a [vector] of ${d} numbers (or [dimensions|dimension]), its [embedding].`,
      'A model learns these numbers. Nothing is learned here, so the page takes them from the spelling. The word “walk” contains the runs of letters “wa”, “al”, “lk”, “wal”, “alk” and “walk”, and a few more that mark where the word begins or ends. Each run has a random vector, which a [hash] picks, and “walk” is the sum of these vectors. “walked” has most of these runs too, so the two vectors are close together.',
    ],
  },
  places: {
    added:
      'A second row, P, is added to the row of each word. P encodes the word’s position. Chapter 4 explains how. For now it is enough that every position has a row of its own.',
    turned:
      'An embedding does not say where its word is. The position enters later, when words are compared (chapter 5).',
    none: 'Nothing says where a word is, because positions are off.',
  },
  halfEmpty:
    'In the figure below, W says how much each word (a row) looks at every word (a column), itself included. Half of it is empty, because here no word may look at later words.',
  square:
    'In the figure below, W says how much each word (a row) looks at every word (a column), itself included. Each row adds up to 1, or to 0 if all of it is masked.',

  /**
   * @param {{ word: string, followed: string } | null} again a word that occurs twice, and the word
   *   after its first occurrence
   * @param {{ previous: Head, followed: Head } | null} heads the heads of the model that look at the
   *   previous word, and at what followed the same word last time, if their habits were measured
   */
  roles: (again, heads) => [
    [
      again
        ? `Suppose “${again.word}” wants to know what followed it last time. In your sentence the answer is “${again.followed}”. How can it find that?`
        : 'Suppose a word wants to know what followed it last time. How can it find that?',
      'In a library you come with a question, read the spines of the books, and take home what is inside one. Attention has a vector for each of the three. The [query] says what a word looks for. The [key] says what a word can be found by. The [value] is what it hands over.',
      again && heads
        ? `Several parts of a layer, its [heads|head], look at the words at the same time. Here head ${heads.previous.head + 1} of layer ${heads.previous.layer + 1} looks at the previous word, and so writes “I follow ${again.word}” into “${again.followed}”. In layer ${heads.followed.layer + 1}, head ${heads.followed.head + 1} makes the key of “${again.followed}” from this note, and the query of “${again.word}” asks for it.`
        : 'In a trained model, one head marks each word with the word before it, and a head of a later layer looks for this mark.',
    ].join(' '),
    'All three are made from the same row of X by three matrices (tables of numbers), the [projections|projection] W_{q}, W_{k} and W_{v}. Why three, and not one? If one vector did all three jobs, the [score] of two words would be the same in both directions, though only one of them asks. A vector is also most like itself, so most words would look at themselves. And a book is found by its title but read for its text.',
  ],
  weights: [
    'A word’s query meets every key. Their [dot product] is the score of the pair. The longer the vectors, the larger the scores, so each score is divided by √D, where D is the length of a query. Then [softmax] turns each row of scores into the weights W. Why powers of e? They are positive even if a score is negative, and a score that is larger by 1 always gets 2.7 times the weight. In the formula, the rows of Q are the queries, and the rows of K the keys. QK^{⊤} contains the scores of all pairs (⊤ swaps rows and columns).',
    'A [mask] hides words. It sets a score to minus infinity. e to that power is 0, so the hidden word gets a weight of 0, and the others share all the attention. Try a mask, or choose another head.',
    'A word has more than one thing to find out, but one row of weights adds up to 1: more for one word means less for the others. So each head has its own queries, keys and values. Below, three numbers describe each head: [entropy] (how widely attention is spread), [mean distance] and [largest weight].',
  ],
  alike:
    'For now, the projections are set to *identity*, which only copies. So queries, keys and values are all the same, and words look at words that are spelt like them.',
  differ: 'Let queries, keys and values differ (random projections)',
  whenLearned:
    'A trained model has many heads, and each does something different. A wall of pictures shows them all.',

  predict: {
    question: 'Two words look at each other. Does each give the other the same attention weight?',
    choices: {
      same: {
        says: 'Yes: two words match equally well from either side',
        reply:
          'Similarity is the same from both sides. But here the *query* of one word meets the *key* of the other, and in the other direction two different vectors meet. Each word also divides its attention among all words in its own way.',
      },
      differ: {
        says: 'No: each word decides for itself',
        reply: 'Exactly. Each row is one word’s own decision, and each row adds up to one.',
      },
      near: {
        says: 'Yes, if they are next to each other',
        reply:
          'Being near does not make two words agree. Even neighbours ask different questions, and each divides its own attention.',
      },
    },
  },
  /** @param {{ head: number, one: string, other: string, there: string, back: string, masked: boolean }} found */
  shares: ({ head, one, other, there, back, masked }) =>
    `In head ${head}${masked ? ', without a mask' : ''}, ${one} in your sentence gives ${other} ${there}, and ${other} gives ${one} ${back}.`,

  heads: (/** @type {{ d: number, D: number }} */ { d, D }) => [
    `Several heads add hardly any work, because they divide a word’s ${d} numbers (the [width d]) among them: here each query has ${D} (the [width D]).`,
  ],
  gain: {
    lead: 'What are several heads good for?',
    link: 'See four heads and a single head learn to add, side by side',
  },
  favourites: (/** @type {string} */ token) =>
    `The word that gets the most attention from “${token}” in each head, with its weight:`,
  /** @param {{ own: number, all: number, alike: boolean }} found alike: whether queries equal keys */
  selfish: ({ own, all, alike }) =>
    alike
      ? `Tokens that look mostly at themselves: ${own} of ${all}. Queries equal keys, so most words are their own best match.`
      : `Tokens that look mostly at themselves: ${own} of ${all}. Queries differ from keys, so a word need not be its own best match.`,

  learned: (/** @type {{ layer: number, layers: number }} */ { layer, layers }) =>
    `Learned projections, from layer ${layer} of ${layers} in the page’s small language model.`,
  identity: (/** @type {{ head: number, from: number, to: number }} */ { head, from, to }) =>
    `Identity projections: head ${head} compares columns ${from} to ${to} of the input, unchanged.`,
  random: (/** @type {{ seed: number }} */ { seed }) =>
    `Random projections: each head has its own (Xavier, seed ${seed}). Nothing is trained.`,

  masks: [
    'There are three reasons for a mask. [Causal order|causal]: a model that learns to predict the next word must not see it, so no word looks at later ones. [Padding|padding]: sentences that are processed together are padded to the same length, and no word should attend to the padding. The *valid length* counts the real words. *Length*: a book of 100,000 words has ten billion pairs, and a [window] of nearby words is usually enough.',
  ],
  masked: {
    /** The comparison is shown only for sentences with at most this many tokens. */
    most: 64,
    title: (/** @type {string} */ token) => `The largest weights that ${token} gives:`,
    ...{ word: 'to', free: 'without a mask', masked: 'with your masks' },
  },
  tries: {
    lead: 'Try it:',
    causal: 'no word looks ahead',
    window: 'one neighbour on each side',
    padding: 'as if the last three were padding',
    none: 'no mask',
  },

  stages: (/** @type {{ turns: boolean }} */ { turns }) => [
    `Now step by step, in the order of the pictures. The layer makes queries, keys and values from X. The ⊤ only swaps the rows and columns of W_{q}, so that the multiplication fits.${turns ? ' It turns queries and keys by the angles of their positions, as chapter 5 explains.' : ''} A query times a key is a score. Scores are divided by √D (the picture looks the same, because its colour scale shrinks, too), and a mask removes pairs.`,
    'Why √D? A score is a sum of D products. For random numbers it is like a walk of D steps to the left or right, which ends about √D steps from its start. (Training makes the numbers, and so the scores, larger.) Undivided, scores of wide heads would let one key take all.',
    'Softmax turns each row of scores into weights. Then each word adds up all values, each multiplied by its weight (O). Y joins and mixes the results of all heads.',
  ],

  scale: [
    'With D = 64 the scores of unrelated words are spread eight times as widely as with D = 1.',
    'Such a spread of scores is far too wide for softmax. A score that leads by 8 gets a weight e^{8} times as large, which is about 3,000 times. One key takes all. This is called [saturation]. Worse, softmax has gone deaf: move a score a little, and hardly any weight changes. Learning depends on such changes, the [gradients|gradient]. Where there are none, nothing is learned. Divided by √D, the scores of unrelated words have a spread of about 1, however wide the head is. Trained heads do make larger scores where they have learned that two words belong together.',
  ],

  divisors: { label: 'divide scores by', root: '√D', none: 'nothing', width: 'D' },
  alikeScores:
    'With identity projections a word’s query equals its key, and the product of a vector with itself is large whatever it is divided by. So most of a word’s attention stays with the word itself. Random vectors and learned projections show better what √D does.',

  more: {
    scale: 'What happens if scores are not divided by √D',
    wall: 'Every head of every layer',
    edit: 'Change one number of a projection',
  },
  edit: [
    'A layer of attention depends on four matrices: the projections for queries, keys and values, and one for the output. Change one number and see how far the change reaches. In W_{q} it moves the attention of nearly every word a little. In W_{v} it leaves attention alone: it changes one of the numbers that each word hands over, and W_{o} spreads that change over all columns. In W_{o} itself it changes one column of the output. Training is nothing but many such changes. It starts from random numbers, here of the kind called [Xavier], made from a [seed].',
  ],
  edits: {
    lead: 'Try changing one number in',
    q: 'W_{q}: what this word looks for',
    v: 'W_{v}: what all words hand over',
    o: 'W_{o}: the output',
  },
  nothing: 'Nothing to look at yet. Type a word or two above.',

  takeaway:
    'Each word compares its query with all keys. Softmax turns the scores, divided by √D, into weights. The result is the sum of all values, each multiplied by its weight.',
};

/** Labels of the controls, and notes. */
export const labels = {
  projection: 'projection',
  /** @param {number} row @param {number} column */
  cell: (row, column) => `row ${row}, column ${column}`,
  /** @param {number} head */
  head: (head) => `head ${head + 1}`,
  nothing: 'nothing',
  ownScale: 'separate colour scale for P',
  /** @param {number} layer */
  input: (layer) => `input of layer ${layer + 1}`,
  normalised: 'normalised',
  paint: 'mask single cells',
};
