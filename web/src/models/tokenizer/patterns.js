import { SplitPreTokenizer } from '@huggingface/tokenizers';

/**
 * A part of a text: its start, its end, and whether it matches a pattern.
 * @typedef {[number, number, boolean]} Part
 */

/** @param {string} field @param {unknown} type */
export const unsupported = (field, type) =>
  new Error(`${field}: attn does not support the type ${JSON.stringify(type)}`);

/**
 * Splits a text into matches of a regular expression and the parts between them.
 * @param {string} text
 * @param {RegExp} pattern
 * @returns {Part[]}
 */
export function partsOf(text, pattern) {
  /** @type {Part[]} */
  const parts = [];
  let last = 0;
  for (const { 0: match, index } of text.matchAll(pattern)) {
    // Oniguruma finds no empty match right after another match or inside a character.
    if (!match && ((index === last && parts.length) || isInCharacter(text, index))) continue;
    if (index > last) parts.push([last, index, false]);
    parts.push([index, index + match.length, true]);
    last = index + match.length;
  }
  if (last < text.length) parts.push([last, text.length, false]);
  return parts;
}

/**
 * True if an index is between the two code units of a character.
 * @param {string} text
 * @param {number} index
 */
const isInCharacter = (text, index) => (text.codePointAt(index - 1) ?? 0) > 0xffff;

/** Matches a unit of a regular expression: the start of a group, a class, or a character. */
const symbols =
  /\(\?(?:<?[=!]|<\w+>|[>:]|i:)|\[(?:\\.|\[[^\]]*\]|[^\]\\])*\]|\\[pPx]\{[^}]*\}|\\.|[^]/gsu;

/**
 * Rewrites syntax that `@huggingface/tokenizers` does not translate. Atomic groups and possessive
 * quantifiers become lookaheads, because JavaScript does not backtrack into a lookahead.
 * Case-insensitive matching includes the two letters outside ASCII that are equivalent to ASCII
 * letters.
 * @param {string} source
 */
function prepared(source) {
  const all = source.match(symbols) ?? [];
  if (all.some((symbol) => symbol[0] === '[' && symbol.includes('&&'))) {
    throw new SyntaxError('an intersection of character classes is not supported');
  }
  /** @type {{ start: number, end: string, folds: boolean }[]} */
  const groups = [];
  let result = '';
  let count = 0;
  let folds = false;
  for (let i = 0; i < all.length; i++) {
    const symbol = all[i];
    let start = result.length;
    if (symbol === '(?>') {
      groups.push({ start, end: `))\\k<_${++count}>`, folds });
      result += `(?=(?<_${count}>`;
      continue;
    }
    if (symbol[0] === '(') {
      groups.push({ start, end: ')', folds });
      folds ||= symbol === '(?i:';
      result += symbol;
      continue;
    }
    const group = symbol === ')' ? groups.pop() : undefined;
    if (group) {
      ({ start, folds } = group);
      result += group.end;
    } else {
      result += folds ? folded(symbol) : symbol;
    }
    if (/^[?*+]$/.test(all[i + 1]) && all[i + 2] === '+') {
      const part = result.slice(start);
      result = `${result.slice(0, start)}(?=(?<_${++count}>${part}${all[i + 1]}))\\k<_${count}>`;
      i += 2;
    }
  }
  return result;
}

/** ASCII letters that equal a letter outside ASCII if case is ignored. */
const cases = Object.entries({ s: 'ſ', k: '\u212a' });

/** @param {string} symbol */
function folded(symbol) {
  if (symbol.startsWith('\\')) return symbol;
  if (symbol.startsWith('[^')) {
    throw new SyntaxError('a negated character class that ignores case is not supported');
  }
  for (const [letter, other] of cases) {
    const found = symbol.toLowerCase() === letter;
    if (found) return `(?:${symbol}|${other})`;
    if (symbol[0] === '[' && new RegExp(`(?<!\\\\)${letter}`, 'i').test(symbol)) {
      return symbol.replace('[', `[${other}`);
    }
  }
  return symbol;
}

/**
 * Creates the function that splits a text by a `pattern` in tokenizer.json.
 * `@huggingface/tokenizers` translates Oniguruma's syntax.
 * @param {{ String?: string, Regex?: string }} pattern
 * @param {string} field
 * @returns {(text: string) => Part[]}
 */
export function matcher(pattern, field) {
  const { Regex: source } = pattern;
  if (source === undefined && !pattern.String)
    return (text) => (text ? [[0, text.length, false]] : []);
  let regexp;
  try {
    const given = source === undefined ? pattern : { Regex: prepared(source) };
    ({ pattern: regexp } = new SplitPreTokenizer(
      /** @type {any} */ ({ type: 'Split', pattern: given, behavior: 'Isolated', invert: false }),
    ));
  } catch (cause) {
    throw new Error(`${field}: attn cannot use the regular expression ${source}`, { cause });
  }
  return (text) => partsOf(text, /** @type {RegExp} */ (regexp));
}

/** The letter with which byte-level tokenizers represent each byte. */
const letters = Array.from({ length: 256 }, (_, byte) => byte).map((byte, _, all) => {
  const hidden = (/** @type {number} */ each) =>
    each <= 32 || (each >= 127 && each <= 160) || each === 173;
  return String.fromCharCode(hidden(byte) ? 256 + all.slice(0, byte).filter(hidden).length : byte);
});

/** The byte that each letter represents. */
const byteOf = new Map(letters.map((letter, byte) => [letter, byte]));

const encoder = new TextEncoder();

/** @param {string} text */
export const bytesOf = (text) => encoder.encode(text);

/** @param {string} text */
export const bytesAsLetters = (text) =>
  Array.from(encoder.encode(text), (byte) => letters[byte]).join('');

/**
 * The bytes that the letters of a byte-level token represent. If a letter represents no byte, the
 * result is the bytes of the token's text.
 * @param {string} token
 */
export function lettersAsBytes(token) {
  const bytes = Array.from(token, (letter) => byteOf.get(letter));
  return bytes.includes(undefined) ? [...bytesOf(token)] : /** @type {number[]} */ (bytes);
}
