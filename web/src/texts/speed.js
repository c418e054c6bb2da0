/** Text shown in the chapter for engineers on how fast the kernels run in this browser. */
export const texts = {
  question: 'How fast does your browser multiply?',
  lead: [
    'The kernels of [the core] computed every picture above. Here the page times them in your browser, and compares them with plain JavaScript that computes the same. [SIMD] works on four numbers with one instruction. *Relaxed* SIMD may do a multiplication and an addition in one instruction. Threads divide the queries among several cores of the processor.',
    'The figure draws only what it has measured.',
  ],
  predict: {
    question: 'With twice as many tokens, how much longer does attention take?',
    choices: {
      twice: {
        says: 'Twice as long',
        reply: 'There are twice as many queries, but each of them also meets twice as many keys.',
      },
      four: { says: 'Four times as long', reply: 'Correct, if the texts are long.' },
      eight: {
        says: 'Eight times as long',
        reply: 'That would be true if words met in threes. They meet in pairs.',
      },
    },
  },
  /** @param {{ short: string, long: string }} counted */
  counted: ({ short, long }) =>
    `With 64 columns, 1,024 tokens take ${short} multiply-adds, and 2,048 take ${long}. Press Run to see the time.`,
  growth:
    'Each query meets each key, so the work grows as the square of the length. The memory does not, because the core stores the N × N weights only if you ask for them.',
  takeaway: 'Work grows as the square of the length, but memory need not.',
};
