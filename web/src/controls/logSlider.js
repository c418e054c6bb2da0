/**
 * A slider on a logarithmic scale whose values are rounded to two digits, as one would write them, and
 * are whole numbers if the least one is.
 * A range that starts at 0 has it one step before 1.
 * @param {{ min: number, max: number }} range
 * @param {number} [step] of the decimal logarithm
 */
export function logSlider({ min, max }, step = 0.05) {
  const whole = Number.isInteger(min) ? Math.round : Number;
  const least = min > 0 ? Math.log10(min) : -step;
  const most = Math.log10(max);
  const at = (/** @type {number} */ value) => (value > 0 ? Math.log10(value) : least);
  const from = (/** @type {number} */ place) =>
    place < least / 2 && min === 0
      ? 0
      : Math.min(max, Math.max(min, whole(Number((10 ** place).toPrecision(2)))));
  return {
    // Steps are counted from the least value: from a round one they meet round numbers.
    min: min > 0 ? Math.floor(least * 100) / 100 : least,
    max: most,
    step,
    at,
    from,
    /**
     * The nearest other value on one side, as many steps away as it takes.
     * @param {number} value
     * @param {1 | -1} side
     */
    beside(value, side) {
      let place = at(value);
      do place += side * step;
      while (from(place) === value && place > least && place < most);
      return from(place);
    },
  };
}
