// Converts times to rates, shares and ratios.

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
/** @import { Work } from './works.js' */

/**
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
 *
 * @typedef {object} DerivedRow
 * @property {'native' | 'browser'} half
 * @property {string} name
 * @property {string} variant
 * @property {number} [threads]  number of threads, where it matters
 * @property {string} measured
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
  return row;
}

const times = (/** @type {number} */ x) => `${x.toFixed(2)} ×`;

/**
 * Length at which attn has no peer in the browser, because ONNX Runtime Web fails. attn's speed is
 * therefore compared with attn's speed on another workload.
 */
const kLongHead = 4096;
const kComparedWithLongHead = 'attention (1,8,2048), D 64';

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
    const add = (/** @type {string} */ name, /** @type {string} */ measured) =>
      derived.push({ half, name, variant, threads, measured });

    const full = find(`attention (1,8,${kCausalLength}), D 64`);
    const causal = find(causalName(kCausalLength));
    if (full && causal) {
      add(`causal against not causal, N ${kCausalLength}`, times(full / causal));
    }
    const squares = spread(kSquareLengths, (keys) => find(oneHeadName(keys)), 2);
    if (squares) {
      const name = `time per N², N ${squares.from} to ${squares.to}`;
      add(name, `${times(squares.spread)} from smallest to largest`);
    }
    const [long, short] = [oneHeadName(kLongHead), kComparedWithLongHead].map((name) =>
      group.find(({ work }) => work === name),
    );
    if (long && short && half === 'browser') {
      add(`speed of ${long.work} against ${short.work}`, times(long.rate / short.rate));
    }
    const windows = spread(kWindowLengths, (keys) => find(windowName(keys)), 1);
    if (windows) {
      const name = `window ${kWindow}: time per N, N ${windows.from} to ${windows.to}`;
      add(name, `${times(windows.spread)} from smallest to largest`);
    }
  }
  const parts = rows.flatMap(({ half, work, variant, threads, parts = {} }) =>
    Object.entries(parts).map(([name, share]) => ({
      ...{ half, name: `${name} part of ${work}`, variant, threads },
      measured: `${(100 * share).toFixed(0)} % of the time`,
    })),
  );
  const gains = rows.flatMap(({ half, work, variant, threads, gain }) =>
    gain === undefined
      ? []
      : [
          {
            ...{ half, name: `against float32: ${work}`, variant, threads },
            measured: times(gain),
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
        measured: times(factor),
      },
    ];
  });
}

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
          measured: times(gain),
        },
      ];
    });
}
