/** For engineers: how fast the kernels are here. */
export const texts = {
  question: 'How fast does your browser multiply?',
  lead: [
    'Every picture above came from the same routines, the kernels of [the core]. Here they are timed in this browser and on this machine, against the same sums written in plain JavaScript. [SIMD] works on four numbers with one instruction; *relaxed* SIMD may do a multiplication and an addition in one; threads share the queries among several cores of the processor.',
    'What is not measured is not drawn.',
  ],
  predict: {
    question: 'Twice as many tokens: how much longer does attention take?',
    choices: {
      twice: {
        says: 'Twice as long',
        reply: 'Twice the queries, yes; but each of them now meets twice the keys.',
      },
      four: { says: 'Four times as long', reply: 'So it is, once texts are long.' },
      eight: {
        says: 'Eight times as long',
        reply: 'That would be if words met in threes. They meet in pairs.',
      },
    },
  },
  /** @param {{ short: string, long: string }} counted */
  counted: ({ short, long }) =>
    `With 64 columns, 1,024 tokens take ${short} multiply-adds, and 2,048 take ${long}. Press Run to see the time.`,
  growth:
    'Each query meets each key: with the length, the work grows as its square. The memory does not, because the core never writes the N × N weights down unless they are asked for.',
  takeaway: 'Work grows as the square of the length; memory need not.',
};
