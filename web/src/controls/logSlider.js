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
  const at = (/** @type {number} */ value) => (value > 0 ? Math.log10(value) : least);
  const from = (/** @type {number} */ place) =>
    place < least / 2 && min === 0
      ? 0
      : Math.min(max, Math.max(min, whole(Number((10 ** place).toPrecision(2)))));
  return {
    // Steps are counted from the least value: from a round one they meet round numbers.
    min: min > 0 ? Math.floor(least * 100) / 100 : least,
    max: Math.log10(max),
    step,
    at,
    from,
  };
}

/**
 * The nearest other value on one side, as many steps away as it takes.
 * @param {{ min: number, max: number, step: number, at: (value: number) => number,
 *   from: (place: number) => number }} scale
 * @param {number} value
 * @param {1 | -1} side
 */
export function beside({ min, max, step, at, from }, value, side) {
  let place = at(value);
  do place = Math.min(max, Math.max(min, place + side * step));
  while (from(place) === value && place > min && place < max);
  return from(place);
}
