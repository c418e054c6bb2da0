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
  fewer: [
    'A model that writes has to read the keys and values of all words before, for each new word, and waits for its memory more than for its arithmetic. So numbers that are kept are written in fewer bytes. Two bytes hold bfloat16, with 8 binary digits and the range of float32, or float16, with 11 digits and less range. One byte holds int8: whole numbers from −127 to 127, beside one number for the row that says how much 1 is.',
    'Below the keys are stored that way, as the core’s cache does it; the queries, which nobody has to keep, stay float32, and so do sums and softmax.',
  ],
  guess: {
    question: 'bfloat16 and float16 both take two bytes. Which is nearer to the number?',
    choices: {
      bfloat16: {
        says: 'bfloat16',
        reply: 'It spends 8 of its 16 bits on the range, as float32 does, and 8 digits are left.',
      },
      float16: {
        says: 'float16',
        reply: 'So it is, as long as numbers are neither huge nor tiny: three more binary digits.',
      },
      same: {
        says: 'Both the same',
        reply: 'The bits are as many, but they are shared out otherwise.',
      },
    },
  },
  /** @param {Record<'bfloat16' | 'float16' | 'int8', string>} largest @param {string} what */
  lost: ({ bfloat16, float16, int8 }, what) =>
    `${what}, float16 is off by ${float16} at most, bfloat16 by ${bfloat16} and int8, in one byte, by ${int8}.`,
  of: { positions: 'Of the encoding below', sentence: 'Of your sentence below' },
  stored: 'stored',
  choices: { positions: 'positions', sentence: 'your sentence' },
  bytes: { bfloat16: '2 bytes', float16: '2 bytes', int8: '1 byte' },
  quantities: { encoding: 'numbers', scores: 'scores', weights: 'weights' },
  /** @param {string} most */
  first: (most) => `Only the first ${most} tokens are compared.`,
  nothing: 'Nothing to store yet. Type a word or two above.',
  how: 'Both errors are measured against sines in double precision: those of the usual code by the core, and those of the core by this page, in JavaScript, whose angles are within 1.2 · 10^{−9} up to position 2^{24}.',
  takeaway:
    'Compute angles in double precision and round once: then position sixteen million is as exact as position sixteen. What is only kept may be rounded far more: sums in float32 leave little of it in the weights.',
};
