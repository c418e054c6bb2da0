/**
 * Mark-up of the page's prose: `*stressed*`, `[term]` or `[shown|term]` for a glossary term,
 * subscripts and superscripts as in `W_{q}` and `2^{24}`, \`code\`, and `{name}` for a link, button or
 * number that the component inserts.
 * @typedef {{ kind: 'text' | 'stress' | 'term' | 'below' | 'above' | 'code' | 'part', text: string,
 *   term?: string }} Piece
 */

const kinds = /** @type {const} */ (['stress', 'term', 'below', 'above', 'code', 'part']);
const marked = /\*([^*]+)\*|\[([^\]]+)\]|_\{([^}]+)\}|\^\{([^}]+)\}|`([^`]+)`|\{(\w+)\}/g;

/** Start of the private-use characters that represent literal mark-up characters. */
const hidden = 0xf700;

/**
 * Escapes text without mark-up, such as a word of the reader's sentence, for use in prose.
 * @param {string} text
 */
export const escaped = (text) =>
  text.replace(/[*[\]|_^{}`]/g, (mark) => String.fromCharCode(hidden + mark.charCodeAt(0)));

/** @param {string} text */
const unescaped = (text) =>
  text.replace(/[\uf700-\uf77f]/g, (mark) => String.fromCharCode(mark.charCodeAt(0) - hidden));

/**
 * @param {string} prose
 * @returns {Piece[]}
 */
export function piecesOf(prose) {
  /** @type {Piece[]} */
  const pieces = [];
  let end = 0;
  for (const { index, 0: whole, ...found } of prose.matchAll(marked)) {
    if (index > end) pieces.push({ kind: 'text', text: prose.slice(end, index) });
    end = index + whole.length;
    const which = kinds.findIndex((_, i) => found[i + 1] !== undefined);
    const inner = found[which + 1];
    if (kinds[which] === 'term') {
      const [text, term = text] = inner.split('|');
      pieces.push({ kind: 'term', text, term });
    } else {
      pieces.push({ kind: kinds[which], text: inner });
    }
  }
  if (end < prose.length) pieces.push({ kind: 'text', text: prose.slice(end) });
  return pieces.map((piece) => ({ ...piece, text: unescaped(piece.text) }));
}

/**
 * Keeps a short formula such as `3 + 2` or `d = 32` on one line.
 * @param {string} text
 */
export const tied = (text) =>
  text.replace(/(?<=(?:^|[\s(])\S{1,7}) ([+−=·×]) (?=\S{1,7}(?:\s|$))/g, '\u00a0$1\u00a0');

/** The text as a screen reader should say it. @param {string} prose */
export const plain = (prose) =>
  piecesOf(prose)
    .map(({ text }) => text)
    .join('');

/**
 * Marks exponents as superscripts in the powers of ten that `inWords` writes.
 * @param {string} text
 */
export const raised = (text) => text.replace(/\^([−\d]+)/g, '^{$1}');
