/** Largest number of tokens of a sentence. The page ignores the rest. */
export const maxTokens = 2048;

/** A fixed locale, so that a shared link gives everyone the same tokens. */
const segmenter = new Intl.Segmenter('en', { granularity: 'word' });

/**
 * Matches a text in which every character is white space or an invisible control or formatting
 * character.
 */
const blank = /^[\p{White_Space}\p{Cc}\p{Cf}]*$/u;

/** Caches the last sentence, because several callers ask for its tokens one after another. */
let last = { text: '', result: { tokens: /** @type {string[]} */ ([]), total: 0 } };

/**
 * Splits a sentence into words, punctuation marks and symbols by the Unicode rules for word
 * boundaries, so that an emoji stays whole and scripts without spaces are split, too. Composed and
 * decomposed spellings of a word become the same token.
 * @param {string} text
 * @returns {{ tokens: string[], total: number }} the first `maxTokens` tokens and the total
 *   number of tokens
 */
export function tokenize(text) {
  if (text === last.text) return last.result;
  const tokens = [];
  let total = 0;
  for (const { segment } of segmenter.segment(text.normalize('NFC'))) {
    if (blank.test(segment)) continue;
    total += 1;
    if (tokens.length < maxTokens) tokens.push(segment);
  }
  last = { text, result: { tokens, total } };
  return last.result;
}

/**
 * True if a text is written from right to left. The first letter decides, as for `dir="auto"`.
 * @param {string} text
 */
export const isRightToLeft = (text) =>
  /^\P{L}*[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Samaritan}\p{Script=Mandaic}\p{Script=Adlam}\p{Script=Hanifi_Rohingya}]/u.test(
    text,
  );

/** Splits text into graphemes. */
export const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

/**
 * A token as a label, truncated to `most` graphemes.
 * @param {string} token
 * @param {number} [most]
 */
export function shorten(token, most = 12) {
  if (token.length <= most) return token;
  // In printable ASCII, every character is a grapheme.
  if (/^[ -~]*$/.test(token)) return `${token.slice(0, most - 1)}…`;
  // A token can be thousands of characters long, but only its beginning matters here.
  const head = [...graphemes.segment(token.slice(0, 40 * most))].map(({ segment }) => segment);
  return head.length > most ? `${head.slice(0, most - 1).join('')}…` : token;
}
