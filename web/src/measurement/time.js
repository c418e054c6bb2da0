/**
 * How long a call is timed.
 * @typedef {object} Pace
 * @property {number} seconds  spent on one size, roughly
 * @property {number} sample  least length of what the clock is read around, in seconds: browsers
 *   round their clocks to 0.1 ms, and some to 1 ms. Short ones are more: one of them is not disturbed.
 * @property {number} longest  calls that would take longer than this, in seconds, are not made
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
  let sample = timed(1);
  let calls = 2;
  let spent = sample;
  // Below the clock's resolution nothing is known but that more calls are needed.
  while (sample === 0 || (sample < pace.sample && spent < pace.seconds)) {
    inSample = sample > 0 ? Math.ceil((1.2 * inSample * pace.sample) / sample) : 8 * inSample;
    sample = timed(inSample);
    calls += inSample;
    spent += sample;
  }
  let fastest = sample / inSample;
  while (spent < pace.seconds) {
    sample = timed(inSample);
    calls += inSample;
    spent += sample;
    fastest = Math.min(fastest, sample / inSample);
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
