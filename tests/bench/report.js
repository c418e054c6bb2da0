// Formats the results as tables for the terminal and for a Markdown file.

import { cpus, totalmem } from 'node:os';

/** @import { DerivedRow, MeasuredRow } from './result.js' */

/**
 * @typedef {object} Machine
 * @property {string} date
 * @property {string} processor
 * @property {number} cores
 * @property {string} memory
 * @property {string} system
 *
 * @typedef {object} Peak  a bare loop measured alone
 * @property {string} name
 * @property {number} threads
 * @property {number} rate
 * @property {string} unit
 *
 * @typedef {object} Results
 * @property {Machine} machine
 * @property {Record<string, string>} versions
 * @property {boolean} isQuick
 * @property {Peak[]} peaks
 * @property {MeasuredRow[]} rows
 * @property {DerivedRow[]} derived
 */

/** @returns {Machine} */
export function describeMachine() {
  const all = cpus();
  return {
    date: new Date().toISOString().slice(0, 10),
    processor: all[0]?.model.trim() ?? process.arch,
    cores: all.length,
    memory: `${Math.round(totalmem() / 2 ** 30)} GB`,
    system: `${process.platform} ${process.arch}, Node ${process.versions.node}`,
  };
}

/** @param {number} seconds */
export function duration(seconds) {
  if (seconds < 1e-4) return `${(1e6 * seconds).toPrecision(3)} µs`;
  if (seconds < 1) return `${(1e3 * seconds).toPrecision(3)} ms`;
  return `${seconds.toPrecision(3)} s`;
}

/** @param {readonly MeasuredRow[]} rows */
export const failureLines = (rows) => [
  ...new Set(
    rows.flatMap(({ work, failed }) =>
      Object.entries(failed).map(([name, why]) => `${work}: ${name} fails: ${why}`),
    ),
  ),
];

const percent = (/** @type {number} */ x) => `${(100 * x).toFixed(0)} %`;

const kHeading = [
  ...['work', 'kernels', 'threads', 'best', 'median', 'speed', 'of machine'],
  ...['best peer', 'its best', 'ratio (medians)', 'differ by'],
];
const kWidths = [48, 20, 7, 8, 8, 13, 10, 40, 8, 15, 0];

/** @param {MeasuredRow} row */
function cells({ work, variant, threads, attn, rate, unit, ...row }) {
  const peer = row.bestPeer;
  const failed = Object.keys(row.failed);
  return [
    ...[work, variant, String(threads), duration(attn.best), duration(attn.median)],
    `${rate.toPrecision(4)} ${unit}`,
    row.share === undefined ? '–' : percent(row.share),
    peer ?? (failed.length > 0 ? 'all fail' : (row.note ?? '–')),
    peer ? duration(row.peers[peer].best) : '–',
    row.ratio === undefined
      ? '–'
      : `${row.ratio.toFixed(2)} × (${(row.medianRatio ?? NaN).toFixed(2)})`,
    row.difference === undefined ? '–' : row.difference.toExponential(0),
  ];
}

/** @param {string[]} texts */
const line = (texts) =>
  texts
    .map((text, i) => text.padEnd(kWidths[i]))
    .join('  ')
    .trimEnd();

export const headingLine = () => line(kHeading);

/** @param {MeasuredRow} row */
export const rowLine = (row) => line(cells(row));

/** @param {number | undefined} threads */
const threadsText = (threads) =>
  threads === undefined ? '' : `${threads} thread${threads === 1 ? '' : 's'}`;

/** @param {DerivedRow} row */
export const derivedLine = ({ name, variant, threads, measured }) =>
  `${name} (${[variant, threadsText(threads)].filter(Boolean).join(', ')}): ${measured}`;

/** @param {Peak} peak */
export const peakLine = ({ name, threads, rate, unit }) =>
  `${name.padEnd(40)} ${String(threads).padStart(2)} thread${threads === 1 ? ' ' : 's'} ${rate.toFixed(1).padStart(8)} ${unit}`;

/** @param {Results} results */
export function markdown(results) {
  const { machine, versions, isQuick, peaks, rows, derived } = results;
  const table = (/** @type {string[]} */ heading, /** @type {string[][]} */ body) =>
    [heading, heading.map(() => '---'), ...body].map((row) => `| ${row.join(' | ')} |`).join('\n');
  const parts = [
    `${machine.date}, ${machine.processor}, ${machine.cores} cores, ${machine.memory}; ${machine.system}; ` +
      `${Object.entries(versions)
        .map(([name, version]) => `${name} ${version}`)
        .join(', ')}${isQuick ? '; a quick run' : ''}.`,
  ];
  if (peaks.length > 0) {
    const body = peaks.map(({ name, threads, rate, unit }) => [
      ...[name, String(threads), `${rate.toFixed(1)} ${unit}`],
    ]);
    parts.push(table(['the machine itself', 'threads', 'speed'], body));
  }
  for (const half of /** @type {const} */ (['native', 'browser'])) {
    const own = rows.filter((row) => row.half === half);
    if (own.length > 0) parts.push(`### ${half === 'native' ? 'Native' : 'In the browser'}`);
    if (own.length > 0) parts.push(table(kHeading, own.map(cells)));
    const body = derived
      .filter((row) => row.half === half)
      .map(({ name, variant, threads, measured }) => [
        ...[name, variant, String(threads ?? '–'), measured],
      ]);
    if (body.length > 0) parts.push(table(['', 'kernels', 'threads', 'measured'], body));
    const failures = failureLines(own);
    if (failures.length > 0) parts.push(failures.map((line) => `- ${line}`).join('\n'));
  }
  return `${parts.join('\n\n')}\n`;
}
