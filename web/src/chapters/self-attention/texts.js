/** The texts of the chapter on self-attention, around its figures. */
export const texts = {
  question: 'What does a word look at, and how does it decide?',

  embedding: {
    learned: (/** @type {{ d: number, layer: number, bytes: boolean }} */ { d, layer, bytes }) => [
      `In *self*-attention a sentence asks itself: each word looks at the others. A computer works on numbers, so each word first becomes a list of them, its [embedding]: a [vector] of ${d} numbers, or [dimensions|dimension]. Here it is a row of a table that was learned from novels.`,
      `Common words have a row of their own. Others fall into pieces, called [tokens|token]; a piece that goes on with a word has a hyphen before it.${bytes ? ' A sign without a row falls into its bytes, such as <e6>.' : ''} A model has several [layers|layer], one after the other. ${
        layer === 1
          ? 'The first one, which you look at, reads these rows, each brought to the same size (*normalised*).'
          : `Layer ${layer}, which you look at, does not read these rows any more: it reads what the ${layer === 2 ? 'layer before it has' : `${layer - 1} layers before it have`} made of them.`
      }`,
    ],
    spelled: (/** @type {{ d: number }} */ { d }) => [
      `In *self*-attention a sentence asks itself: each word looks at the others. A computer works on numbers, so each word, or [token], first becomes a list of them, its [embedding]: a [vector] of ${d} numbers, or [dimensions|dimension].`,
      'A model learns these numbers. Nothing is learned here, so the page takes them from the spelling. “walk” has the runs “wa”, “al”, “lk”, “wal”, “alk” and “walk”, and a few more with its beginning and its end. Each run has a random vector, which a [hash] picks, and “walk” is the sum of them all. “walked” has most of these runs too: so the two lie close together.',
    ],
  },
  places: {
    added:
      'To each row another one is added, P, which tells the place of the word. How it does so is the matter of the chapter on positional encoding; for now it is enough that every place has a row of its own.',
    turned:
      'These rows do not say where a word stands. Its place comes in one step later: the two vectors that words are compared by, query and key, are turned by angles that grow with the place. Step 2 of “Follow one word”, at the top of the page, shows it for one of the two.',
    none: 'Where a word stands is not said at all now: positions are off.',
  },
  halfEmpty:
    'The last picture, W, says how much each word (a row) looks at each other (a column). Half of it is empty: no word looks at later ones now. The part on masks below says why.',
  square:
    'The last picture, W, says how much each word (a row) looks at each other (a column). Each row adds up to one, or to 0 if all of it is masked.',

  /**
   * @param {{ word: string, followed: string } | null} again a word that occurs twice, and what
   *   followed it the first time
   */
  roles: (again) => [
    `${again ? `Suppose “${again.word}” wants to know what followed it last time. In your sentence the answer is “${again.followed}”. How can it find that?` : 'Suppose a word wants to know what followed it last time. How can it find that?'} Think of a library. You come with a question, you read the spines of the books, and you take home what is inside one. These are three things, and attention has three vectors for them. The [query] says what a word looks for. The [key] says what a word can be found by. The [value] is what it hands over once it is found.`,
    `All three are made from the same vector X, by three matrices, the [projections|projection] W_{q}, W_{k} and W_{v}. Why three, and not one? With one vector for all, the [score] of ${again ? `“${again.word}” and “${again.followed}”` : 'two words'} would be the same in both directions, though only one of them has a question. A vector is also most like itself, so most words would look mainly at themselves. And a book is found by its title but read for its text: what a word is found by need not be what it hands over.`,
  ],
  alike:
    'Just now the projections are *identity*: they only copy. So queries, keys and values are one and the same, and words look at words that are spelt like them.',
  differ: 'Let the three differ (random projections)',
  whenLearned:
    'A model that has learned has many heads, and each does something else: a wall shows them all.',

  predict: {
    question:
      'Two words look at each other. Does each give the other the same share of its attention?',
    choices: {
      same: {
        says: 'Yes: how well they go together is the same from both sides',
        reply:
          'That holds for likeness. But one word’s *query* meets the other’s *key*, and the other way round these are two different vectors. And each word divides its attention among all words in its own way.',
      },
      differ: {
        says: 'No: each decides for itself',
        reply: 'So it is. Each row is one word’s own decision, and adds up to one by itself.',
      },
      near: {
        says: 'Yes, if they stand side by side',
        reply:
          'Being near does not make them agree: even neighbours ask different questions, and each divides its own whole.',
      },
    },
  },
  /** @param {{ head: number, one: string, other: string, there: string, back: string, masked: boolean }} found */
  shares: ({ head, one, other, there, back, masked }) =>
    `In your sentence, head ${head}${masked ? ', without a mask' : ''}: ${one} gives ${other} ${there}, and ${other} gives ${one} ${back}.`,

  heads: (/** @type {{ heads: number, d: number, D: number }} */ { heads, d, D }) => [
    'A word has more than one thing to find out. It may need to know what followed it last time, and also which word comes just before. But in one row of weights, what goes to one word is taken from the others. So a layer looks several times at once: it has several [heads|head], each with queries, keys and values of its own.',
    `More heads cost hardly more: they share a word’s numbers among them. Here each word has ${d} numbers (the [width d]); with ${heads} heads, a query of one head has ${D} (its [width D]).`,
    'Beside each head stand three numbers, means of all rows. The [entropy] says how spread out its attention is: 0 bits is all on one word, 1 bit is as if on two, 2 bits as if on four. The [mean distance] says how many places away it looks, and the [largest share] how much the favourite gets.',
  ],
  gain: {
    lead: 'What are several heads good for?',
    link: 'See four heads and one learn to add, side by side',
  },
  favourites: (/** @type {string} */ token) =>
    `What “${token}” looks at most, head by head, and its share:`,
  selfish: (/** @type {{ own: number, all: number }} */ { own, all }) =>
    `Tokens that look most at themselves: ${own} of ${all}.`,

  learned: (/** @type {{ layer: number, layers: number }} */ { layer, layers }) =>
    `Learned projections: those of layer ${layer} of ${layers}, of a model that attn trained on novels.`,
  identity: (/** @type {{ head: number, from: number, to: number }} */ { head, from, to }) =>
    `Identity projections: head ${head} compares columns ${from} to ${to} of the tokens as they are.`,
  random: (/** @type {{ seed: number }} */ { seed }) =>
    `Random projections: each head looks through its own, Xavier with seed ${seed}. Nothing is trained.`,

  masks: [
    'Not every pair may look at each other. There are three reasons. [Causal order|causal]: a model that learns to predict the next word must not see it, so no word looks at later ones. *Filling*, or [padding]: sentences that are computed together get one length; short ones are filled up, and nobody should listen to that. *Length*: in a book of 100,000 words there are ten billion pairs; mostly a [window] of near ones is enough.',
    'A [mask] sets the score of such a pair to minus infinity. e to the power of that is 0, so the pair gets no share, and the others divide the whole among them. A row still adds up to one. Only where *all* of a row is masked is it all zeros, and the word takes nothing.',
  ],
  masked: {
    /** Tokens of a sentence for which it is told. */
    most: 64,
    title: (/** @type {string} */ token) => `The largest shares that ${token} gives:`,
    ...{ word: 'to', free: 'without a mask', masked: 'as it is set' },
  },
  tries: {
    lead: 'Try it:',
    causal: 'no word looks ahead',
    window: 'one neighbour on each side',
    padding: 'only the last three are padding',
    none: 'no mask',
  },

  stages: [
    'Now step by step, from the left to the right. X, what the layer reads, becomes queries, keys and values. A query times a key is a score: multiply number by number, and add up. (⊤ lays a table on its side, so that rows meet rows.) Scores are divided by √D, and a mask takes pairs out.',
    '[Softmax|softmax] makes shares of each row: e to the power of each score, divided by the sum. At last each word adds up all values, each times its share. Choose any number to see what it was made of.',
  ],

  scale: [
    'Why divide by √D? A score is a sum of D products. Some are positive, some negative, and they cancel in part. It is like a walk of D steps, each to the left or to the right by chance: it ends about √D steps from where it began. So with D = 64 the scores of words that have nothing to do with each other are spread eight times as wide as with D = 1.',
    'For softmax that is far too wide. A score that leads by 8 gets a share e^{8} times as large, some 3,000 times: one key takes all. This is called [saturation]. Worse, softmax has gone deaf: move a score a little, and hardly any share changes. Learning goes by just such changes, the [gradients|gradient]; where there are none, nothing is learned. Divided by √D, the scores of such words are spread by about 1, however wide the head is. Trained heads do make larger ones, where they have learned that two words belong together.',
  ],

  divisors: { label: 'divide scores by', root: '√D', none: 'nothing', width: 'D' },
  alikeScores:
    'With identity projections a query is its own key, and a word’s product with itself is large whatever it is divided by: so most of its share stays at home. Random vectors show better what √D does, and so do learned projections.',

  edit: [
    'All of this hangs on four tables of numbers: the projections for queries, keys and values, and one for the output. Change one number and see how far it reaches. In W_{q} it moves the attention of nearly every word a little. In W_{v} it leaves attention alone: it changes one of the numbers that are handed over, and W_{o} spreads that over all columns. In W_{o} itself it changes one column of the output. Training is nothing else than many such changes, to numbers that begin at random: of the kind called [Xavier], made from a [seed].',
  ],
  edits: {
    lead: 'Try it: a number of',
    q: 'W_{q}: what this word looks for',
    v: 'W_{v}: what all words hand over',
    o: 'W_{o}: what comes of it',
  },
  nothing: 'Nothing to look at yet. Type a word or two above.',

  takeaway:
    'Each word compares its query with all keys; the scores, divided by √D, become shares by softmax; and mixed by these shares, the values are what the word takes along.',
};
