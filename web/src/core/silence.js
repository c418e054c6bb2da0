/**
 * A part of a model that can be silenced: a head, which is given by its index, the feed-forward
 * network of a layer, or a whole layer.
 * @typedef {{ layer: number, part: number | 'mlp' | 'layer' }} Part
 */

/** @typedef {'zero' | 'mean'} Replacement the numbers that a silenced part gives */

/** @param {Part} a @param {Part} b */
export const isSame = (a, b) => a.layer === b.layer && a.part === b.part;

/**
 * Silences a part or, if it is silenced already, switches it on again.
 * @param {readonly Part[]} silenced
 * @param {Part} part
 * @param {number} most largest number of silenced parts; the oldest are switched on again
 * @returns {Part[]}
 */
export function switched(silenced, part, most) {
  const others = silenced.filter((each) => !isSame(each, part));
  return others.length < silenced.length ? others : [...others, part].slice(-most);
}

/**
 * The silenced parts as an option of the core's layers. A silenced layer adds nothing of its own to
 * the stream: neither its attention nor its feed-forward network does.
 * @param {readonly Part[]} silenced
 * @param {Replacement} replacement
 * @param {string} [path] path of the encoder, with a dot at the end
 * @returns {import('attn').AblatedValue[]}
 */
export const ablateOf = (silenced, replacement, path = '') =>
  silenced.flatMap(({ layer, part }) => {
    const at = `${path}layers.${layer}.`;
    if (typeof part === 'number') {
      return [{ name: `${at}self_attn.head_output`, head: part, replacement }];
    }
    return (part === 'mlp' ? ['mlp_out'] : ['attn_out', 'mlp_out']).map((name) => ({
      ...{ name: at + name, replacement },
    }));
  });
