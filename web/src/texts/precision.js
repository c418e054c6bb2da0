/** Text shown in the chapter on precision, for engineers: how rounding affects positions. */
export const texts = {
  question: 'How far can you count before positions blur?',
  lead: [
    'A position encoding needs the sine of an angle, and the angle is the position divided by a number. The usual code, as in PyTorch’s tutorials and in [D2L], computes the angle in [float32]. A float32 number has 24 binary digits. The larger the position, the more of these digits are spent on whole turns. But a sine does not depend on whole turns. It depends on the fraction of a turn, and rounding loses that.',
    'At a few thousand tokens the error is small, but it grows with the position. [The core|the core] computes angles in double precision, with 53 binary digits, and rounds once, at the end.',
  ],
  predict: {
    question: 'What is 16,777,216 + 1 in float32?',
    choices: {
      next: {
        says: '16,777,217',
        reply: '16,777,217 takes 25 binary digits, and float32 has 24.',
      },
      same: { says: '16,777,216', reply: 'Exactly.' },
      near: {
        says: 'A number between these two',
        reply:
          'The next float32 number after 16,777,216 is 16,777,218. From here on, float32 can represent only even numbers.',
      },
    },
  },
  /** @param {string} sum */
  sum: (sum) => `This browser says ${sum}. The two positions share one encoding.`,
  drift: [
    'Exact encodings have products that depend only on how far apart two positions are. So if you slide a window of sixteen neighbours along the positions, its attention weights should not change at all. With the usual code the weights drift. Below position 10,000 they hardly change, but at positions in the millions they change by thousandths. From 2^{24} on, the last point of the curve, float32 cannot even represent odd positions. Each is rounded to an even neighbour and shares its encoding.',
  ],
  fewer: [
    'For each new word, a model that writes has to read the keys and values of all earlier words. It spends more time waiting for memory than calculating. So stored numbers are written in fewer bytes. Two bytes hold bfloat16, with 8 binary digits and the range of float32, or float16, with 11 digits and less range. One byte holds int8, a whole number from −127 to 127. Each row of int8 numbers also stores how much one unit is worth.',
    'Below, the keys are stored in fewer bytes, as in the core’s cache. Queries are not stored, so they stay in float32, as do sums and softmax.',
  ],
  guess: {
    question: 'bfloat16 and float16 both take two bytes. Which is closer to the original number?',
    choices: {
      bfloat16: {
        says: 'bfloat16',
        reply:
          'Like float32, bfloat16 spends 8 of its bits on the range, so only 8 binary digits are left.',
      },
      float16: {
        says: 'float16',
        reply:
          'Exactly. float16 has three more binary digits, so it is closer unless the numbers are huge or tiny.',
      },
      same: {
        says: 'Both are equally close',
        reply:
          'Both types have 16 bits, but float16 spends fewer of them on the range and more on digits.',
      },
    },
  },
  /** @param {Record<'bfloat16' | 'float16' | 'int8', string>} largest @param {'positions' | 'sentence'} of */
  lost: ({ bfloat16, float16, int8 }, of) =>
    `In ${of === 'sentence' ? 'your sentence' : 'the encoding'} below, float16 is off by at most ${float16}, bfloat16 by ${bfloat16} and int8, in one byte, by ${int8}.`,
  stored: 'stored',
  choices: { positions: 'positions', sentence: 'your sentence' },
  bytes: { bfloat16: '2 bytes', float16: '2 bytes', int8: '1 byte' },
  quantities: { encoding: 'numbers', scores: 'scores', weights: 'weights' },
  /** @param {string} most */
  first: (most) => `Only the first ${most} tokens are compared.`,
  nothing: 'Nothing to store yet. Type a word or two above.',
  how: 'Both errors are measured against sines in double precision. The usual code is compared with sines that the core computes. The core is compared with sines that this page computes in JavaScript, with angles that are exact to within 1.2 · 10^{−9} up to position 2^{24}.',
  takeaway:
    'Compute angles in double precision and round once, and position sixteen million is as exact as position sixteen. Stored numbers may be rounded far more coarsely, because little of that error reaches the attention weights if sums are in float32.',
};
