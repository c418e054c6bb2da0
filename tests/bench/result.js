// Converts times to rates, shares, ratios and verdicts.

import {
  causalName,
  kCausalLength,
  kSquareLengths,
  kWindow,
  kWindowLengths,
  oneHeadName,
  windowName,
} from './works.js';

/** @import { Times } from './measure.js' */
/** @import { Target, Work } from './works.js' */

/**
 * @typedef {object} Verdict
 * @property {string} target
 * @property {number} measured
 * @property {boolean} isMet
 *
 * @typedef {object} MeasuredRow
 * @property {'native' | 'browser'} half
 * @property {string} work
 * @property {string} variant  attn's instruction set or WebAssembly variant
 * @property {number} threads
 * @property {Times} attn
 * @property {number} rate  rate of attn's best time
 * @property {'GFLOP/s' | 'GB/s'} unit
 * @property {Record<string, Times>} peers
 * @property {Record<string, string>} failed  peers that failed, with the reasons
 * @property {string} [note]  why a peer is missing
 * @property {string} [bestPeer]
 * @property {number} [ratio]  the best peer's best time ÷ attn's best time
 * @property {number} [medianRatio]  the ratio of the median times
 * @property {number} [gain]  attn's best time in float32 ÷ its best time in fewer bytes
 * @property {number} [machineRate] rate of the machine's bare loop, measured alternately with the
 *   contestants
 * @property {number} [share]  share of `machineRate` that attn reaches
 * @property {number} [difference]  the largest difference between results
 * @property {Record<string, number>} [parts]  share of attn's time for each part of the workload
 * @property {Verdict[]} verdicts
 *
 * @typedef {object} DerivedRow
 * @property {'native' | 'browser'} half
 * @property {string} name
 * @property {string} variant
 * @property {number} [threads]  number of threads, where it matters
 * @property {string} measured
 * @property {Verdict[]} verdicts
 */

/**
 * @param {object} measured
 * @param {'native' | 'browser'} measured.half
 * @param {Work} measured.work
 * @param {string} measured.variant
 * @param {number} measured.threads
 * @param {Record<string, Times>} measured.times  by name: `attn`; `float32` (attn in
 *   float32), if the workload uses another type; `machine` (the bare loop); parts of the workload;
 *   and the peers
 * @param {readonly string[]} [measured.parts]  names of the parts
 * @param {Record<string, string>} [measured.failed]
 * @param {string} [measured.note]
 * @param {number} [measured.difference]
 * @param {{ amount: number }} [measured.machine]  amount of work in one call of the bare loop
 * @returns {MeasuredRow}
 */
export function judge({ half, work, variant, threads, times, machine, ...more }) {
  const { failed = {}, parts = [], difference, note } = more;
  const { attn, machine: machineTimes, float32, ...others } = times;
  const peers = Object.fromEntries(
    Object.entries(others).filter(([name]) => !parts.includes(name)),
  );
  const perSecond = (/** @type {number} */ amount, /** @type {Times} */ { best }) =>
    amount / best / 1e9;
  const rate = perSecond(work.amount, attn);
  /** @type {MeasuredRow} */
  const row = {
    half,
    work: work.name,
    variant,
    threads,
    attn,
    rate,
    unit: work.unit,
    peers,
    failed,
    ...(difference !== undefined && { difference }),
    ...(note !== undefined && { note }),
    ...(parts.length > 0 && {
      parts: Object.fromEntries(parts.map((name) => [name, others[name].best / attn.best])),
    }),
    verdicts: [],
  };
  const names = Object.keys(peers);
  if (names.length > 0) {
    row.bestPeer = names.reduce((a, b) => (peers[a].best <= peers[b].best ? a : b));
    row.ratio = peers[row.bestPeer].best / attn.best;
    row.medianRatio = Math.min(...names.map((name) => peers[name].median)) / attn.median;
  }
  if (float32) row.gain = float32.best / attn.best;
  if (machine && machineTimes) {
    row.machineRate = perSecond(machine.amount, machineTimes);
    row.share = rate / row.machineRate;
  }
  row.verdicts = (work.targets ?? []).flatMap((target) => verdict(row, target));
  return row;
}

/**
 * @param {MeasuredRow} row
 * @param {Target} target
 * @returns {Verdict[]}  empty if there was nothing to compare with
 */
function verdict({ attn, ratio, share, gain, variant }, { measure, least, most, kernels }) {
  if (kernels && !kernels.includes(variant)) return [];
  const measured = {
    ratio,
    gain,
    share,
    time: attn.best,
    timesRoof: share === undefined ? undefined : 1 / share,
  }[measure];
  if (measured === undefined) return [];
  const show = {
    ratio: (/** @type {number} */ x) => `${x} ×`,
    gain: (/** @type {number} */ x) => `${x} × float32`,
    share: (/** @type {number} */ x) => `${Math.round(100 * x)} % of the machine`,
    time: (/** @type {number} */ x) => `${+(1e6 * x).toPrecision(3)} µs`,
    timesRoof: (/** @type {number} */ x) => `${x} × the fill`,
  }[measure];
  return [bound(measured, { least, most }, show)];
}

/**
 * @param {number} measured
 * @param {{ least?: number, most?: number }} bounds
 * @param {(x: number) => string} show
 * @returns {Verdict}
 */
function bound(measured, { least, most }, show) {
  return {
    target: least !== undefined ? `≥ ${show(least)}` : `≤ ${show(/** @type {number} */ (most))}`,
    measured,
    isMet: measured >= (least ?? -Infinity) && measured <= (most ?? Infinity),
  };
}

const times = (/** @type {number} */ x) => `${x} ×`;

const kScalingTarget = 1.85;
/**
 * The target is lower for a training step, because memory limits the speed of some of its parts.
 */
const kStepScalingTarget = 1.8;
const kCausalTarget = 1.8;
/**
 * Length at which attn has no peer in the browser, because ONNX Runtime Web fails. attn's speed is
 * therefore compared with attn's speed on another workload.
 */
const kLongHead = 4096;
const kComparedWithLongHead = 'attention (1,8,2048), D 64';
const kLongHeadTarget = 0.95;
const kFlatness = 1.1;
/** Factor by which time ÷ N may vary if the window has a constant width. */
const kWindowGrowth = 1.15;

/**
 * Computes ratios between rows, such as the time per N² for different lengths.
 * @param {readonly MeasuredRow[]} rows
 * @returns {DerivedRow[]}
 */
export function derive(rows) {
  /** @type {DerivedRow[]} */
  const derived = [];
  const keyOf = (/** @type {MeasuredRow} */ { half, variant, threads }) =>
    `${half} ${variant} ${threads}`;
  for (const key of new Set(rows.map(keyOf))) {
    const group = rows.filter((row) => keyOf(row) === key);
    const { half, variant, threads } = group[0];
    const find = (/** @type {string} */ name) => group.find(({ work }) => work === name)?.attn.best;
    /** @param {string} name @param {string} measured @param {Verdict[]} verdicts */
    const add = (name, measured, ...verdicts) =>
      derived.push({ half, name, variant, threads, measured, verdicts });
    const isNative = half === 'native';

    const full = find(`attention (1,8,${kCausalLength}), D 64`);
    const causal = find(causalName(kCausalLength));
    if (full && causal) {
      const gain = full / causal;
      const name = `causal against not causal, N ${kCausalLength}`;
      const verdict = bound(gain, { least: kCausalTarget }, times);
      add(name, `${gain.toFixed(2)} ×`, ...(isNative ? [verdict] : []));
    }
    const squares = spread(kSquareLengths, (keys) => find(oneHeadName(keys)), 2);
    if (squares) {
      const name = `time per N², N ${squares.from} to ${squares.to}`;
      const measured = `${squares.spread.toFixed(2)} × from smallest to largest`;
      add(name, measured, bound(squares.spread, { most: kFlatness }, times));
    }
    const [long, short] = [oneHeadName(kLongHead), kComparedWithLongHead].map((name) =>
      group.find(({ work }) => work === name),
    );
    if (long && short && !isNative) {
      const part = long.rate / short.rate;
      const name = `speed of ${long.work} against ${short.work}`;
      add(name, `${part.toFixed(2)} ×`, bound(part, { least: kLongHeadTarget }, times));
    }
    const windows = spread(kWindowLengths, (keys) => find(windowName(keys)), 1);
    if (windows) {
      const name = `window ${kWindow}: time per N, N ${windows.from} to ${windows.to}`;
      const measured = `${windows.spread.toFixed(2)} × from smallest to largest`;
      add(name, measured, bound(windows.spread, { most: kWindowGrowth }, times));
    }
  }
  const parts = rows.flatMap(({ half, work, variant, threads, parts = {} }) =>
    Object.entries(parts).map(([name, share]) => ({
      ...{ half, name: `${name} part of ${work}`, variant, threads },
      measured: `${(100 * share).toFixed(0)} % of the time`,
      verdicts: [],
    })),
  );
  const gains = rows.flatMap(({ half, work, variant, threads, gain }) =>
    gain === undefined
      ? []
      : [
          {
            ...{ half, name: `against float32: ${work}`, variant, threads },
            measured: `${gain.toFixed(2)} ×`,
            verdicts: [],
          },
        ],
  );
  return [...derived, ...scaling(rows), ...gains, ...parts];
}

/**
 * Computes time ÷ N^power for each measured length N, and divides the largest result by the
 * smallest. Undefined if fewer than two lengths were measured.
 * @param {readonly number[]} lengths
 * @param {(length: number) => number | undefined} timeOf
 * @param {number} power
 */
function spread(lengths, timeOf, power) {
  const there = lengths.filter((length) => timeOf(length) !== undefined);
  if (there.length < 2) return undefined;
  const perUnit = there.map((length) => (timeOf(length) ?? NaN) / length ** power);
  return {
    from: there[0],
    to: /** @type {number} */ (there.at(-1)),
    spread: Math.max(...perUnit) / Math.min(...perUnit),
  };
}

/** The native instruction set whose registers have the same width as WebAssembly's registers. */
export const kWasmPeer = 'sse4_1';
const kMostOfNative = 2.5;

/**
 * Compares training steps in the browser with native training steps, if both were measured.
 * @param {readonly MeasuredRow[]} rows
 * @returns {DerivedRow[]}
 */
export function besideNative(rows) {
  const native = rows.filter(({ half, variant }) => half === 'native' && variant === kWasmPeer);
  return rows.flatMap(({ half, work, variant, threads, attn }) => {
    const own = native.find((row) => row.work === work && row.threads === threads);
    if (half !== 'browser' || !work.startsWith('training step') || !own) return [];
    const factor = attn.best / own.attn.best;
    return [
      {
        ...{ half, name: `${work}: time relative to native ${kWasmPeer}`, variant, threads },
        measured: `${factor.toFixed(2)} ×`,
        verdicts: [bound(factor, { most: kMostOfNative }, times)],
      },
    ];
  });
}

const leastScaling = (/** @type {string} */ work) =>
  work.startsWith('training step') ? kStepScalingTarget : kScalingTarget;

/**
 * Compares the speed of two threads with the speed of one thread, for workloads that are long
 * enough to be divided among threads.
 * @param {readonly MeasuredRow[]} rows
 * @returns {DerivedRow[]}
 */
function scaling(rows) {
  const isShared = (/** @type {MeasuredRow} */ { work, unit }) =>
    unit === 'GFLOP/s' && !/^tiny|,128\)/.test(work);
  return rows
    .filter((row) => row.threads === 2 && isShared(row))
    .flatMap((two) => {
      // In the browser, the variants with and without threads are different programs. Natively, a
      // variant is compared with itself on one thread.
      const one = rows.find(
        ({ half, work, threads, variant }) =>
          half === two.half &&
          work === two.work &&
          threads === 1 &&
          variant.replace(/-threads$/, '') === two.variant.replace(/-threads$/, ''),
      );
      if (!one) return [];
      const gain = one.attn.best / two.attn.best;
      return [
        {
          half: two.half,
          name: `two threads against one: ${two.work}`,
          variant: two.variant,
          threads: 2,
          measured: `${gain.toFixed(2)} ×`,
          verdicts: [bound(gain, { least: leastScaling(two.work) }, times)],
        },
      ];
    });
}
