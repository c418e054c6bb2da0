/**
 * How long a call is timed.
 * @typedef {object} Pace
 * @property {number} seconds  spent on one size, roughly
 * @property {number} sample  shortest time between two readings of the clock, in seconds: browsers
 *   round their clocks to 0.1 ms, and some to 1 ms. The shorter the samples, the more there are, and
 *   the likelier it is that one of them runs undisturbed.
 * @property {number} longest  seconds; a call that would take longer is not made
 */

/** @type {Pace} */
export const defaultPace = { seconds: 0.2, sample: 0.005, longest: 2 };

/**
 * @typedef {object} Timing
 * @property {number} seconds  of one call, in the fastest sample: what else the machine does can only
 *   add to it
 * @property {number} calls  all that were made
 */

/**
 * Times a call. The first one warms up; a sample then holds as many calls as the clock asks for, and
 * the fastest sample counts.
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
    // One that is too short counts only if there is no other, and no time left for one.
    if (isLong || (fastest === Infinity && sample > 0 && spent >= pace.seconds)) {
      fastest = Math.min(fastest, sample / inSample);
    }
    // A sample that was held up has been long with too few calls: the next one tells.
    if (!isLong) {
      inSample = sample > 0 ? Math.ceil((1.2 * inSample * pace.sample) / sample) : 8 * inSample;
    }
  }
  return { seconds: fastest, calls };
}

/**
 * Whether the next size would take too long, judged by the last one and the power that the work grows
 * with.
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
