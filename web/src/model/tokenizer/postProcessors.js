import { unsupported } from './patterns.js';

/** @typedef {{ ids: number[], types: number[] }} Encoding types: of each token, 0 or that of a second sentence */
/** @typedef {(ids: number[]) => Encoding} PostProcessor */

/** @param {number[]} ids @param {number} [type] @returns {Encoding} */
const plain = (ids, type = 0) => ({ ids, types: ids.map(() => type) });

/**
 * Gives the second sentence its type: what follows the first separator in the text, if the tokenizer gives
 * the second of two sentences another type than the first.
 * @param {Encoding} encoding
 * @param {number} separator
 * @param {number} type
 */
function withPair(encoding, separator, type) {
  const at = encoding.ids.indexOf(separator);
  return at < 0
    ? encoding
    : { ...encoding, types: encoding.types.map((each, i) => (i > at ? type : each)) };
}

/** @param {any} config @param {string} field @returns {PostProcessor} */
function template({ single, pair, special_tokens }, field) {
  const special = (/** @type {string} */ name) => {
    if (!special_tokens?.[name]) {
      throw new Error(
        `${field}.special_tokens has no ${JSON.stringify(name)}, which its template needs`,
      );
    }
    return special_tokens[name].ids;
  };
  for (const { SpecialToken: token } of single) if (token) special(token.id);
  const second = (pair ?? []).findIndex(
    (/** @type {any} */ { Sequence: { id } = {} }) => id === 'B',
  );
  const before = pair?.[second - 1]?.SpecialToken;
  return (ids) => {
    const parts = single.map((/** @type {any} */ { SpecialToken: token, Sequence: sequence }) =>
      token ? plain(special(token.id), token.type_id) : plain(ids, sequence.type_id),
    );
    const encoding = {
      ids: parts.flatMap((/** @type {Encoding} */ part) => part.ids),
      types: parts.flatMap((/** @type {Encoding} */ part) => part.types),
    };
    return before
      ? withPair(encoding, special(before.id)[0], pair[second].Sequence.type_id)
      : encoding;
  };
}

/**
 * The function that a post-processor of tokenizer.json stands for.
 * @param {any} config
 * @param {string} [field] its name, for errors
 * @returns {PostProcessor}
 */
export function postProcessorOf(config, field = 'post_processor') {
  if (!config) return plain;
  switch (config.type) {
    case 'ByteLevel':
      return plain;
    case 'BertProcessing':
      return (ids) => withPair(plain([config.cls[1], ...ids, config.sep[1]]), config.sep[1], 1);
    case 'RobertaProcessing':
      return (ids) => plain([config.cls[1], ...ids, config.sep[1]]);
    case 'TemplateProcessing':
      return template(config, field);
    case 'Sequence': {
      // ByteLevel only changes offsets.
      const all = config.processors
        .map((/** @type {any} */ each, /** @type {number} */ i) => [
          each,
          `${field}.processors[${i}]`,
        ])
        .filter((/** @type {any} */ [{ type }]) => type !== 'ByteLevel');
      if (all.length > 1) {
        throw new Error(
          `${field}.processors: attn supports one that adds tokens, and it has ${all.length}`,
        );
      }
      return all.length ? postProcessorOf(all[0][0], all[0][1]) : plain;
    }
    default:
      throw unsupported(field, config.type);
  }
}
