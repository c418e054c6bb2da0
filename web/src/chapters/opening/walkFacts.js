import { uncased } from '../../core/sentence.js';
import { shorten } from '../../core/tokens.js';
import { bits, keysOf, splitWord } from '../../core/walk.js';
import { brief, count, decimals, percent } from '../../drawing/numbers.js';
import { escaped } from '../../story/markup.js';

/** @import { Given } from '../../core/sentence.js' */
/** @import { Walk } from '../../core/walk.js' */
/** @import { Facts, Step } from '../../texts/walk.js' */

/** @typedef {{ id: number, probability: number, label: string }} Candidate */

// Directional isolates keep words of either direction in place within a sentence.
const [isolate, endIsolate] = [0x2068, 0x2069].map((code) => String.fromCharCode(code));
const quoted = (/** @type {string | undefined} */ token) =>
  `“${isolate}${escaped(shorten(token ?? '', 20))}${endIsolate}”`;

/**
 * Returns the facts that the sentences of the walk mention.
 * @param {Walk} walk
 * @param {object} sentence
 * @param {string[]} sentence.tokens
 * @param {Given} sentence.given
 * @param {number} sentence.head
 * @param {number | null} sentence.layers number of layers of the language model; null if there is
 *   none
 * @param {Candidate[]} sentence.candidates candidates for the next token, the most probable first;
 *   empty if there is no language model
 * @returns {Facts}
 */
export function factsOf(walk, { tokens, given, head, layers, candidates }) {
  const { word, depth, divided, division, shuffled, scores } = walk;
  const all = uncased(tokens);
  const twin = all.findIndex((token, i) => token === all[word] && i !== word);
  const [best] = strongest(walk);
  // The blend may belong to another word.
  const [first, second] = strongest(division);
  const is = kindOf(all, word, best);
  const named = (/** @type {number} */ key, weights = divided.weights) => ({
    // A word that occurs more than once is shown with its position.
    word:
      quoted(tokens[key]) + (all.indexOf(all[key]) < all.lastIndexOf(all[key]) ? `_{${key}}` : ''),
    itself: key === word,
    weight: percent(weights[key]),
  });
  const blendOf = (/** @type {number} */ first, /** @type {number} */ second) => {
    const { weights } = division.divided;
    return {
      ...{ first: named(first, weights), second: named(second, weights) },
      rest: percent(Math.max(0, 1 - weights[first] - weights[second])),
    };
  };
  const [guess] = candidates;
  const rank = candidates.findIndex(({ id }) => id === given.ids[best]);
  const next = word + 1 < tokens.length && candidates.find(({ id }) => id === given.ids[word + 1]);
  return {
    ...{ word: quoted(tokens[word]), place: word, learned: layers !== null },
    same: given.weights === 'identity',
    positions: given.encoding === 'none' ? 'nothing' : given.rotary ? 'turns' : 'adds',
    pieces: (layers !== null && splitWord(tokens)?.map(quoted)) || [],
    twin: twin < 0 ? null : twin,
    ...{ width: given.dModel, depth, head: head + 1, layer: given.layer + 1, layers: layers ?? 1 },
    hidden: given.causal,
    best: best === undefined ? null : { ...named(best), score: decimals(scores[best], 1), is },
    blend: second === undefined ? null : blendOf(first, second),
    root: brief(Math.sqrt(depth)),
    ...{ divided: spreadOf(division.divided), undivided: spreadOf(division.undivided) },
    sharp: division.word === word ? null : { softer: named(division.word).word },
    changed: brief(shuffled.with.difference),
    guess: guess ? offered(guess) : null,
    next: next ? { ...offered(next), guessed: next === guess } : null,
    looked:
      is === 'followed' && rank >= 0 ? { ...offered(candidates[rank]), rank: rank + 1 } : null,
    heads: (layers ?? 1) * given.heads,
    vocabulary: count(candidates.length),
  };
}

/**
 * Returns the visible keys of a word, the largest weight first.
 * @param {Parameters<typeof keysOf>[0]} row
 */
const strongest = (row) =>
  [...keysOf(row, Infinity).keys].sort((a, b) => row.divided.weights[b] - row.divided.weights[a]);

/**
 * Returns 'before' if the token with the largest weight is directly before the word, 'followed' if
 * that token directly follows an earlier occurrence of the word, and null otherwise.
 * @param {string[]} tokens
 * @param {number} word
 * @param {number | undefined} best
 */
function kindOf(tokens, word, best) {
  if (best === undefined || best >= word) return null;
  if (best === word - 1) return 'before';
  return best > 0 && tokens[best - 1] === tokens[word] ? 'followed' : null;
}

/** @param {Candidate} candidate */
const offered = ({ label, probability }) => ({ word: quoted(label), share: percent(probability) });

/** @param {Walk['divided']} weights */
const spreadOf = ({ entropy, largest, slope }) => ({
  entropy: bits(entropy).replace('<', 'less than'),
  largest: largest.toFixed(3),
  slope: slope < 1e-3 ? 'less than 0.001' : brief(slope),
});

/**
 * Returns how many seconds playback stays at a step: long enough to read it, at 200 words a minute,
 * and to look at its picture.
 * @param {Step} step
 * @param {Facts} facts
 */
export function secondsToRead({ says, more }, facts) {
  const words = `${says(facts)} ${more?.(facts) ?? ''}`.split(/\s+/).length;
  return 3 + words / (200 / 60);
}
