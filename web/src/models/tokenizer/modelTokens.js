import { Tokenizer } from './tokenizer.js';

/**
 * `begins` matches tokens whose first character belongs to a word. `ends` matches tokens whose last
 * character belongs to a word.
 */
const begins = /^[\p{L}\p{N}\p{M}]/u;
const ends = /[\p{L}\p{N}\p{M}\ufffd]$/u;

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** The tokens of a model according to its tokenizer.json, and their labels. */
export class ModelTokens {
  #tokenizer;
  /** How to recognise a token that continues a word; see `Tokenizer.marks`. */
  #marks;
  /** Number of ids: the largest id plus one. */
  size;

  /** @param {any} json contents of the file */
  constructor(json) {
    this.#tokenizer = new Tokenizer(json);
    this.#marks = this.#tokenizer.marks;
    this.size = this.#tokenizer.size;
  }

  /**
   * The first tokens of a text, as labels and as ids, and the total number of tokens.
   * @param {string} text
   * @param {number} most
   * @param {number} [start] a token that replaces the special tokens around the text
   */
  of(text, most, start) {
    const all =
      start === undefined
        ? this.#tokenizer.encode(text)
        : [start, ...this.#tokenizer.encode(text, { addSpecialTokens: false })];
    const ids = all.slice(0, most);
    return {
      ids,
      tokens: ids.map((id, i) => this.label(id, ids.slice(Math.max(0, i - 4), i))),
      total: all.length,
    };
  }

  /**
   * The types of tokens. Tokens after the first separator belong to a second sentence.
   * @param {readonly number[]} ids
   */
  typesOf(ids) {
    return this.#tokenizer.typesOf(ids);
  }

  /** True if the token represents no text. @param {number} id */
  isSpecial(id) {
    return this.#tokenizer.isSpecial(id);
  }

  /**
   * The label of a token, without the space before a word. A token that continues a word has a
   * hyphen in front. A partial character and control characters are shown as their bytes.
   * @param {number} id
   * @param {readonly number[]} before the tokens before it
   */
  label(id, before) {
    const raw = this.#tokenizer.token(id);
    // An embedding may have more rows than the tokenizer has tokens.
    if (raw === undefined) return `#${id}`;
    if (this.#tokenizer.isAdded(id)) return raw;
    const text = this.#text(id);
    const word = text.trim();
    if (text.includes('\ufffd') || /^\p{Cc}+$/u.test(word)) {
      const bytes = this.#tokenizer.bytes(id);
      const hex = bytes?.map((byte) => byte.toString(16).padStart(2, '0'));
      return hex ? `<${hex.join(' ')}>` : word;
    }
    if (word) return this.#continues(id, before) ? `-${word}` : word;
    return text.replace(/[^\n]/g, '').replaceAll('\n', '↵') || '␣';
  }

  /**
   * True if a token continues the word before it.
   * @param {number} id
   * @param {readonly number[]} before
   */
  #continues(id, before) {
    const { prefix, suffix, spaces } = this.#marks;
    if (prefix) return this.#hasPrefix(id);
    const last = before.at(-1);
    if (last === undefined || this.#tokenizer.isAdded(last)) return false;
    if (suffix) return !this.#tokenizer.token(last)?.endsWith(suffix);
    if (!spaces || !begins.test(this.#text(id))) return false;
    const text = this.#text(last);
    // If a token ends with part of a character, decode the last four tokens together, because a
    // character has at most four bytes.
    return ends.test(text.endsWith('\ufffd') ? this.#tokenizer.decode(before.slice(-4)) : text);
  }

  /** @param {number} id */
  #hasPrefix(id) {
    const { prefix } = this.#marks;
    const raw = this.#tokenizer.token(id) ?? '';
    return raw.startsWith(prefix) && raw !== prefix;
  }

  /** The text of a token, including surrounding spaces. @param {number} id */
  #text(id) {
    const known = this.#texts.get(id);
    if (known !== undefined) return known;
    const bytes = this.#tokenizer.bytes(id);
    const text = bytes ? decoder.decode(Uint8Array.from(bytes)) : this.#textOf(id);
    this.#texts.set(id, text);
    return text;
  }
  /** @type {Map<number, string>} */
  #texts = new Map();

  /** @param {number} id */
  #textOf(id) {
    const { prefix, suffix } = this.#marks;
    const raw = (this.#tokenizer.token(id) ?? '').replaceAll('▁', ' ');
    if (prefix) return this.#hasPrefix(id) ? raw.slice(prefix.length) : raw;
    return suffix && raw.endsWith(suffix) ? raw.slice(0, -suffix.length) : raw;
  }

  /**
   * Returns the text that the tokens `ids` add after the tokens `before`. If a character takes
   * several tokens, the last of these tokens adds the whole character.
   * @param {readonly number[]} before
   * @param {readonly number[]} ids
   */
  added(before, ids) {
    return this.#whole([...before, ...ids]).slice(this.#whole(before).length);
  }

  /** The text of tokens, up to the last complete character. @param {readonly number[]} ids */
  #whole(ids) {
    let end = ids.length;
    while (end > 0 && this.#endsWithin(ids.slice(Math.max(0, end - 4), end))) end -= 1;
    return this.#tokenizer.decode(ids.slice(0, end), { skipSpecial: true });
  }

  /**
   * True if the last bytes of the tokens begin a character without completing it.
   * @param {readonly number[]} ids
   */
  #endsWithin(ids) {
    const bytes = ids.flatMap((id) => this.#tokenizer.bytes(id) ?? [0]).slice(-4);
    const lead = bytes.findLastIndex((byte) => (byte & 0xc0) !== 0x80);
    const first = bytes[lead];
    const isLead = first >= 0xc2 && first <= 0xf4;
    const length = !isLead ? 1 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    return lead >= 0 && bytes.length - lead < length;
  }
}
