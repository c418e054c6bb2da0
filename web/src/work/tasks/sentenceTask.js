import { coarse, largestMagnitude } from '../../drawing/matrix.js';
import { timed } from '../timed.js';
import { withSentence } from './here.js';

/** @typedef {import('../../core/sentence.js').Given} Given */
/** @typedef {import('../../drawing/matrix.js').Matrix} Matrix */
/** @typedef {import('../../models/model.js').Sentence} Sentence */

/**
 * A task that computes a result for a sentence, on the page's thread or in the worker.
 * @template {string} Name
 * @template T
 * @param {Name} name
 * @param {readonly import('./task.js').GivenName[]} reads
 * @param {(sentence: Sentence, attn: import('attn').Attn, given: Given) => T} compute
 * @param {(value: NonNullable<T>) => Matrix[]} [large] selects the matrices whose preparation for
 * drawing would take too long on the page's thread
 */
export const sentenceTask = (name, reads, compute, large = () => []) => ({
  ...{ name, reads, compute },
  /** @param {import('attn').Attn} attn @param {Given} given */
  *run(attn, given) {
    yield 0;
    const { value, milliseconds } = withSentence(attn, given, (sentence) =>
      timed(() => compute(sentence, attn, given)),
    );
    for (const matrix of value ? large(value) : []) {
      yield 0;
      matrix.coarse = coarse(matrix);
      matrix.largest = largestMagnitude(matrix.data);
    }
    return { value, milliseconds };
  },
});
