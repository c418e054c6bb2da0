import { addedTokenFinder } from './addedTokens.js';
import { decoderOf } from './decoders.js';
import { modelOf } from './models.js';
import { normalizerOf } from './normalizers.js';
import { lettersAsBytes } from './patterns.js';
import { postProcessorOf } from './postProcessors.js';
import { preTokenizerOf } from './preTokenizers.js';

/** @typedef {import('./addedTokens.js').AddedToken} AddedToken */

/**
 * @param {any} config configuration of the model
 * @param {ReturnType<typeof modelOf>} model
 * @param {boolean} byteLevel
 */
function marksOf({ continuing_subword_prefix, end_of_word_suffix }, { kind, ids }, byteLevel) {
  const prefix = continuing_subword_prefix ?? (kind === 'WordPiece' ? '##' : '');
  const spaces = byteLevel || [...ids.keys()].some((token) => token.startsWith('▁'));
  return {
    prefix: /** @type {string} */ (kind === 'WordLevel' ? '' : prefix),
    suffix: /** @type {string} */ (end_of_word_suffix ?? ''),
    spaces: spaces && kind !== 'WordLevel',
  };
}

/**
 * Gives added tokens the ids that the library gives them, whatever the file says. Tokens of the
 * model keep their ids, and other tokens get the next free ids. If two tokens have the same text,
 * the last token counts.
 * @param {AddedToken[]} tokens
 * @param {ReadonlyMap<string, number>} ids
 * @returns {AddedToken[]}
 */
function numbered(tokens, ids) {
  /** @type {Map<string, AddedToken>} */
  const result = new Map();
  let next = ids.size;
  for (const token of tokens) {
    if (!token.content) continue;
    const known = ids.get(token.content) ?? result.get(token.content)?.id;
    result.set(token.content, { ...token, id: known ?? next });
    if (known === undefined) next += 1;
  }
  return [...result.values()];
}

/**
 * Tokenizes according to a tokenizer.json. It gives the same ids as Hugging Face's library
 * `tokenizers`. `@huggingface/tokenizers` gives different ids for text outside ASCII and for less
 * common fields, so this class uses only the parts of it that agree with the library.
 * tests/tokenizers records the library's results for every component.
 *
 * Like `transformers`, this class ignores the fields `truncation` and `padding`, which
 * `transformers` takes as options of each call.
 */
export class Tokenizer {
  #normalize;
  #preTokenize;
  #model;
  #postProcessor;
  #decode;
  #findRaw;
  #findNormalized;
  /** Text of the special tokens. @type {Set<string>} */
  #special = new Set();
  /** @type {Map<number, string>} */
  #tokens = new Map();
  /** @type {Map<number, AddedToken>} */
  #added = new Map();
  /** True if each letter of the vocabulary's tokens represents a byte. */
  #byteLevel;
  /**
   * Marks that show whether a token continues a word. If there is a prefix, a token that continues
   * a word has this prefix. Otherwise, if there is a suffix, the last token of a word has this
   * suffix. Otherwise, if `spaces` is true, a space separates the tokens of different words.
   */
  marks;

  /** @param {any} json contents of the file */
  constructor(json) {
    if (!json?.model?.vocab) throw new Error('model.vocab is missing');
    this.#normalize = normalizerOf(json.normalizer);
    this.#preTokenize = preTokenizerOf(json.pre_tokenizer);
    this.#model = modelOf(json.model);
    this.#postProcessor = postProcessorOf(json.post_processor);
    this.#decode = decoderOf(json.decoder);
    this.#byteLevel = JSON.stringify([json.normalizer, json.pre_tokenizer, json.decoder]).includes(
      '"ByteLevel"',
    );
    this.marks = marksOf(json.model, this.#model, this.#byteLevel);
    for (const [token, id] of this.#model.ids) this.#tokens.set(id, token);
    /** @type {AddedToken[]} */
    const added = numbered(json.added_tokens ?? [], this.#model.ids);
    /** @type {{ content: string, token: AddedToken }[]} */
    const raw = [];
    /** @type {{ content: string, token: AddedToken }[]} */
    const normalized = [];
    for (const token of added) {
      const content = token.normalized ? this.#normalize(token.content) : token.content;
      (token.normalized ? normalized : raw).push({ content, token });
      this.#tokens.set(token.id, content);
      this.#added.set(token.id, token);
      if (token.special) this.#special.add(token.content);
    }
    this.#findRaw = addedTokenFinder(raw);
    this.#findNormalized = addedTokenFinder(normalized);
  }

  /**
   * The ids of a text, including the special tokens around it.
   * @param {string} given
   * @param {{ addSpecialTokens?: boolean }} [options]
   */
  encode(given, { addSpecialTokens = true } = {}) {
    // Replace lone surrogates, which are not characters. The library never receives any.
    const text = given.replace(/\p{Cs}/gu, '\ufffd');
    /** @type {number[]} */
    const ids = [];
    for (const part of text ? this.#findRaw(text) : []) {
      if (part.token) {
        ids.push(part.token.id);
      } else {
        // JavaScript engines limit the number of arguments of a call.
        for (const id of this.#idsOf(part.text, part.start === 0)) ids.push(id);
      }
    }
    return addSpecialTokens ? this.#postProcessor.process(ids) : ids;
  }

  /**
   * The types of tokens. Tokens after the first separator belong to a second sentence.
   * @param {readonly number[]} ids
   */
  typesOf(ids) {
    const { separator, types } = this.#postProcessor;
    const at = separator === undefined ? -1 : ids.indexOf(separator);
    return ids.map((_, i) => types[at >= 0 && i > at ? 1 : 0]);
  }

  /**
   * @param {string} text a text without literal added tokens
   * @param {boolean} first true for the beginning of the whole text
   */
  #idsOf(text, first) {
    const normalized = this.#normalize(text);
    if (!normalized) return [];
    // If normalization drops the first character, no part counts as the beginning of the text.
    const begins = first && this.#normalize(String.fromCodePoint(text.codePointAt(0) ?? 0)) !== '';
    return this.#findNormalized(normalized).flatMap((part) =>
      part.token
        ? [part.token.id]
        : this.#preTokenize({ text: part.text, first: begins && part.start === 0 }).flatMap(
            (piece) => this.#model.encode(piece.text),
          ),
    );
  }

  /**
   * The text of tokens. Unknown ids have no text.
   * @param {readonly number[]} ids
   * @param {{ skipSpecial?: boolean }} [options]
   */
  decode(ids, { skipSpecial = false } = {}) {
    const tokens = ids.flatMap((id) => {
      const token = this.#tokens.get(id);
      return token === undefined || (skipSpecial && this.#special.has(token)) ? [] : [token];
    });
    return tokens.length ? this.#decode(tokens).join('') : '';
  }

  /** A token as spelled in the vocabulary. @param {number} id */
  token(id) {
    return this.#added.get(id)?.content ?? this.#tokens.get(id);
  }

  /**
   * The bytes that a token represents; null if its text represents it completely.
   * @param {number} id
   * @returns {number[] | null}
   */
  bytes(id) {
    const token = this.#tokens.get(id) ?? '';
    if (this.#byteLevel) return lettersAsBytes(token.replace(this.marks.suffix, ''));
    const [, byte] = /^<0x([0-9A-F]{2})>$/.exec(token) ?? [];
    return byte ? [parseInt(byte, 16)] : null;
  }

  /** True if a token was added to the vocabulary. @param {number} id */
  isAdded(id) {
    return this.#added.has(id);
  }

  /** True if a token represents no text. @param {number} id */
  isSpecial(id) {
    return this.#added.get(id)?.special ?? false;
  }

  /** The largest id plus one. */
  get size() {
    let size = 0;
    for (const id of this.#tokens.keys()) size = Math.max(size, id + 1);
    return size;
  }
}
