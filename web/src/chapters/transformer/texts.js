/** The texts of the chapter on Transformer blocks, text generation and their history. */
export const texts = {
  question: 'What is needed besides attention to make a model that writes?',
  /** @param {{ gelu: boolean }} model gelu: its bend is GELU */
  block: ({ gelu }) => [
    'In attention, words exchange news. A Transformer’s block adds four plain things to it. First, what the [heads|head] have found is put side by side and mixed by one more [projection], so that the layer speaks with one voice.',
    'Second, what went in is added to what came out: the [residual]. So a layer says only what is to *change*; a word that has learned nothing new stays what it was. And in training, the [gradient] has a straight way back through a hundred layers.',
    'Third, numbers that are added again and again grow, and large scores saturate softmax. So each row is brought back to mean 0 and standard deviation 1 by [layer normalisation], and each column is then scaled and shifted by learned numbers.',
    `Fourth, the other half of the block is a small [feed-forward network]. Here each word thinks over, by itself, what it has heard: one projection makes its row wider, in most models four times, [ReLU] turns what is below 0 into 0${gelu ? ' (this model uses GELU, the same with a rounded corner)' : ''}, and another projection makes it as narrow as before. Where it is four times as wide, two thirds of a block’s [parameters|parameter] are here. It is wrapped in a residual and a normalisation of its own.`,
    'Rows meet in attention only; all else happens to each word by itself. Choose a cell: the cells that it was made from keep their colour.',
  ],
  decoder: [
    'A reading block, an [encoder], sees the whole sentence. One that writes, a [decoder], writes one token after the other, and none may look at what comes later. That seems a loss, and saves most of the work: what an earlier token is, its key and its value, can never be changed by a later one. So keys and values are kept in a [cache].',
  ],
  steps:
    'Step through your sentence: each step computes one new row of keys and of values, and reads the others. What comes out is the same as if the whole sentence were computed at once.',
  predict: {
    question:
      'Ten words are written, and the next one comes. For how many words must keys and values be computed?',
    choices: {
      all: {
        says: 'All eleven: the new word changes what the others mean',
        reply:
          'It would, if they could see it. But no word looks ahead: nothing that comes later changes their keys and values.',
      },
      one: { says: 'One: the new word only', reply: 'So it is.' },
      none: {
        says: 'None: it only reads the cache',
        reply:
          'Its query reads the cache; but those who come later will want to look at it, too: it needs a key and a value.',
      },
    },
  },
  /** @param {{ n: string, with: string, without: string, largest: string }} work */
  work: (work) =>
    `For the ${work.n} tokens drawn below, ${work.with} rows of keys and of values are computed with a cache, one each; without it ${work.without}, as each step begins anew. The outputs differ by ${work.largest} at most: the rounding of the computer.`,
  nextWord: [
    'How does a vector become a word? What the last token has become is compared with every token of the vocabulary: a [dot product] each. [Softmax|softmax] makes probabilities of them. One token is drawn and written, and all begins anew with a token more. In the formula, h_{n} is that vector, and E has a row for each token.',
    'The scores are divided by a [temperature] T first. At a low one it is nearly always the most probable token that is taken, and the text soon goes in circles; at a high one, surprises come. Of the tokens, only the k most probable (“top k”) are drawn from.',
  ],
  whenLearned: 'A small model that attn trained on novels writes on where your sentence ends.',
  alignment: [
    'Attention is older than the Transformer. In 2014, machines translated with two recurrent networks: one read the sentence word by word, and the other wrote from the last state of the first, one vector for everything it had read. Long sentences were lost on the way. Bahdanau, Cho and Bengio let the writer look back: before each word, it compares its state with every word that was read, and takes a weighted mean.',
    'The comparison is not a dot product here but a small network with one hidden layer: additive attention. The sentences are those of the paper’s Figure 3, in which French turns “European Economic” around: look for where the line of strong cells runs backwards. A [GRU] is the kind of network that reads and writes.',
  ],
  /** How the parameters came to be. @type {Record<string, string>} */
  setBy: { spelling: 'set by hand', xavier: 'at random', decoder: 'before training' },
  /** @param {{ one: string, other: string }} pair of words */
  letter: ({ one, other }) => `“${one}” finds “${other}” only because of a letter.`,
  /** What is said of each way to set the parameters. */
  parameters: {
    spelling: (/** @type {number} */ columns) =>
      `Not trained, but set by hand: for each of the ${columns} columns of the embeddings, two hidden units give a score that is largest where both words agree. Embeddings are made of letters, so words spelled alike find each other wherever they stand. Words that mean the same but share no letters, such as “zone” and “Area”, do not.`,
    decoder: (/** @type {number} */ seed) =>
      `Bahdanau’s decoder before training, seed ${seed}: one GRU reads, another one writes, and the state of the latter before each word is the query. Without training it looks at nothing in particular.`,
  },
  takeaway:
    'Attention carries news between words, the feed-forward network works on each word by itself, and sums and norms keep many such layers learnable.',
};
