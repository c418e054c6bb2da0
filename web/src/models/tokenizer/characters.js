// Character classes as in the library `tokenizers`. Its tables of marks and punctuation are those
// of Unicode 8 to 11, while browsers follow the newest version. The characters that only browsers
// know are listed here. tests/tokenizers compares every code point with the library.

const laterNonspacing =
  '\\u07fd\\u0897-\\u08e1\\u09fe\\u0afa-\\u0aff\\u0b55\\u0c04-\\u0c3c\\u0d00\\u0d3b-\\u0d3c\\u0d81\\u0eba\\u0ece\\u180f-\\u1886\\u1abf-\\u1aeb\\u1df6-\\u1dfb\\ua82c\\ua8c5\\ua8ff\\ua9bd\\u{10d24}-\\u{10f85}\\u{11070}-\\u{11074}\\u{110c2}\\u{111c9}\\u{111cf}\\u{1123e}-\\u{11241}\\u{1133b}\\u{113bb}-\\u{1145e}\\u{1182f}-\\u{11f5a}\\u{13440}-\\u{13455}\\u{1611e}-\\u{1612f}\\u{16f4f}\\u{16fe4}\\u{1cf00}-\\u{1cf46}\\u{1e000}-\\u{1e6f5}\\u{1e944}-\\u{1e94a}';
const laterMarks =
  '\\u07fd\\u0897-\\u08d3\\u09fe\\u0afa-\\u0aff\\u0b55\\u0c04-\\u0c3c\\u0cf3-\\u0d00\\u0d3b-\\u0d3c\\u0d81\\u0eba\\u0ece\\u1715\\u180f\\u1abf-\\u1aeb\\u1cf7\\u1df6-\\u1dfa\\ua82c\\ua8ff\\u{10d24}-\\u{10f85}\\u{11070}-\\u{11074}\\u{110c2}\\u{11145}-\\u{11146}\\u{111c9}\\u{111ce}-\\u{111cf}\\u{11241}\\u{1133b}\\u{113b8}-\\u{113e2}\\u{1145e}\\u{1182c}-\\u{11b67}\\u{11d31}-\\u{11f5a}\\u{13440}-\\u{13455}\\u{1611e}-\\u{1612f}\\u{16f4f}\\u{16f7f}-\\u{16f87}\\u{16fe4}-\\u{16ff1}\\u{1cf00}-\\u{1cf46}\\u{1e08f}-\\u{1e6f5}';
const laterPunctuation =
  '\\u061d\\u09fd-\\u0a76\\u0c77-\\u0c84\\u1b4e-\\u1b4f\\u1b7d-\\u1b7f\\u2e43-\\u2e5d\\u{10d6e}-\\u{10f89}\\u{113d4}-\\u{1145d}\\u{11660}-\\u{116b9}\\u{1183b}-\\u{11fff}\\u{12ff1}-\\u{12ff2}\\u{16d6d}-\\u{16fe2}\\u{1e5ff}-\\u{1e95f}';
const laterForms =
  '\\u32ff\\ua7f1-\\ua7f4\\uab69\\u{105c9}-\\u{107ba}\\u{11383}-\\u{113c8}\\u{11938}\\u{16121}-\\u{16d6a}\\u{1ccd6}-\\u{1ccf9}\\u{1e030}-\\u{1e06d}\\u{1f16c}\\u{1fbf0}-\\u{1fbf9}';

const white = '\\p{White_Space}';
const ascii = '!-\\/:-@\\[-`{-~';

/** Matches one punctuation mark. */
export const punctuation = new RegExp(
  `[${ascii}]|\\u166d|\\u{111c9}|(?![${laterPunctuation}])\\p{P}`,
  'gu',
);

/** Matches one combining mark of any kind. */
export const mark = new RegExp(`[\\u1cf2\\u1cf3]|(?![${laterMarks}])\\p{M}`, 'gu');

/** Matches one nonspacing mark. */
export const nonspacingMark = new RegExp(
  `[\\u1734\\u{1171e}]|(?![${laterNonspacing}])\\p{Mn}`,
  'gu',
);

/** Matches one character that a BERT tokenizer drops. */
export const control = new RegExp(
  '[\\0\\ufffd]|(?![\\t\\n\\r\\u0890\\u0891\\u08e2\\u{110cd}\\u{13430}-\\u{1343f}])[\\p{Cc}\\p{Cf}\\p{Co}]',
  'gu',
);

/** Matches one white-space character. Unlike `\s`, includes U+0085 and excludes U+FEFF. */
export const space = /\p{White_Space}/gu;

/** Matches leading white space. */
export const spaceAtStart = /^\p{White_Space}+/u;

/** The contents of a character class equivalent to Rust's `\w`. */
export const wordClass = '\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\p{Join_Control}';

/** Matches words, and runs of other characters between white space. */
export const words = new RegExp(`[${wordClass}]+|[^${wordClass}${white}]+`, 'gu');

const later = new RegExp(`([${laterForms}]+)`, 'u');

/**
 * Normalizes a text. Characters whose decomposition the library does not know stay unchanged.
 * @param {string} text
 * @param {'NFC' | 'NFD' | 'NFKC' | 'NFKD'} form
 */
export const normalized = (text, form) =>
  text
    .split(later)
    .map((part, i) => (i % 2 ? part : part.normalize(form)))
    .join('');

/** @param {string} text */
export function withoutSpaceAtEnd(text) {
  // A pattern such as /\s+$/ would rescan a run of white space from each of its characters.
  let end = text.length;
  while (end > 0 && isSpace(text[end - 1])) end -= 1;
  return text.slice(0, end);
}

/** @param {string} character */
const isSpace = (character) => /^\p{White_Space}$/u.test(character);
