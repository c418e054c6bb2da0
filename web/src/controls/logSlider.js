/**
 * A logarithmic slider. Values are rounded to two significant digits, and to whole numbers if the
 * minimum is whole. If the range starts at 0, the slider's first step goes from 0 to 1.
 * @param {{ min: number, max: number }} range
 * @param {number} [step] step of the decimal logarithm
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
    // Steps are counted from the minimum, so that a round minimum leads to round values.
    min: min > 0 ? Math.floor(least * 100) / 100 : least,
    max: Math.log10(max),
    step,
    at,
    from,
  };
}

/**
 * Finds the nearest different value on one side, however many steps away.
 * @param {{ min: number, max: number, step: number, at: (value: number) => number,
 *   from: (place: number) => number }} scale
 * @param {number} value
 * @param {1 | -1} side
 */
export function neighbour({ min, max, step, at, from }, value, side) {
  // Only whole steps, so that the keys reach the same values as the pointer. The tolerance makes up
  // for rounding.
  const start = (at(value) - min) / step;
  let steps = side > 0 ? Math.floor(start + 1e-6) : Math.ceil(start - 1e-6);
  let place;
  do {
    steps += side;
    place = Math.min(max, Math.max(min, min + steps * step));
  } while (from(place) === value && place > min && place < max);
  return from(place);
}
