/**
 * How long to time a call.
 * @typedef {object} Pace
 * @property {number} seconds  rough total for one size
 * @property {number} sample shortest time between two readings of the clock, in seconds: browsers
 *   round their clocks to 0.1 ms, and some to 1 ms. Shorter samples allow more samples in the same
 *   time, so it is more likely that one of them is undisturbed.
 * @property {number} longest longest duration of a call, in seconds; longer calls are skipped
 */

/** @type {Pace} */
export const defaultPace = { seconds: 0.2, sample: 0.005, longest: 2 };

/**
 * @typedef {object} Timing
 * @property {number} seconds duration of a call in the fastest sample, because other load on the
 *   machine can only lengthen a call
 * @property {number} calls  total number of calls
 */

/**
 * Times a call. The first call is a warm-up. Each sample then makes as many calls as the clock's
 * resolution requires. The result is the duration of a call in the fastest sample.
 * @param {() => unknown} call
 * @param {Pace} pace
 * @param {() => number} [now]  milliseconds
 * @returns {Timing}
 */
export function timeCall(call, pace, now = () => performance.now()) {
  const timed = (/** @type {number} */ calls) => {
    const start = now();
    for (let i = 0; i < calls; i++) call();
    return (now() - start) / 1000;
  };
  call();
  let inSample = 1;
  let calls = 1;
  let spent = 0;
  let fastest = Infinity;
  while (spent < pace.seconds || fastest === Infinity) {
    const sample = timed(inSample);
    calls += inSample;
    spent += sample;
    const isLong = sample >= pace.sample;
    // Count a sample that is too short only if no earlier sample counted and the time is up.
    if (isLong || (fastest === Infinity && sample > 0 && spent >= pace.seconds)) {
      fastest = Math.min(fastest, sample / inSample);
    }
    // If an interruption lengthens a sample with too few calls, the sample can seem long enough.
    // The next sample is then too short, and the number of calls grows.
    if (!isLong) {
      inSample = sample > 0 ? Math.ceil((1.2 * inSample * pace.sample) / sample) : 8 * inSample;
    }
  }
  return { seconds: fastest, calls };
}

/**
 * Predicts whether the next size would take too long. Extrapolates the last measured time, assuming
 * that the time grows like length^`power`.
 * @param {{ length: number, seconds: number }[]} measured
 * @param {number} next
 * @param {number} power
 * @param {Pace} pace
 */
export function isTooLong(measured, next, power, pace) {
  const last = measured.at(-1);
  if (!last) return false;
  return last.seconds * (next / last.length) ** power > pace.longest;
}
