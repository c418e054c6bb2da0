import { lettersAsBytes, matcher, unsupported } from './patterns.js';

/** @typedef {(tokens: string[]) => string[]} Decoder */

const lossy = new TextDecoder('utf-8', { ignoreBOM: true });
const strict = new TextDecoder('utf-8', { ignoreBOM: true, fatal: true });

/** @param {string} text */
const cleaned = (text) =>
  text
    .replaceAll(' .', '.')
    .replaceAll(' ?', '?')
    .replaceAll(' !', '!')
    .replaceAll(' ,', ',')
    .replaceAll(" ' ", "'")
    .replaceAll(" n't", "n't")
    .replaceAll(" 'm", "'m")
    .replaceAll(' do not', " don't")
    .replaceAll(" 's", "'s")
    .replaceAll(" 've", "'ve")
    .replaceAll(" 're", "'re");

/** @type {Decoder} */
const byteLevel = (tokens) => [lossy.decode(Uint8Array.from(tokens.flatMap(lettersAsBytes)))];

/** @type {Decoder} */
function byteFallback(tokens) {
  /** @type {string[]} */
  const result = [];
  /** @type {number[]} */
  let bytes = [];
  const flush = () => {
    if (!bytes.length) return;
    try {
      result.push(strict.decode(Uint8Array.from(bytes)));
    } catch {
      result.push(...bytes.map(() => '\ufffd'));
    }
    bytes = [];
  };
  for (const token of tokens) {
    const [, byte] = /^<0x([0-9a-f]{2}|\+[0-9a-f])>$/i.exec(token) ?? [];
    if (byte) {
      bytes.push(parseInt(byte, 16));
    } else {
      flush();
      result.push(token);
    }
  }
  flush();
  return result;
}

/** @param {any} config @returns {Decoder} */
const wordPiece =
  ({ prefix, cleanup }) =>
  (tokens) =>
    tokens.map((token, i) => {
      const text =
        i === 0 ? token : token.startsWith(prefix) ? token.slice(prefix.length) : ` ${token}`;
      return cleanup ? cleaned(text) : text;
    });

/** @param {any} config @returns {Decoder} */
function metaspace({ replacement, prepend_scheme = 'always', add_prefix_space }) {
  const keeps = add_prefix_space === false || prepend_scheme === 'never';
  return (tokens) =>
    tokens.map((token, i) => token.replaceAll(replacement, i === 0 && !keeps ? '' : ' '));
}

/** @param {any} config @returns {Decoder} */
const ctc =
  ({ pad_token, word_delimiter_token, cleanup }) =>
  (tokens) =>
    tokens
      .filter((token, i) => token !== tokens[i - 1])
      .map((token) => {
        const text = token.replaceAll(pad_token, '');
        return cleanup ? cleaned(text).replaceAll(word_delimiter_token, ' ') : text;
      })
      .filter(Boolean);

/** @param {any} config @returns {Decoder} */
const strip =
  ({ content, start, stop }) =>
  (tokens) =>
    tokens.map((token) => {
      const letters = Array.from(token);
      let from = 0;
      while (from < Math.min(start, letters.length) && letters[from] === content) from += 1;
      let cut = 0;
      while (cut < Math.min(stop, letters.length) && letters.at(-1 - cut) === content) cut += 1;
      return letters.slice(from, Math.max(from, letters.length - cut)).join('');
    });

/** @param {any} config @param {string} field @returns {Decoder} */
function replacer({ pattern, content }, field) {
  const matches = matcher(pattern, `${field}.pattern`);
  return (tokens) =>
    tokens.map((token) =>
      matches(token)
        .map(([start, end, found]) => (found ? content : token.slice(start, end)))
        .join(''),
    );
}

/**
 * Creates the function for a decoder in tokenizer.json.
 * @param {any} config
 * @param {string} [field] name of the field, for error messages
 * @returns {Decoder}
 */
export function decoderOf(config, field = 'decoder') {
  if (!config) return (tokens) => [tokens.join(' ')];
  switch (config.type) {
    case 'Sequence': {
      const all = config.decoders.map((/** @type {any} */ each, /** @type {number} */ i) =>
        decoderOf(each, `${field}.decoders[${i}]`),
      );
      return (tokens) =>
        all.reduce((/** @type {string[]} */ t, /** @type {Decoder} */ f) => f(t), tokens);
    }
    case 'BPEDecoder':
      return (tokens) =>
        tokens.map((token, i) =>
          token.replaceAll(config.suffix, i === tokens.length - 1 ? '' : ' '),
        );
    case 'ByteFallback':
      return byteFallback;
    case 'ByteLevel':
      return byteLevel;
    case 'CTC':
      return ctc(config);
    case 'Fuse':
      return (tokens) => [tokens.join('')];
    case 'Metaspace':
      return metaspace(config);
    case 'Replace':
      return replacer(config, field);
    case 'Strip':
      return strip(config);
    case 'WordPiece':
      return wordPiece(config);
    default:
      throw unsupported(field, config.type);
  }
}
