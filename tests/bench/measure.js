// Times contestants alternately, in Node and in the browser. In each of several rounds, all
// contestants for the same workload run one short batch after another. A disturbance of the machine
// then affects all of them, and the best times are from the same minute.

/**
 * A contestant: attn, a peer, or a bare loop of the machine.
 * @typedef {object} Contestant
 * @property {string} name
 * @property {(repeats: number) => number | Promise<number>} run does the work `repeats` times and
 *   returns the time in seconds
 *
 * @typedef {object} Pace
 * @property {number} rounds
 * @property {number} batchSeconds  time of one contestant in one round; at least one call
 * @property {number} sampleSeconds  shorter calls are timed in groups
 * @property {number} [warmUpSeconds]  time of each contestant's first calls, which are not timed
 * @property {() => Promise<unknown>} settle  waits until the previous contestant's threads are idle
 *
 * @typedef {object} Times  times of one call, in seconds
 * @property {number} best
 * @property {number} median
 * @property {number} samples
 */

/** A call that takes longer than `kLongSeconds` is timed only in the first `kLongRounds` rounds. */
const kLongSeconds = 1;
const kLongRounds = 3;

/**
 * @param {readonly Contestant[]} contestants
 * @param {Pace} pace
 * @returns {Promise<Record<string, Times>>}
 */
export async function takeTurns(contestants, pace) {
  const { rounds, batchSeconds, sampleSeconds, warmUpSeconds = 0, settle } = pace;
  const entries = [];
  for (const { name, run } of contestants) {
    await settle();
    const warm = performance.now() + 1000 * warmUpSeconds;
    do {
      await run(1);
    } while (performance.now() < warm);
    let repeats = 1;
    let seconds = await run(repeats);
    while (seconds < sampleSeconds) {
      const wanted = (1.2 * sampleSeconds) / Math.max(seconds / repeats, 1e-9);
      repeats = Math.ceil(Math.min(wanted, 10 * repeats));
      seconds = await run(repeats);
    }
    const batch = Math.max(1, Math.round(batchSeconds / seconds));
    entries.push({ name, run, repeats, batch, times: /** @type {number[]} */ ([]) });
  }
  for (let round = 0; round < rounds; ++round) {
    // The order alternates, so that no contestant always runs after the same contestant.
    const order = round % 2 === 0 ? entries : entries.toReversed();
    for (const { run, repeats, batch, times } of order) {
      if (round >= kLongRounds && times[0] > kLongSeconds) continue;
      await settle();
      // The processor's caches still contain another contestant's data, so the first sample of a
      // short call is not timed.
      if (batch > 1) await run(repeats);
      for (let i = 0; i < batch; ++i) times.push((await run(repeats)) / repeats);
    }
  }
  return Object.fromEntries(entries.map(({ name, times }) => [name, summary(times)]));
}

/**
 * @param {number[]} times
 * @returns {Times}
 */
function summary(times) {
  const sorted = times.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const median =
    sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
  return { best: sorted[0], median, samples: sorted.length };
}

/**
 * Reproducible normally distributed numbers, generated in pairs by the Box-Muller method.
 * @param {Float32Array} array
 * @param {number} seed
 * @param {number} [deviation]
 */
export function fillNormal(array, seed, deviation = 1) {
  let state = seed >>> 0;
  // A linear congruential generator with permuted output (PCG, M. E. O'Neill 2014, in 32 bits).
  const uniform = () => {
    state = (Math.imul(state, 747796405) + 2891336453) >>> 0;
    let word = Math.imul((state >>> ((state >>> 28) + 4)) ^ state, 277803737) >>> 0;
    word = ((word >>> 22) ^ word) >>> 0;
    return (word + 0.5) / 2 ** 32;
  };
  for (let i = 0; i < array.length; i += 2) {
    const radius = deviation * Math.sqrt(-2 * Math.log(uniform()));
    const angle = 2 * Math.PI * uniform();
    array[i] = radius * Math.cos(angle);
    if (i + 1 < array.length) array[i + 1] = radius * Math.sin(angle);
  }
  return array;
}

/**
 * @param {ArrayLike<number>} a
 * @param {ArrayLike<number>} b
 */
export function maxAbsDifference(a, b) {
  if (a.length !== b.length) return NaN;
  let largest = 0;
  for (let i = 0; i < a.length; ++i) {
    const difference = Math.abs(a[i] - b[i]);
    if (Number.isNaN(difference)) return NaN;
    largest = Math.max(largest, difference);
  }
  return largest;
}

/**
 * One row of softmax(q·kᵀ/√D)·v in double precision.
 * @param {import('./works.js').AttentionShape} shape
 * @param {Float32Array} q
 * @param {Float32Array} k
 * @param {Float32Array} v
 * @param {number} row  index of the row among all B·H·Nq rows
 */
export function attentionRow(shape, q, k, v, row) {
  const { heads, queries, keys, dim, causal, window, kvHeads = heads } = shape;
  const i = row % queries;
  // Each key head serves heads / kvHeads query heads.
  const first = Math.floor(row / queries / (heads / kvHeads)) * keys;
  const begin = window ? Math.max(0, i - window + 1) : 0;
  const end = causal || window ? Math.min(keys, i + 1) : keys;
  const scores = new Float64Array(end - begin);
  for (let j = begin; j < end; ++j) {
    let sum = 0;
    for (let d = 0; d < dim; ++d) sum += q[row * dim + d] * k[(first + j) * dim + d];
    scores[j - begin] = sum / Math.sqrt(dim);
  }
  const largest = scores.reduce((a, b) => Math.max(a, b), -Infinity);
  const result = new Float64Array(dim);
  let total = 0;
  for (let j = begin; j < end; ++j) {
    const weight = Math.exp(scores[j - begin] - largest);
    total += weight;
    for (let d = 0; d < dim; ++d) result[d] += weight * v[(first + j) * dim + d];
  }
  return result.map((sum) => sum / total);
}
