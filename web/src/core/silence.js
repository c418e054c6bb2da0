/**
 * A part of a model that can be silenced: a head (given by its index), the feed-forward network of
 * a layer, or a whole layer.
 * @typedef {{ layer: number, part: number | 'mlp' | 'layer' }} Part
 */

/** @typedef {'zero' | 'mean'} Replacement what replaces the output of a silenced part */

/** @param {Part} a @param {Part} b */
export const isSame = (a, b) => a.layer === b.layer && a.part === b.part;

/**
 * Silences a part, or switches it on again if it is already silenced.
 * @param {readonly Part[]} silenced
 * @param {Part} part
 * @param {number} most largest number of silenced parts; if there are more, the oldest are switched
 *   on again
 * @returns {Part[]}
 */
export function switched(silenced, part, most) {
  const others = silenced.filter((each) => !isSame(each, part));
  return others.length < silenced.length ? others : [...others, part].slice(-most);
}

/**
 * Converts silenced parts to the option `ablate` of the core's layers. Silencing a layer silences
 * both its attention and its feed-forward network.
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
