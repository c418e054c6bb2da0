import { maxTokens } from '../../state/properties.js';
import { ModelTokens } from '../tokenizer/modelTokens.js';

/** The tokens of the page's language model. */
export class LanguageTokens {
  #tokens;
  #last = {
    text: '',
    result: { tokens: /** @type {string[]} */ ([]), ids: /** @type {number[]} */ ([]), total: 0 },
  };

  /** @param {object} json the file */
  constructor(json) {
    this.#tokens = new ModelTokens(json);
  }

  /**
   * The first `maxTokens` tokens of a text, as a reader sees them and by their numbers, and how many there
   * are. The model has learned from texts with one space between words.
   * @param {string} text
   */
  of(text) {
    if (text !== this.#last.text) {
      const result = this.#tokens.of(text.trim().replace(/\s+/g, ' '), maxTokens);
      this.#last = { text, result };
    }
    return this.#last.result;
  }

  /** A token for a reader. @param {number} id @param {readonly number[]} before the tokens before it */
  label(id, before) {
    return this.#tokens.label(id, before);
  }

  /** What tokens add to the text of others. @param {readonly number[]} before @param {readonly number[]} ids */
  added(before, ids) {
    return this.#tokens.added(before, ids);
  }
}
