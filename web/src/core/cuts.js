/**
 * A key that a query may not look at.
 * @typedef {object} Cut
 * @property {number | null} layer null for every layer
 * @property {number | null} head null for every head
 * @property {number} query its position
 * @property {number} key
 */

/** @typedef {'head' | 'layer' | 'all'} Scope where a cut applies */

/**
 * True if a cut applies to a cell of a head.
 * @param {Cut} cut
 * @param {number} layer
 * @param {number} head
 */
const appliesTo = (cut, layer, head) =>
  (cut.layer === null || cut.layer === layer) && (cut.head === null || cut.head === head);

/**
 * The cells of a head that are cut.
 * @param {readonly Cut[]} cuts
 * @param {number} layer
 * @param {number} head
 */
export const cutCells = (cuts, layer, head) =>
  cuts
    .filter((cut) => appliesTo(cut, layer, head))
    .map(({ query, key }) => ({ row: query, column: key }));

/**
 * Cuts a cell of a head or, if it is cut already, undoes every cut that applies to it.
 * @param {readonly Cut[]} cuts
 * @param {{ layer: number, head: number, query: number, key: number }} at
 * @param {Scope} scope
 * @param {number} most largest number of cuts; the oldest cuts are dropped
 * @returns {Cut[]}
 */
export function toggled(cuts, { layer, head, query, key }, scope, most) {
  const isHere = (/** @type {Cut} */ cut) =>
    appliesTo(cut, layer, head) && cut.query === query && cut.key === key;
  if (cuts.some(isHere)) return cuts.filter((cut) => !isHere(cut));
  const cut = {
    layer: scope === 'all' ? null : layer,
    head: scope === 'head' ? head : null,
    ...{ query, key },
  };
  // A wider cut replaces the cuts that it includes.
  const others = cuts.filter(
    (other) =>
      other.query !== query ||
      other.key !== key ||
      (cut.layer !== null && cut.layer !== other.layer) ||
      (cut.head !== null && cut.head !== other.head),
  );
  return [...others, cut].slice(-most);
}

/**
 * The cuts that hide a token from every later query, in all layers and heads.
 * @param {number} key
 * @param {number} length number of tokens
 * @returns {Cut[]}
 */
export const cutsOff = (key, length) =>
  Array.from({ length: length - 1 - key }, (_, i) => ({
    ...{ layer: null, head: null, query: key + 1 + i, key },
  }));

/**
 * The cuts as an option of the core's layers.
 * @param {readonly Cut[]} cuts
 * @param {number} numLayers
 * @param {string} [path] path of the encoder, with a dot at the end
 */
export const knockOutOf = (cuts, numLayers, path = '') =>
  cuts.flatMap(({ layer, head, query, key }) =>
    (layer === null ? Array.from({ length: numLayers }, (_, l) => l) : [layer]).map((l) => ({
      ...{ attention: `${path}layers.${l}.self_attn`, head: head ?? undefined, query, key },
    })),
  );
