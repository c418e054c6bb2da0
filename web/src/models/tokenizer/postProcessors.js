import { unsupported } from './patterns.js';

/**
 * Adds to the ids of a text: special tokens around it, the token between two sentences, and the
 * types of both sentences.
 * @typedef {object} PostProcessor
 * @property {(ids: number[]) => number[]} process
 * @property {number} [separator]
 * @property {readonly [number, number]} types
 */

/** @type {PostProcessor} */
const plain = { process: (ids) => ids, types: [0, 0] };

/** @param {any} config @param {readonly [number, number]} types @returns {PostProcessor} */
const enclosing = ({ cls, sep }, types) => ({
  process: (ids) => [cls[1], ...ids, sep[1]],
  separator: sep[1],
  types,
});

/** @param {any} config @param {string} field @returns {PostProcessor} */
function template({ single, pair = [], special_tokens }, field) {
  /** @param {string} name @returns {number[]} */
  const idsOf = (name) => {
    const token = special_tokens?.[name];
    if (token) return token.ids;
    throw new Error(
      `${field}.special_tokens has no ${JSON.stringify(name)}, which the template needs`,
    );
  };
  const parts = single.map(
    (/** @type {any} */ { SpecialToken: token }) => token && idsOf(token.id),
  );
  const [a, b] = ['A', 'B'].map((name) =>
    pair.findIndex((/** @type {any} */ { Sequence: sequence }) => sequence?.id === name),
  );
  const between = pair[b - 1]?.SpecialToken;
  return {
    process: (ids) => parts.flatMap((/** @type {number[] | undefined} */ part) => part ?? ids),
    ...(between && { separator: idsOf(between.id)[0] }),
    types: between ? [pair[a]?.Sequence.type_id ?? 0, pair[b].Sequence.type_id] : [0, 0],
  };
}

/**
 * Creates the function that does what a post-processor in tokenizer.json describes.
 * @param {any} config
 * @param {string} [field] name of the field, for error messages
 * @returns {PostProcessor}
 */
export function postProcessorOf(config, field = 'post_processor') {
  if (!config) return plain;
  switch (config.type) {
    // A ByteLevel post-processor changes only offsets.
    case 'ByteLevel':
      return plain;
    case 'BertProcessing':
      return enclosing(config, [0, 1]);
    case 'RobertaProcessing':
      return enclosing(config, [0, 0]);
    case 'TemplateProcessing':
      return template(config, field);
    case 'Sequence': {
      const all = config.processors
        .map((/** @type {any} */ each, /** @type {number} */ i) => [
          each,
          `${field}.processors[${i}]`,
        ])
        .filter((/** @type {any} */ [{ type }]) => type !== 'ByteLevel');
      if (all.length > 1) {
        throw new Error(
          `${field}.processors: attn supports only one processor that adds tokens, but this sequence has ${all.length}`,
        );
      }
      return all.length ? postProcessorOf(all[0][0], all[0][1]) : plain;
    }
    default:
      throw unsupported(field, config.type);
  }
}
