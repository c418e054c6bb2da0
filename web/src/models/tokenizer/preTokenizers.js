import { punctuation, scriptOf, space, words } from './characters.js';
import { bytesAsLetters, matcher, partsOf, unsupported } from './patterns.js';

/** @typedef {import('./patterns.js').Part} Part */
/**
 * A piece of a text, and whether it is at the beginning of the text.
 * @typedef {{ text: string, first: boolean }} Piece
 */
/** @typedef {(piece: Piece) => Piece[]} PreTokenizer */

const digit = /\p{N}/gu;
const digits = /\p{N}+/gu;
const bytePattern =
  /'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\p{White_Space}\p{L}\p{N}]+|\p{White_Space}+(?!\P{White_Space})|\p{White_Space}+/gu;

/**
 * Selects the parts that become pieces, depending on how delimiters are treated.
 * @type {Record<string, (parts: Part[]) => Part[]>}
 */
const behaviors = {
  Isolated: (parts) => parts,
  Removed: (parts) => parts.filter(([, , found]) => !found),
  Contiguous: (parts) => joined(parts, (found, before) => found === before),
  MergedWithPrevious: (parts) => joined(parts, (found, before) => found && !before),
  MergedWithNext: (parts) =>
    joined([...parts].reverse(), (found, before) => found && !before).reverse(),
};

/**
 * Joins each part to the previous part if `joins` returns true. The arguments of `joins` say
 * whether the part and the previous part match the pattern.
 * @param {Part[]} parts
 * @param {(found: boolean, before: boolean) => boolean} joins
 */
function joined(parts, joins) {
  /** @type {Part[]} */
  const result = [];
  let before = false;
  for (const [start, end, found] of parts) {
    const last = result.at(-1);
    if (last && joins(found, before)) {
      last[0] = Math.min(last[0], start);
      last[1] = Math.max(last[1], end);
    } else result.push([start, end, found]);
    before = found;
  }
  return result;
}

/**
 * @param {Piece} piece
 * @param {Part[]} parts
 * @returns {Piece[]}
 */
const piecesOf = ({ text, first }, parts) =>
  parts
    .filter(([start, end]) => start < end)
    .map(([start, end]) => ({ text: text.slice(start, end), first: first && start === 0 }));

/** @param {(text: string) => Part[]} matches @param {string} behavior @param {string} field @returns {PreTokenizer} */
function splitter(matches, behavior, field) {
  const chosen = behaviors[behavior];
  if (!chosen) throw unsupported(`${field}.behavior`, behavior);
  return (piece) => piecesOf(piece, chosen(matches(piece.text)));
}

/** @param {RegExp} pattern @param {string} behavior @returns {PreTokenizer} */
const split = (pattern, behavior) => splitter((text) => partsOf(text, pattern), behavior, '');

/** @param {any} config @returns {PreTokenizer} */
function byteLevel({ add_prefix_space, use_regex = true }) {
  const pieces = use_regex
    ? split(bytePattern, 'Isolated')
    : (/** @type {Piece} */ piece) => [piece];
  return ({ text, first }) => {
    const prefixed = add_prefix_space && !text.startsWith(' ') ? ` ${text}` : text;
    return pieces({ text: prefixed, first }).map((piece) => ({
      ...piece,
      text: bytesAsLetters(piece.text),
    }));
  };
}

/** @param {any} config @param {string} field @returns {PreTokenizer} */
function metaspace(
  { replacement, prepend_scheme = 'always', add_prefix_space, split: splits = true },
  field,
) {
  const scheme = add_prefix_space === false ? 'never' : prepend_scheme;
  if (!['always', 'first', 'never'].includes(scheme)) {
    throw unsupported(`${field}.prepend_scheme`, scheme);
  }
  const matches = matcher({ String: replacement }, field);
  const pieces = splitter(matches, 'MergedWithNext', field);
  return ({ text: given, first }) => {
    let text = given.replaceAll(' ', replacement);
    const prepends = scheme === 'always' || (scheme === 'first' && first);
    if (prepends && !text.startsWith(replacement)) text = replacement + text;
    return splits ? pieces({ text, first }) : [{ text, first }];
  };
}

/** @param {number} length @returns {PreTokenizer} */
const fixedLength = (length) => (piece) => {
  /** @type {Part[]} */
  const parts = [];
  let start = 0;
  let end = 0;
  let count = 0;
  for (const letter of piece.text) {
    end += letter.length;
    if (++count % length === 0) {
      parts.push([start, end, true]);
      start = end;
    }
  }
  if (start < end) parts.push([start, end, true]);
  return piecesOf(piece, parts);
};

/** @type {PreTokenizer} */
function unicodeScripts(piece) {
  /** @type {Part[]} */
  const parts = [];
  let last = '';
  let end = 0;
  for (const letter of piece.text) {
    const script = scriptOf(letter);
    // The library drops everything before the first letter that has a script.
    if (script && script !== last) {
      parts.push([end, end, true]);
      last = script;
    }
    end += letter.length;
    if (last) parts[parts.length - 1][1] = end;
  }
  return piecesOf(piece, parts);
}

/** @param {PreTokenizer[]} all @returns {PreTokenizer} */
const inOrder = (all) => (piece) => all.reduce((pieces, each) => pieces.flatMap(each), [piece]);

/**
 * Creates the function for a pre-tokenizer in tokenizer.json. The function never receives empty
 * text.
 * @param {any} config
 * @param {string} [field] name of the field, for error messages
 * @returns {PreTokenizer}
 */
export function preTokenizerOf(config, field = 'pre_tokenizer') {
  if (!config) return (piece) => [piece];
  switch (config.type) {
    case 'Sequence':
      return inOrder(
        config.pretokenizers.map((/** @type {any} */ each, /** @type {number} */ i) =>
          preTokenizerOf(each, `${field}.pretokenizers[${i}]`),
        ),
      );
    case 'BertPreTokenizer':
      return inOrder([split(space, 'Removed'), split(punctuation, 'Isolated')]);
    case 'ByteLevel':
      return byteLevel(config);
    case 'CharDelimiterSplit':
      return splitter(matcher({ String: config.delimiter }, field), 'Removed', field);
    case 'Digits':
      return config.individual_digits ? split(digit, 'Isolated') : split(digits, 'Isolated');
    case 'FixedLength':
      return fixedLength(config.length ?? 5);
    case 'Metaspace':
      return metaspace(config, field);
    case 'Punctuation':
      return splitter((text) => partsOf(text, punctuation), config.behavior ?? 'Isolated', field);
    case 'Split': {
      const matches = matcher(config.pattern, `${field}.pattern`);
      /** @param {string} text @returns {Part[]} */
      const inverted = (text) => matches(text).map(([start, end, found]) => [start, end, !found]);
      return splitter(config.invert ? inverted : matches, config.behavior, field);
    }
    case 'UnicodeScripts':
      return unicodeScripts;
    case 'Whitespace':
      return (piece) =>
        piecesOf(
          piece,
          partsOf(piece.text, words).filter(([, , found]) => found),
        );
    case 'WhitespaceSplit':
      return split(space, 'Removed');
    default:
      throw unsupported(field, config.type);
  }
}
