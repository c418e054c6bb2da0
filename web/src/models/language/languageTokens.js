import { maxTokens } from '../../core/tokens.js';
import { ModelTokens } from '../tokenizer/modelTokens.js';

/** The tokens of the page's language model. */
export class LanguageTokens {
  #tokens;
  #last = {
    text: '',
    result: { tokens: /** @type {string[]} */ ([]), ids: /** @type {number[]} */ ([]), total: 0 },
  };

  /** @param {object} json the tokenizer file */
  constructor(json) {
    this.#tokens = new ModelTokens(json);
  }

  /**
   * The first `maxTokens` tokens of a text, as labels and as ids, and the total number of tokens.
   * The model was trained on text with single spaces between words and with a line break between
   * paragraphs.
   * @param {string} text
   */
  of(text) {
    if (text !== this.#last.text) {
      const spaced = text
        .trimStart()
        .replace(/\s+/g, (space) => (space.includes('\n') ? '\n ' : ' '))
        .replace(/ $/, '');
      const result = this.#tokens.of(spaced, maxTokens);
      this.#last = { text, result };
    }
    return this.#last.result;
  }

  /**
   * The label of a token.
   * @param {number} id
   * @param {readonly number[]} before the tokens before it
   */
  label(id, before) {
    return this.#tokens.label(id, before);
  }

  /**
   * Returns the text that the tokens `ids` add after the tokens `before`.
   * @param {readonly number[]} before
   * @param {readonly number[]} ids
   */
  added(before, ids) {
    return this.#tokens.added(before, ids);
  }
}
