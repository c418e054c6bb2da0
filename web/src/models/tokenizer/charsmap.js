// SentencePiece's table of replacements, which tokenizer.json stores in base 64: a double-array
// trie over UTF-8 bytes, followed by the zero-terminated replacements.

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });
const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** @param {number} unit */
const offsetOf = (unit) => (unit >>> 10) << ((unit & 0x200) >>> 6);

/**
 * @param {string} base64
 * @param {string} field
 * @returns {(text: string) => string}
 */
export function charsmap(base64, field) {
  const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  const size = bytes.length < 4 ? Infinity : view.getUint32(0, true);
  if (4 + size > bytes.length) {
    throw new Error(`${field}.precompiled_charsmap ends too early; download the file again`);
  }
  const trie = Uint32Array.from({ length: size / 4 }, (_, i) => view.getUint32(4 + 4 * i, true));
  const replacements = bytes.subarray(4 + size);

  /**
   * Returns the replacement of a prefix of `text`, or null. If several prefixes have a replacement,
   * the shortest prefix wins, as in the library `tokenizers`.
   * @param {string} text
   */
  function found(text) {
    let node = offsetOf(trie[0]);
    for (const byte of encoder.encode(text)) {
      if (byte === 0) return null;
      node ^= byte;
      const unit = trie[node] ?? 0;
      if ((unit & 0x800000ff) !== byte) return null;
      node ^= offsetOf(unit);
      if ((unit >>> 8) & 1) {
        const start = trie[node] & 0x7fffffff;
        return decoder.decode(replacements.subarray(start, replacements.indexOf(0, start)));
      }
    }
    return null;
  }

  return (text) =>
    Array.from(graphemes.segment(text), ({ segment }) => {
      const whole = encoder.encode(segment).length < 6 ? found(segment) : null;
      return whole ?? Array.from(segment, (letter) => found(letter) ?? letter).join('');
    }).join('');
}
