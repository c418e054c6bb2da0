import { Tokenizer } from '../tokenizer/tokenizer.js';

/** The tokens of a reader's model, as its tokenizer.json says. */
export class OwnTokens {
  #tokenizer;
  /** The space before a word, as this model's tokens write it. */
  #space;
  /** How many numbers there are: the largest, and one. */
  size;

  /** @param {any} json the file */
  constructor(json) {
    this.#tokenizer = new Tokenizer(json);
    const type = JSON.stringify([json.pre_tokenizer, json.decoder]);
    this.#space = type.includes('ByteLevel') ? 'Ġ' : '▁';
    this.size = this.#tokenizer.size;
  }

  /**
   * The first tokens of a text, as a reader sees them and by their numbers, and how many there are.
   * @param {string} text
   * @param {number} most
   */
  of(text, most) {
    const { ids: all } = this.#tokenizer.encode(text);
    const ids = all.slice(0, most);
    return { ids, tokens: ids.map((id) => this.label(id)), total: all.length };
  }

  /** Whether it stands for no text. @param {number} id */
  isSpecial(id) {
    return this.#tokenizer.isSpecial(id);
  }

  /**
   * A token for a reader: without the space before a word, and with a hyphen where it goes on with one.
   * @param {number} id
   */
  label(id) {
    const raw = this.#tokenizer.token(id) ?? `#${id}`;
    if (this.#tokenizer.isAdded(id)) return raw;
    if (raw.startsWith('##')) return `-${raw.slice(2)}`;
    const text = this.#space === 'Ġ' ? this.text(id) : raw.replaceAll('▁', ' ');
    if (text.includes('\ufffd')) return raw;
    const word = text.trim();
    if (word === '') return '␣';
    const marks = this.#space === 'Ġ' || raw.includes('▁') || this.#hasSpaces;
    return marks && text === word && /^[\p{L}\p{N}]/u.test(word) ? `-${word}` : word;
  }

  /** Whether words of this vocabulary begin with a space. */
  get #hasSpaces() {
    return (this.#spaced ??= this.#tokenizer.id('▁the') !== undefined);
  }
  /** @type {boolean | undefined} */
  #spaced;

  /** @param {number} id */
  text(id) {
    const raw = this.#tokenizer.token(id) ?? '';
    if (raw.startsWith('▁')) return raw.replaceAll('▁', ' ');
    return this.#decoded([id]);
  }

  /** What tokens add to the text of others. @param {readonly number[]} before @param {readonly number[]} ids */
  added(before, ids) {
    return this.#decoded([...before, ...ids]).slice(this.#decoded(before).length);
  }

  /** @param {readonly number[]} ids */
  #decoded(ids) {
    return this.#tokenizer.decode(ids, { skipSpecial: true });
  }
}
