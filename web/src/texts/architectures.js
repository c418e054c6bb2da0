/** Text shown in the chapter on three architectures. */
export const texts = {
  question: 'Why did attention replace networks that read word by word?',
  /** @param {{ one: string, other: string } | null} pair two different words */
  paths: (pair) => [
    [
      pair
        ? `How does “${pair.other}” hear of “${pair.one}”?`
        : 'How does a word at the end of a sentence hear of a word at the beginning?',
      'There are three ways to connect words. A convolutional network ([CNN]) looks through a slit a few words wide. The width is its [kernel size] k (this k is not a key). To reach further it needs layers upon layers. A recurrent network ([RNN]) reads one word after another and passes its memory on from word to word. In self-attention each word looks directly at every other.',
    ].join(' '),
    'What counts is how many connections a message must pass, one after the other, until some part of the network has heard of both words. On each connection a bit of the message is lost. In training, each number of a model learns which way it should change (its [gradient]). This, too, comes back over the same connections, and fades. Long paths are hard to learn. Pick two words, and count. (⌈ ⌉ means rounded up.)',
  ],
  costs: [
    'Direct connections have their price. Attention compares all pairs, so twice the words make four times the pairs. CNNs and RNNs do the same amount of work for each word, so twice the words make twice the work. But their work grows as the square of the width d, because each of d inputs contributes to each of d outputs.',
    'So compare the number of words n with the width d. Each projection takes n · d² [multiply-adds|multiply-add] (a multiplication and an addition). An RNN has two, and attention four (for queries, keys, values and output). Attention takes another n² · d for its scores, and n² · d for adding up values. In total that is 4n · d² + 2n² · d. Divided by the 2n · d² of an RNN, it is n/d + 2 times as much. The figure below also counts sequential [steps|step] and shows the longest path.',
  ],
  predict: {
    question:
      'Take a text of 4,096 words, one layer, and one thread of your computer. Which takes longer, the RNN or attention?',
    choices: {
      rnn: {
        says: 'The RNN: its 4,096 steps have to wait for each other',
        reply:
          'The steps do have to wait. But one thread does one thing after the other anyway. Waiting costs time only if other processors could work meanwhile, as on a graphics card with thousands of them.',
      },
      attention: {
        says: 'Attention: it has more to do',
        reply: 'Exactly. On one thread the number of operations is what matters.',
      },
      same: {
        says: 'About the same: both read 4,096 words',
        reply:
          'Reading is the smallest part of the work. An RNN meets each word once, but attention compares every pair of words.',
      },
    },
  },
  /** @param {{ d: string, rnn: string, attention: string, times: string, seconds: (string | undefined)[] }} counted */
  counted: ({ d, rnn, attention, times, seconds }) =>
    `By the core’s count for d = ${d}, the RNN needs ${rnn} multiply-adds and attention ${attention}, which is ${times} times as many. ${
      seconds.includes(undefined)
        ? 'To time both, press Run under “Measured in this browser” below.'
        : `Timed here, the RNN took ${seconds[0]} and attention ${seconds[1]}.`
    }`,
  times: [
    'On a graphics card, all rows of attention are computed at once, in one step, while an RNN leaves thousands of processors idle at each of its n steps. That is why attention has won: such machines train it faster. But what about *one* thread, as in this browser?',
  ],
  more: 'Measured in this browser',
  time: 'Time both in this browser',
  why: 'This browser measures with *one* [thread]. On one thread no processor is kept waiting, and only the amount of work counts. For n words of d numbers that is 2 · n · d² multiply-adds for the RNN, and 2 · n² · d for attention without its projections. So the two counts are equal at n = d. In measured time attention stays ahead longer, because it multiplies whole matrices at once, and processors do that faster than row by row. Eventually the RNN pulls ahead, and the longer the text, the wider its lead. “∝ n²” next to a line means that its time grows as n². The measured exponent is not quite 2, because other programs interfere and large matrices no longer fit into the fastest memory.',
  /** @param {Record<'n' | 'd' | 'four' | 'pairs' | 'attention' | 'rnn' | 'times', string>} at */
  ratio: ({ n, d, four, pairs, attention, rnn, times }) =>
    `For example, n = ${n} and d = ${d}. Self-attention takes 4 · ${n} · ${d}² + 2 · ${n}² · ${d} = ${four} + ${pairs} = ${attention} multiply-adds, and the RNN takes 2 · ${n} · ${d}² = ${rnn}. So attention takes ${n} / ${d} + 2 = ${times} times as many.`,
  book: {
    more: 'How the textbook D2L counts',
    text: '[D2L] counts the projections of the RNN but not the projections of attention. So it compares the RNN with “self-attention without its projections”, which takes n/d times as many multiply-adds. D2L gives only how fast the numbers grow: O(k · n · d²) for the CNN, O(n · d²) for the RNN and O(n² · d) for attention, with longest paths of O(n/k), O(n) and O(1).',
  },
  takeaway:
    'Attention makes every path one connection long, and computes all words at once. The price is work that grows as the square of the length.',
};

/** Labels of the controls, and notes. */
export const labels = {
  tokens: 'tokens n',
  /** @param {string} count */
  asInSentence: (count) => `${count}, as in the sentence`,
  /** @param {string} count */
  back: (count) => `as in the sentence: ${count}`,
  width: 'width d',
  kernel: 'kernel size k',
  /** @param {number} drawn @param {number} all */
  first: (drawn, all) => `The first ${drawn} of ${all} tokens are drawn.`,
};
