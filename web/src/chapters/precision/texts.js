/** For engineers: what rounding does to positions. */
export const texts = {
  question: 'How far can one count before positions blur?',
  lead: [
    'A position encoding needs the sine of an angle, and the angle is the position divided by a number. The usual code, that of PyTorch’s tutorials and of [D2L], computes the angle in [float32]. Such a number has 24 binary digits. The further the position, the more of them are spent on whole turns, and a sine does not care for whole turns: what counts is the fraction of a turn, and that is lost in rounding.',
    'At a few thousand tokens the error is small; it grows with the position. [The core|the core] computes angles in double precision, with 53 digits, and rounds once, at the end.',
  ],
  predict: {
    question: 'What is 16,777,216 + 1 in float32?',
    choices: {
      next: {
        says: '16,777,217',
        reply: 'That takes 25 binary digits, and float32 has 24.',
      },
      same: { says: '16,777,216', reply: 'So it is.' },
      near: {
        says: 'Something between the two',
        reply:
          'There is nothing between them in float32: from here on only even numbers can be written.',
      },
    },
  },
  /** @param {string} sum */
  sum: (sum) => `This browser says ${sum}. The two positions share one encoding.`,
  drift: [
    'Exact encodings have products that depend only on how far apart two positions are. So slide a window of sixteen neighbours along the positions: its weights should not change at all. With the usual code they drift: hardly at all below ten thousand, by thousandths in the millions. From 2^{24} on, the last point of the curve, odd positions cannot even be written: each is rounded to an even neighbour and shares its encoding.',
  ],
  how: 'The errors of the usual code are measured by the core. Those of the core are measured by this page against JavaScript’s double-precision sine, whose angles are within 10^{−9} up to position 2^{24}.',
  takeaway:
    'Compute angles in double precision and round once: then position sixteen million is as exact as position sixteen.',
};
