/**
 * A part of a logit. `kind` is 'others' for the sum of several parts.
 * @typedef {{ kind: 'embedding' | 'head' | 'feedForward' | 'bias' | 'others', layer: number, head: number,
 *   value: number }} Part
 */

/**
 * The parts of a logit, in the order in which a model adds them and with the biases last.
 * @param {import('attn').Contributions} contributions
 * @returns {Part[]}
 */
export const partsOf = ({ embedding, layers, bias }) => [
  { kind: 'embedding', layer: 0, head: 0, value: embedding },
  ...layers.flatMap(({ heads, feedForward }, layer) => [
    ...Array.from(heads, (value, head) => ({
      ...{ kind: /** @type {const} */ ('head'), layer, head, value },
    })),
    { kind: /** @type {const} */ ('feedForward'), layer, head: 0, value: feedForward },
  ]),
  { kind: 'bias', layer: 0, head: 0, value: bias },
];

/** The part with the largest magnitude. @param {readonly Part[]} parts at least one */
export const largestPart = (parts) =>
  parts.reduce((a, b) => (Math.abs(b.value) > Math.abs(a.value) ? b : a));

/**
 * The largest parts, in their original order. If parts are left out, the last element of the result
 * is their sum.
 * @param {readonly Part[]} parts
 * @param {number} most
 * @returns {Part[]}
 */
export function largestParts(parts, most) {
  if (parts.length <= most) return [...parts];
  const kept = new Set(
    parts.toSorted((a, b) => Math.abs(b.value) - Math.abs(a.value)).slice(0, most),
  );
  const value = parts.reduce((sum, part) => (kept.has(part) ? sum : sum + part.value), 0);
  const others = /** @type {const} */ ({ kind: 'others', layer: 0, head: 0, value });
  return [...parts.filter((part) => kept.has(part)), others];
}
