import { space, wordClass } from './characters.js';

/**
 * @typedef {object} AddedToken
 * @property {number} id
 * @property {string} content
 * @property {boolean} single_word
 * @property {boolean} lstrip
 * @property {boolean} rstrip
 * @property {boolean} normalized
 * @property {boolean} special
 */

const startsWithWord = new RegExp(`^[${wordClass}]`, 'u');
const endsWithWord = new RegExp(`[${wordClass}]$`, 'u');

/** @param {string} text @param {number} at */
const isSpaceAt = (text, at) => text[at].search(space) === 0;

/**
 * Creates a function that finds added tokens in a text, from left to right. If several tokens begin
 * at the same place, the function finds the longest of them.
 * @param {{ content: string, token: AddedToken }[]} all the added tokens, with `content` as it
 * occurs in the texts
 * @returns {(text: string) => { text: string, token?: AddedToken, start: number }[]} a function
 * that splits a non-empty text into parts
 */
export function addedTokenFinder(all) {
  /** @type {Map<string, { content: string, token: AddedToken }[]>} */
  const byLetter = new Map();
  for (const each of all.filter(({ content }) => content)) {
    const list = byLetter.get(each.content[0]);
    if (list) list.push(each);
    else byLetter.set(each.content[0], [each]);
  }
  for (const list of byLetter.values()) list.sort((a, b) => b.content.length - a.content.length);

  return (text) => {
    /** @type {{ text: string, token?: AddedToken, start: number }[]} */
    const parts = [];
    let last = 0;
    for (let at = 0; at < text.length;) {
      const found = byLetter.get(text[at])?.find(({ content }) => text.startsWith(content, at));
      if (!found) {
        at += 1;
        continue;
      }
      const { token, content } = found;
      let start = at;
      let end = at + content.length;
      at = end;
      if (token.single_word) {
        // A character has at most two code units, so two are enough on each side of the token.
        const before = text.slice(Math.max(0, start - 2), start);
        if (endsWithWord.test(before) || startsWithWord.test(text.slice(end, end + 2))) continue;
      }
      if (token.lstrip) while (start > last && isSpaceAt(text, start - 1)) start -= 1;
      if (token.rstrip) while (end < text.length && isSpaceAt(text, end)) end += 1;
      if (last < start) parts.push({ text: text.slice(last, start), start: last });
      parts.push({ text: text.slice(start, end), token, start });
      last = end;
    }
    if (last < text.length) parts.push({ text: text.slice(last), start: last });
    return parts;
  };
}
