// Byte-pair encoding (Sennrich, Haddow and Birch 2016) over bytes, as in GPT-2. Learns the merges
// and writes a tokenizer.json, which Hugging Face's libraries read.

/**
 * GPT-2's pre-tokenization: contractions, and runs of letters, of digits, of other characters and
 * of white space. A run of letters, digits or other characters includes a space before it.
 */
const kWords = /'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+/gu;

const kBytes = 256;

/**
 * A printable character for every byte, as in GPT-2: printable Latin-1 characters represent
 * themselves, and all other bytes map to characters starting at U+0100.
 * @returns {string[]}
 */
function byteCharacters() {
  let next = kBytes;
  const prints = (/** @type {number} */ byte) =>
    (byte > 0x20 && byte < 0x7f) || (byte > 0xa0 && byte !== 0xad);
  return Array.from({ length: kBytes }, (_, byte) =>
    String.fromCodePoint(prints(byte) ? byte : next++),
  );
}

/**
 * @typedef {object} Word
 * @property {string[]} pieces
 * @property {number} count  number of occurrences in the text
 */

/**
 * Counts the words of a text. A word includes the space before it, and the tokenizer adds a space
 * before the first word of a line.
 * @param {string} text
 */
export function countWords(text) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const line of text.toLowerCase().split('\n')) {
    for (const [word] of ` ${line}`.matchAll(kWords)) counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  return counts;
}

/**
 * Two adjacent pieces.
 * @typedef {object} Pair
 * @property {string} first
 * @property {string} second
 * @property {number} count  number of occurrences
 * @property {Set<Word>} words words that contain the pair, or contained it before a merge
 */

/** @param {Pair} a @param {Pair} b */
const isBefore = (a, b) =>
  a.count !== b.count ? a.count > b.count : a.first + a.second < b.first + b.second;

/** The adjacent pairs of tokens in a text, with their counts. */
class Pairs {
  /** @type {Map<string, Pair>} */
  #pairs = new Map();

  /** @param {Word} word @param {1 | -1} sign */
  count(word, sign) {
    const { pieces, count } = word;
    for (let i = 1; i < pieces.length; i++) {
      const [first, second] = [pieces[i - 1], pieces[i]];
      const key = `${first} ${second}`;
      const pair = this.#pairs.get(key) ?? { first, second, count: 0, words: new Set() };
      this.#pairs.set(key, pair);
      pair.count += sign * count;
      if (sign > 0) pair.words.add(word);
    }
  }

  /**
   * Returns the most frequent pair. Ties go to the first pair in the order of UTF-16 code units.
   */
  most() {
    /** @type {Pair | undefined} */
    let best;
    for (const pair of this.#pairs.values()) if (!best || isBefore(pair, best)) best = pair;
    return best;
  }
}

/** @param {string[]} pieces @param {string} first @param {string} second */
function merged(pieces, first, second) {
  const result = [];
  for (let i = 0; i < pieces.length; i++) {
    const both = pieces[i] === first && pieces[i + 1] === second;
    result.push(both ? first + second : pieces[i]);
    if (both) i++;
  }
  return result;
}

/**
 * Learns a vocabulary from the words of a text. The vocabulary contains all bytes, followed by
 * merges of the most frequent adjacent pairs.
 * @param {Map<string, number>} counts  number of occurrences of each word, from countWords()
 * @param {number} size  number of tokens in the vocabulary, at least 256
 * @returns a tokenizer.json
 */
export function learnTokenizer(counts, size) {
  const characters = byteCharacters();
  const vocabulary = [...characters].sort();
  const merges = [];
  const pairs = new Pairs();
  const encoder = new TextEncoder();
  for (const [word, count] of counts) {
    const pieces = [...encoder.encode(word)].map((byte) => characters[byte]);
    pairs.count({ pieces, count }, 1);
  }
  while (vocabulary.length < size) {
    const most = pairs.most();
    if (!most || most.count < 2)
      throw new Error(`The text is too short for a vocabulary of ${size} tokens.`);
    const { first, second, words } = most;
    merges.push([first, second]);
    vocabulary.push(first + second);
    for (const word of words) {
      pairs.count(word, -1);
      word.pieces = merged(word.pieces, first, second);
      pairs.count(word, 1);
    }
  }
  return {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: [],
    normalizer: { type: 'Sequence', normalizers: [{ type: 'NFC' }, { type: 'Lowercase' }] },
    pre_tokenizer: {
      type: 'ByteLevel',
      add_prefix_space: true,
      trim_offsets: true,
      use_regex: true,
    },
    post_processor: null,
    decoder: { type: 'ByteLevel', add_prefix_space: true, trim_offsets: true, use_regex: true },
    model: {
      type: 'BPE',
      dropout: null,
      unk_token: null,
      continuing_subword_prefix: null,
      end_of_word_suffix: null,
      fuse_unk: false,
      byte_fallback: false,
      ignore_merges: false,
      vocab: Object.fromEntries(vocabulary.map((token, id) => [token, id])),
      merges,
    },
  };
}
