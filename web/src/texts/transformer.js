/** Text shown in the chapter on Transformer blocks, text generation and their history. */
export const texts = {
  question: 'What else does a model need in order to write?',
  block:
    'In attention, words exchange news. A Transformer block adds four simple steps to attention. Follow them in the picture, along the lines from X to Y.',
  /**
   * @param {{ gelu: boolean, normFirst: boolean }} model gelu: true if the model's activation is
   *   GELU; normFirst: true if it normalises before attention and the feed-forward network
   */
  parts: ({ gelu, normFirst }) => {
    const norm =
      '*norm*: Numbers that are added again and again grow, and large scores make softmax give one key all the weight. So [layer normalisation] gives each row a mean of 0 and a spread of 1.';
    const joined =
      '*joined* and A: The results of the [heads|head] are put side by side, and one more [projection] mixes them.';
    const sum =
      '⊕: The input is added to the result. This is the [residual] connection. So a layer says only what should *change*, and in training the [gradient] has a straight path back through a hundred layers.';
    const network = `F: In a small [feed-forward network], each word, on its own, thinks over what it has heard. One projection makes its row wider (*hidden*), [ReLU] turns numbers below 0 into 0${gelu ? ' (here GELU, the same with a rounded corner)' : ''}, and another projection makes the row as narrow as before. Usually two thirds of a block’s [parameters|parameter] are here. Then its result is added at the second ⊕.`;
    return normFirst ? [norm, joined, sum, network] : [joined, sum, norm, network];
  },
  decoder: [
    'An [encoder] reads, and sees the whole sentence. A [decoder] writes one token at a time, and no token may look at later ones. That seems like a drawback, but it saves most of the work: a later token can never change the key or the value of an earlier one. So keys and values are kept in a [cache].',
  ],
  steps:
    'Step through your sentence: each step computes one new row of keys and one new row of values, and reads the earlier rows. The output is the same as if the whole sentence were computed at once.',
  predict: {
    question:
      'Ten words have been written, and the next word arrives. For how many words must keys and values be computed?',
    choices: {
      all: {
        says: 'All eleven: the new word changes what the others mean',
        reply:
          'The new word would change the others if they could see it. But no word looks ahead, so later words never change the keys and values of earlier ones.',
      },
      one: { says: 'One: the new word only', reply: 'Exactly.' },
      none: {
        says: 'None: it only reads the cache',
        reply:
          'The query of the new word does read the cache. But later words will want to look at the new word, too, so it needs a key and a value.',
      },
    },
  },
  /** @param {{ n: string, with: string, without: string, largest: string }} work */
  work: (work) =>
    `For the ${work.n} tokens drawn below, a model with a cache computes ${work.with} rows of keys and of values, one for each token. Without a cache it computes ${work.without}, because each step starts again from the beginning. The outputs differ by at most ${work.largest}, which is rounding error.`,
  nextWord: [
    'How does a vector become a word? The output vector of the last token is compared with every token that the model knows (its vocabulary) by a [dot product]. [Softmax|softmax] turns these scores into probabilities. One token is drawn and appended, and the process repeats with the longer text. In the formula, h_{n} is the output vector, and E has a row for each token.',
    'First the scores are divided by a [temperature] T. At a low temperature the most probable token is nearly always taken, and the text soon goes in circles. At a high temperature there are surprises. Only the k most probable tokens can be drawn (“top k”; here k is a count, not a key).',
  ],
  whenLearned: 'The page’s small language model continues your sentence.',
  more: {
    cut: 'Why this word? Cut an arc',
    lens: 'What each layer adds to the prediction',
    cache: 'How a decoder writes without computing everything again',
    alignment: 'Where attention came from: two recurrent networks that translate',
  },
  cut: [
    'A head’s weights show where it looks, but not whether that matters. So take an arc away. Then the [query] no longer looks at that [key], the other weights of its row grow until they add up to 1 again, and the model predicts the next token once more. If the prediction changes, the model used the arc.',
    'In the last layer only the last row can matter, because the prediction is made from this row. In earlier layers, other rows matter, too: a word may collect news that the last word fetches one layer later.',
  ],
  silence:
    'Each arc shows one weight of one head. You can also ask which heads matter at all. Silence one head or feed-forward network at a time, and see how the prediction changes.',
  alignment: [
    'Attention is older than the Transformer. In 2014, machines translated with two recurrent networks: one read the sentence word by word, and the other wrote the translation. The writer had only the last state of the reader, a single vector for everything it had read. Long sentences were lost on the way. Bahdanau, Cho and Bengio let the writer look back. Before it writes a word, the writer compares its state with the reader’s state at every word, and takes a weighted mean of the reader’s states.',
    'Here the comparison is not a dot product but a small network with one hidden layer. This is called additive attention. The sentences come from Figure 3 of the paper, where French reverses “European Economic”. Look for the part where the line of strong cells runs backwards. The networks that read one sentence and write the other are [GRUs|GRU].',
  ],
  /** How the parameters were set. @type {Record<string, string>} */
  setBy: { spelling: 'set by hand', xavier: 'at random', decoder: 'before training' },
  /** @param {{ one: string, other: string }} pair pair of words */
  letter: ({ one, other }) => `“${one}” finds “${other}” only because they share a letter.`,
  /** Sentences that explain how the parameters were set. The keys are as in `setBy`. */
  parameters: {
    spelling: (/** @type {number} */ columns) =>
      `The network is set by hand, not trained. Each of the ${columns} columns of the embeddings has two hidden units, which add most to the score if both words have the same number in that column. Embeddings are made of letters, so words spelled alike find each other wherever they are. Words that mean the same but share no letters, such as “zone” and “Area”, do not.`,
    decoder: (/** @type {number} */ seed) =>
      `Bahdanau’s decoder before training, seed ${seed}: one GRU reads, and another writes. The state of the second GRU before each word is the query. Without training the decoder looks at nothing in particular.`,
  },
  takeaway:
    'Attention carries news between words. The feed-forward network works on each word separately. Residual sums and normalisation make it possible to train many such layers.',
};

/** Labels of the controls, and notes. */
export const labels = {
  read: 'Sentence that is read (keys)',
  written: 'Sentence that is written (queries)',
  parameters: 'parameters',
  alignments: { spelling: 'set by hand', xavier: 'random', decoder: 'GRU decoder' },
  sharpness: 'sharpness',
  nextSeed: 'next seed',
  /** @param {number} all @param {number} aligned */
  someAligned: (all, aligned) => `Of ${all} words, the first ${aligned} are aligned.`,
  /** @param {number} seed */
  random: (seed) =>
    `Nothing is trained: W_{q}, W_{k} and w_{v} are random (seed ${seed}), so chance decides which word looks at which.`,
  /** @param {number} tokens */
  firstRows: (tokens) => `Each row is one of the first ${tokens} tokens.`,
  rows: 'Each row is a token.',
  norm: 'normalisation',
  norms: { post: 'post-norm', pre: 'pre-norm' },
  /** @param {number} tokens */
  firstTokens: (tokens) => `The first ${tokens} tokens are drawn.`,
  steps: 'Each matrix is one step on the way from X to Y.',
  /** @param {{ layer: number, layers: number, causal: boolean }} given */
  trained: ({ layer, layers, causal }) =>
    [
      `This is layer ${layer + 1} of ${layers}, as it was trained. It normalises first, and X ${layer ? 'is the output of the layers before it' : 'contains the embeddings'}.`,
      causal
        ? 'No token may look ahead here: the block belongs to a model that writes.'
        : 'The block belongs to a model that writes. It was trained without looking ahead, but now it may look ahead.',
    ].join(' '),
  untrained: 'Nothing here is trained.',
  writeOne: 'Add a token',
  writeTen: 'Add ten tokens',
  takeBack: 'Take back',
  takeBackTitle: 'Remove the added tokens from your sentence',
  temperature: 'temperature',
  topK: 'top k',
  all: 'all',
  otherTokens: 'Draw other tokens',
  /** @param {number} seed */
  seed: (seed) => `seed ${seed}`,
  /** @param {{ layer: number, head: number }} shown */
  next: ({ layer, head }) =>
    `The bars show how probable the model finds each token after “{token}”. Choose a token to add it. In the text, the line under a token shows how probable the model found it, and the token’s colour shows how much head ${head + 1} of layer ${layer + 1} looks back at it.`,
};
