import {
  control,
  mark,
  nonspacingMark,
  normalized,
  space,
  spaceAtStart,
  withoutSpaceAtEnd,
} from './characters.js';
import { charsmap } from './charsmap.js';
import { bytesAsLetters, matcher, unsupported } from './patterns.js';

/** @typedef {(text: string) => string} Normalizer */

/**
 * Ideographs that BERT surrounds with spaces. As in the library, one of Unicode's blocks is
 * missing.
 */
const ideograph =
  /[\u4e00-\u9fff\u3400-\u4dbf\u{20000}-\u{2a6df}\u{2a700}-\u{2b73f}\u{2b740}-\u{2b81f}\u{2b920}-\u{2ceaf}\uf900-\ufaff\u{2f800}-\u{2fa1f}]/gu;

/**
 * Converts each letter to lower case separately, so that a final sigma gets no special treatment.
 * @type {Normalizer}
 */
const lowered = (text) => {
  const lower = text.toLowerCase();
  return /Σ/.test(text) ? Array.from(text, (each) => each.toLowerCase()).join('') : lower;
};

/** @param {any} config @returns {Normalizer} */
function bertNormalizer(config) {
  const { clean_text, handle_chinese_chars, lowercase } = config;
  const stripAccents = config.strip_accents ?? lowercase;
  return (given) => {
    let text = given;
    if (clean_text) text = text.replace(control, '').replace(space, ' ');
    if (handle_chinese_chars) text = text.replace(ideograph, ' $& ');
    if (stripAccents) text = normalized(text, 'NFD').replace(nonspacingMark, '');
    return lowercase ? lowered(text) : text;
  };
}

/** @param {any} config @param {string} field @returns {Normalizer} */
function replacer({ pattern, content }, field) {
  const matches = matcher(pattern, `${field}.pattern`);
  return (text) =>
    matches(text)
      .map(([start, end, found]) => (found ? content : text.slice(start, end)))
      .join('');
}

/** @param {any} config @returns {Normalizer} */
const stripper =
  ({ strip_left, strip_right }) =>
  (text) => {
    const left = strip_left ? text.replace(spaceAtStart, '') : text;
    return strip_right ? withoutSpaceAtEnd(left) : left;
  };

/**
 * Creates the function for a normalizer in tokenizer.json.
 * @param {any} config
 * @param {string} [field] name of the field, for error messages
 * @returns {Normalizer}
 */
export function normalizerOf(config, field = 'normalizer') {
  if (!config) return (text) => text;
  switch (config.type) {
    case 'Sequence': {
      const all = config.normalizers.map((/** @type {any} */ each, /** @type {number} */ i) =>
        normalizerOf(each, `${field}.normalizers[${i}]`),
      );
      return (text) =>
        all.reduce((/** @type {string} */ t, /** @type {Normalizer} */ f) => f(t), text);
    }
    case 'NFC':
    case 'NFD':
    case 'NFKC':
    case 'NFKD':
      return (text) => normalized(text, config.type);
    case 'Lowercase':
      return lowered;
    case 'Strip':
      return stripper(config);
    case 'StripAccents':
      return (text) => text.replace(mark, '');
    case 'Replace':
      return replacer(config, field);
    case 'Prepend':
      return (text) => text && config.prepend + text;
    case 'BertNormalizer':
      return bertNormalizer(config);
    case 'Precompiled':
      return config.precompiled_charsmap
        ? charsmap(config.precompiled_charsmap, field)
        : (text) => text;
    case 'Nmt':
      return (text) =>
        text
          // eslint-disable-next-line no-control-regex -- the library drops exactly these
          .replace(/[\u0001-\u0008\u000b\u000e-\u001f\u007f\u008f\u009f]/g, '')
          .replace(/[\t\n\f\r\u1680\u200b-\u200f\u2028\u2029\u2581\ufeff\ufffd]/g, ' ');
    case 'ByteLevel':
      return bytesAsLetters;
    default:
      throw unsupported(field, config.type);
  }
}
