import { bytesOf, unsupported } from './patterns.js';

/** @typedef {(text: string) => number[]} Model finds the tokens of a non-empty piece of text */

/** Largest number of pieces of text whose tokens are cached. */
const mostKept = 10_000;

/**
 * The token that represents a byte.
 * @param {number} byte
 */
const byteToken = (byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`;

/**
 * The tokens that represent the bytes of a text, if the vocabulary contains them all.
 * @param {ReadonlyMap<string, number>} ids
 * @param {string} text
 */
function bytesIn(ids, text) {
  const found = Array.from(bytesOf(text), (byte) => ids.get(byteToken(byte)));
  return found.includes(undefined) ? null : /** @type {number[]} */ (found);
}

/** @param {string} text @param {string} reason why unknown text has no token */
const noToken = (text, reason) =>
  new Error(`tokenizer.json: no token represents ${JSON.stringify(text)}, and ${reason}`);

/** @param {string} token */
const missing = (token) => `model.unk_token (${token}) is not in the vocabulary`;

/**
 * A binary heap of pairs to merge. The pairs are ordered by rank, and pairs of the same rank are
 * ordered from left to right.
 */
class Merges {
  /** @type {{ rank: number, at: number, id: number }[]} */
  #heap = [];

  /** @param {{ rank: number, at: number, id: number }} a @param {{ rank: number, at: number, id: number }} b */
  #before = (a, b) => a.rank < b.rank || (a.rank === b.rank && a.at < b.at);

  /** @param {{ rank: number, at: number, id: number }} merge */
  push(merge) {
    const heap = this.#heap;
    let i = heap.push(merge) - 1;
    while (i > 0) {
      const parent = (i - 1) >> 1;
      if (!this.#before(heap[i], heap[parent])) break;
      [heap[i], heap[parent]] = [heap[parent], heap[i]];
      i = parent;
    }
  }

  pop() {
    const heap = this.#heap;
    const [top] = heap;
    const last = heap.pop();
    if (!heap.length || !last) return top;
    heap[0] = last;
    for (let i = 0; ;) {
      const left = 2 * i + 1;
      if (left >= heap.length) return top;
      const right = left + 1;
      const child = right < heap.length && this.#before(heap[right], heap[left]) ? right : left;
      if (!this.#before(heap[child], heap[i])) return top;
      [heap[i], heap[child]] = [heap[child], heap[i]];
      i = child;
    }
  }
}

/**
 * Maps pairs of token ids to their merges.
 * @param {any} config
 * @param {ReadonlyMap<string, number>} ids
 * @returns {Map<number, Map<number, { rank: number, id: number }>>}
 */
function mergesOf({ merges, continuing_subword_prefix }, ids) {
  const prefix = continuing_subword_prefix?.length ?? 0;
  const result = new Map();
  // Old files include the first line of merges.txt, which names its version.
  const all = merges.filter(
    (/** @type {unknown} */ merge) => typeof merge !== 'string' || !merge.startsWith('#version'),
  );
  all.forEach((/** @type {string | [string, string]} */ merge, /** @type {number} */ rank) => {
    const pair = typeof merge === 'string' ? merge.split(' ') : merge;
    if (pair.length !== 2) throw new Error(`model.merges[${rank}] (${merge}) is not a pair`);
    const [left, right] = pair;
    const [a, b, id] = [left, right, left + right.slice(prefix)].map((token) => ids.get(token));
    if (a === undefined || b === undefined || id === undefined) {
      throw new Error(
        `model.merges[${rank}] (${left} ${right}) has a token that is not in the vocabulary`,
      );
    }
    if (!result.has(a)) result.set(a, new Map());
    result.get(a).set(b, { rank, id });
  });
  return result;
}

/**
 * Byte-pair encoding. `@huggingface/tokenizers` is not used, because it merges texts rather than
 * tokens, ignores the prefix of continuing tokens, and does not merge bytes.
 * @param {any} config
 * @param {ReadonlyMap<string, number>} ids
 * @returns {Model}
 */
function bpe(config, ids) {
  const { unk_token, fuse_unk, byte_fallback, ignore_merges } = config;
  if (config.dropout) {
    throw new Error(
      'model.dropout leaves out merges at random; set it to null to get the same tokens every time',
    );
  }
  const prefix = config.continuing_subword_prefix ?? '';
  const suffix = config.end_of_word_suffix ?? '';
  const merges = mergesOf(config, ids);

  /** The tokens of individual characters. @param {string} text */
  function lettersOf(text) {
    const letters = Array.from(text);
    /** @type {number[]} */
    const result = [];
    // The library emits an unknown token only before the next known token, even if it emits byte
    // tokens in between.
    let unknown = -1;
    letters.forEach((letter, i) => {
      const token = `${i ? prefix : ''}${letter}${i === letters.length - 1 ? suffix : ''}`;
      const id = ids.get(token);
      if (id !== undefined) {
        if (unknown >= 0) result.push(unknown);
        unknown = -1;
        result.push(id);
        return;
      }
      const bytes = byte_fallback ? bytesIn(ids, token) : null;
      if (bytes) {
        result.push(...bytes);
      } else if (typeof unk_token === 'string') {
        if (unknown >= 0 && !fuse_unk) result.push(unknown);
        unknown = ids.get(unk_token) ?? -1;
        if (unknown < 0) throw noToken(letter, missing(unk_token));
      }
    });
    if (unknown >= 0) result.push(unknown);
    return result;
  }

  /** @param {number[]} tokens */
  function merged(tokens) {
    const next = tokens.map((_, i) => i + 1);
    const previous = tokens.map((_, i) => i - 1);
    const gone = -1;
    const queue = new Merges();
    const look = (/** @type {number} */ at) => {
      const merge = merges.get(tokens[at])?.get(tokens[next[at]]);
      if (merge) queue.push({ ...merge, at });
    };
    for (let i = 0; i + 1 < tokens.length; i++) look(i);
    for (let top = queue.pop(); top; top = queue.pop()) {
      const { at, id } = top;
      const right = next[at];
      if (tokens[at] === gone || right >= tokens.length) continue;
      // Skip the merge if one of the two tokens has since been merged with another token.
      if (merges.get(tokens[at])?.get(tokens[right])?.id !== id) continue;
      tokens[at] = id;
      tokens[right] = gone;
      next[at] = next[right];
      if (next[at] < tokens.length) previous[next[at]] = at;
      if (previous[at] >= 0) look(previous[at]);
      if (next[at] < tokens.length) look(at);
    }
    return tokens.filter((token) => token !== gone);
  }

  return (text) => {
    const whole = ignore_merges ? ids.get(text) : undefined;
    return whole === undefined ? merged(lettersOf(text)) : [whole];
  };
}

/**
 * Finds the most probable segmentation of a text. `@huggingface/tokenizers` is not used, because it
 * does not represent unknown characters by their bytes.
 * @param {any} config
 * @param {ReadonlyMap<string, number>} ids
 * @returns {Model}
 */
function unigram({ vocab, unk_id, byte_fallback, alpha }, ids) {
  const unknown = unk_id ?? -1;
  if (alpha)
    throw new Error(
      'model.alpha draws tokens at random; remove it to get the same tokens every time',
    );
  const scores = vocab.map((/** @type {[string, number]} */ [, score]) => score);
  const unknownScore =
    scores.reduce((/** @type {number} */ a, /** @type {number} */ b) => Math.min(a, b), Infinity) -
    10;
  /** Length of the longest token by first character. @type {Map<string, number>} */
  const longest = new Map();
  for (const token of ids.keys()) {
    const letter = String.fromCodePoint(token.codePointAt(0) ?? 0);
    longest.set(letter, Math.max(longest.get(letter) ?? 0, token.length));
  }
  return (text) => {
    /** The best path to each position: the start of its last token, and that token. */
    const best = Array.from({ length: text.length + 1 }, () => ({ from: -1, score: 0, id: -1 }));
    /** @param {number} from @param {number} to @param {number} id @param {number} score */
    const reach = (from, to, id, score) => {
      const total = best[from].score + score;
      if (best[to].from < 0 || total > best[to].score) best[to] = { from, score: total, id };
    };
    for (let from = 0; from < text.length;) {
      const letter = String.fromCodePoint(text.codePointAt(from) ?? 0);
      const most = Math.min(text.length - from, longest.get(letter) ?? 0);
      let single = false;
      for (let length = letter.length; length <= most; length++) {
        const id = ids.get(text.slice(from, from + length));
        if (id === undefined) continue;
        reach(from, from + length, id, scores[id]);
        single ||= length === letter.length;
      }
      if (!single) reach(from, from + letter.length, unknown, unknownScore);
      from += letter.length;
    }
    /** Collects the tokens from last to first and joins adjacent unknown tokens. */
    /** @type {{ from: number, to: number, known: boolean }[]} */
    const parts = [];
    for (let to = text.length; to > 0; to = best[to].from) {
      const { from, id } = best[to];
      const known = id !== unknown;
      const last = parts.at(-1);
      if (!known && last && !last.known) last.from = from;
      else parts.push({ from, to, known });
    }
    return parts.reverse().flatMap(({ from, to }) => {
      const part = text.slice(from, to);
      const id = ids.get(part);
      if (id !== undefined) return [id];
      const bytes = byte_fallback ? bytesIn(ids, part) : null;
      if (!bytes && unknown < 0) throw noToken(part, 'model.unk_id is missing');
      return bytes ?? [unknown];
    });
  };
}

/**
 * Repeatedly splits off the longest known piece. `@huggingface/tokenizers` does the same, but tries
 * all lengths up to the word's length, so long words take quadratic time.
 * @param {any} config
 * @param {ReadonlyMap<string, number>} ids
 * @returns {Model}
 */
function wordPiece(config, ids) {
  const { unk_token = '[UNK]', continuing_subword_prefix: prefix = '##' } = config;
  const { max_input_chars_per_word: mostLetters = 100 } = config;
  let longest = 0;
  for (const token of ids.keys()) longest = Math.max(longest, token.length);

  /** @param {string} text */
  function piecesOf(text) {
    /** @type {number[]} */
    const pieces = [];
    for (let from = 0; from < text.length;) {
      let to = Math.min(text.length, from + longest);
      let id;
      for (; to > from; to--) {
        id = ids.get((from ? prefix : '') + text.slice(from, to));
        if (id !== undefined) break;
      }
      if (id === undefined) return undefined;
      pieces.push(id);
      from = to;
    }
    return pieces;
  }

  return (text) => {
    const pieces = Array.from(text).length > mostLetters ? undefined : piecesOf(text);
    if (pieces) return pieces;
    const unknown = ids.get(unk_token);
    if (unknown === undefined) throw noToken(text, missing(unk_token));
    return [unknown];
  };
}

/** @param {any} config @param {ReadonlyMap<string, number>} ids @returns {Model} */
function wordLevel({ unk_token }, ids) {
  return (text) => {
    const id = ids.get(text) ?? ids.get(unk_token);
    if (id === undefined) throw noToken(text, missing(unk_token));
    return [id];
  };
}

/** Infers the kind of a model from an older file that does not name it. @param {any} config */
function kindOf({ vocab, merges, continuing_subword_prefix }) {
  if (merges) return 'BPE';
  if (Array.isArray(vocab)) return 'Unigram';
  return continuing_subword_prefix === undefined ? 'WordLevel' : 'WordPiece';
}

const kinds = { BPE: bpe, Unigram: unigram, WordPiece: wordPiece, WordLevel: wordLevel };

/**
 * Creates a model from tokenizer.json: its kind, its vocabulary, and a function that finds the
 * tokens of a piece.
 * @param {any} config
 */
export function modelOf(config) {
  const kind = config.type ?? kindOf(config);
  if (!Object.hasOwn(kinds, kind)) throw unsupported('model', kind);
  /** @type {Map<string, number>} */
  const ids = Array.isArray(config.vocab)
    ? new Map(
        config.vocab.map((/** @type {[string]} */ [token], /** @type {number} */ id) => [
          token,
          id,
        ]),
      )
    : new Map(Object.entries(config.vocab));
  const model = kinds[/** @type {keyof typeof kinds} */ (kind)](config, ids);
  /** @type {Map<string, number[]>} */
  const kept = new Map();
  /** @type {Model} */
  const encode = (text) => {
    let found = kept.get(text);
    if (!found) {
      found = model(text);
      if (kept.size >= mostKept) kept.clear();
      kept.set(text, found);
    }
    return found;
  };
  return { kind, ids, encode };
}
