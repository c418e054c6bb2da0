/** The texts of the chapter on three architectures. */
export const texts = {
  question: 'Why did attention replace networks that read word by word?',
  /** @param {{ one: string, other: string } | null} pair of different words */
  paths: (pair) => [
    `How does ${pair ? `“${pair.other}” hear of “${pair.one}”` : 'a word at the end hear of one near the beginning'}? There are three ways. A convolutional network ([CNN]) looks through a slit a few words wide, its [kernel size]; what is further away is reached by layers upon layers. A recurrent network ([RNN]) reads one word after the other and hands its memory on: from word to word to word. In self-attention each word looks at each directly.`,
    'What counts is how many connections lie one after the other until something has heard of both words. On each, a bit of the message is lost, and in training the [gradient] runs back over the same ones and fades, too. Long ways are hard to learn. Pick two words, and count.',
  ],
  costs: [
    'The short way has its price. Attention compares all pairs: twice the words make four times the pairs. The other two do equally much for each word: twice the words, twice the work. But their work, and that of attention’s own projections, grows with the square of the width d: each of d numbers meets each of d others.',
    'So compare n with d. Comparing all pairs, by itself, costs n/d times as much as an RNN: less, as long as a text has fewer words than a word has numbers. With attention’s own four projections it is n/d + 2 times, and so always more than twice. Three things are counted below: the [multiply-adds|multiply-add]; the [steps|step] that have to wait for one another; and the longest path.',
  ],
  predict: {
    question:
      'A text of 4,096 words, one layer, one thread of your computer. Which takes longer, the RNN or attention?',
    choices: {
      rnn: {
        says: 'The RNN: its 4,096 steps have to wait for each other',
        reply:
          'They do; but on one thread everything waits for everything. Waiting is lost time only where others could work meanwhile, as on a graphics card with its thousands of processors.',
      },
      attention: {
        says: 'Attention: it has more to do',
        reply: 'So it is: on one thread the number of operations decides.',
      },
      same: {
        says: 'About the same: both read 4,096 words',
        reply:
          'Reading is the least of it. An RNN meets each word once; attention meets each pair.',
      },
    },
  },
  /** @param {{ d: string, rnn: string, attention: string, times: string, seconds: (string | undefined)[] }} counted */
  counted: ({ d, rnn, attention, times, seconds }) =>
    `Counted by the core for d = ${d}: the RNN has ${rnn} multiply-adds, attention ${attention}, ${times} times as many. ${
      seconds.includes(undefined)
        ? 'Press Run below to have both timed.'
        : `Timed here: the RNN ${seconds[0]}, attention ${seconds[1]}.`
    }`,
  times: [
    'Counting is one thing, time another. “Its steps wait for one another” sounds slow, and on a graphics card it is: there all rows of attention are computed at once, in one step, while an RNN leaves thousands of processors idle, n times in a row. That is why attention has won: it can be trained faster on such machines. But what of *one* thread, as in this browser?',
  ],
  why: 'This browser measures with *one* [thread]. There nobody is kept waiting, and what counts is how much there is to do: for n words of d numbers, 2 · n · d² multiply-adds for the RNN, and 2 · n² · d for attention without its projections. So the two counts are equal at n = d. On the clock attention stays ahead longer (a run above shows how much), because it multiplies whole tables at once, and processors do that faster than row by row. In the end the RNN is ahead, the further the longer the text. “∝ n²” beside a line reads: its time grows as n². A measured power is not quite 2: other programs disturb, and large tables no longer fit into the fastest memory.',
  /** @param {{ n: string, d: number, projections: string | number, attention: string | number }} at */
  ratio: ({ n, d, projections, attention }) =>
    `An RNN has projections, too: one for the word that it reads, one for its state. At n = ${n} and d = ${d}, self-attention with its four takes ${projections} times the multiply-adds of the RNN with its two. That is n/d + 2 times, and so always more than twice as many. The textbook [D2L] counts the projections of the RNN but not those of attention: then it is n/d, here ${attention} times. Only the RNN’s steps have to wait for one another. (⌈ ⌉: rounded up. Dilated: a convolution that leaves gaps, wider from layer to layer.)`,
  takeaway:
    'Attention makes every way one connection long, and all its steps at once; it pays with work that grows as the square of the length.',
};
