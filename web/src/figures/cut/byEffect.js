/**
 * Sorts changes by their magnitude, the largest first. Changes that are not numbers come last.
 * @template {{ change: number }} T
 * @param {readonly T[]} changes
 */
export const byEffect = (changes) =>
  changes.toSorted((a, b) => (Math.abs(b.change) || 0) - (Math.abs(a.change) || 0));
