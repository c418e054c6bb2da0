import { maxTokens } from '../../state/properties.js';
import { Tokenizer } from '../tokenizer/tokenizer.js';

/** What a token is made of: byte-level byte pairs write the space before a word as this. */
const space = 'Ġ';

/** The tokens of a language model: pieces of words, as its tokenizer.json says. */
export class LanguageTokens {
  #tokenizer;
  /** @type {Map<number, string>} */
  #labels = new Map();
  #last = { text: '', result: { tokens: /** @type {string[]} */ ([]), ids: [0], total: 0 } };

  /** @param {object} json the file */
  constructor(json) {
    this.#tokenizer = new Tokenizer(json);
    this.#last.result.ids = [];
  }

  /**
   * The first `maxTokens` tokens of a text, as a reader sees them and by their numbers, and how many there
   * are.
   * @param {string} text
   */
  of(text) {
    if (text === this.#last.text) return this.#last.result;
    const { ids: all } = this.#tokenizer.encode(text.trim().replace(/\s+/g, ' '));
    const ids = all.slice(0, maxTokens);
    const result = { ids, tokens: ids.map((id) => this.label(id)), total: all.length };
    this.#last = { text, result };
    return result;
  }

  /**
   * A token for a reader: without the space before a word. What goes on with a word has a hyphen before
   * it, and part of a character is its bytes.
   * @param {number} id
   */
  label(id) {
    const known = this.#labels.get(id);
    if (known !== undefined) return known;
    const text = this.text(id);
    const word = text.trim();
    const label = text.includes('\ufffd')
      ? this.#bytes(id)
      : word === ''
        ? '␣'
        : text === word && /^[\p{L}\p{N}]/u.test(word)
          ? `-${word}`
          : word;
    this.#labels.set(id, label);
    return label;
  }

  /** What it adds to a text. @param {number} id */
  text(id) {
    return this.#tokenizer.decode([id]);
  }

  /** @param {number} id */
  #bytes(id) {
    const letters = (this.#tokenizer.token(id) ?? '').replace(space, '');
    return `<${Array.from(letters, (letter) => byteOf(letter).toString(16)).join(' ')}>`;
  }
}

/** The byte that GPT-2's tokenizer writes as this letter. @param {string} letter */
function byteOf(letter) {
  const code = letter.codePointAt(0) ?? 0;
  if (code < 256) return code;
  // Those that cannot be printed come after 255, in their order.
  const hidden = Array.from({ length: 256 }, (_, byte) => byte).filter(
    (byte) => byte <= 32 || (byte >= 127 && byte <= 160) || byte === 173,
  );
  return hidden[code - 256];
}
