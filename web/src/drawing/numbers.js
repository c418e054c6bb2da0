/** Uses a real minus sign, as the D3 formats do. @param {string} text */
const typeset = (text) => text.replace(/-/g, '−').replace('Infinity', '∞');

/**
 * Formats a float32 with all its digits. Nine significant digits distinguish any two values.
 * @param {number} value
 */
export function exact(value) {
  if (value === 0) return '0';
  const text = value.toPrecision(9);
  return typeset(/^[^e]*\.[^e]*$/.test(text) ? text.replace(/\.?0+$/, '') : text);
}

/**
 * Formats a number with four significant digits, or with more if its integer part is longer.
 * @param {number} value
 */
export function readable(value) {
  const digits = Math.abs(value) < 1000 ? 4 : Math.min(15, String(Math.trunc(value)).length);
  return value === 0 ? '0' : typeset(String(Number(value.toPrecision(digits))));
}

/** Formats a number with a few digits, for a label. @param {number} value */
export function brief(value) {
  return value === 0 ? '0' : typeset(String(Number(value.toPrecision(3))));
}

const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });

/** Formats a count with thousands separators. */
export const count = (/** @type {number} */ value) => typeset(whole.format(value));

/** Formats any number with thousands separators and at most three decimals. */
export const { format: written } = new Intl.NumberFormat('en');

/** Formats a magnitude for a narrow label: 35, 3.5k, 628k. */
export function compact(/** @type {number} */ value) {
  if (value < 100) return String(Number(value.toPrecision(2)));
  const [mantissa, power] = value.toExponential(1).split('e').map(Number);
  const thousands = Math.floor(power / 3);
  return `${Number(`${mantissa}e${power % 3}`)}${['', ...'kMGTPEZY'][thousands]}`;
}

/**
 * Splits a number into a mantissa and a power of ten.
 * @param {number} value
 * @returns {{ mantissa: string, exponent: string | null }}
 */
export function scientific(value) {
  const magnitude = Math.abs(value);
  if (value === 0 || (magnitude >= 0.001 && magnitude < 1000)) {
    return { mantissa: value === 0 ? '0' : typeset(value.toPrecision(3)), exponent: null };
  }
  const [mantissa, exponent] = value.toExponential(1).split('e');
  return { mantissa: typeset(mantissa), exponent: typeset(String(Number(exponent))) };
}

/** Writes a number for use in a sentence. @param {number} value */
export function inWords(value) {
  const { mantissa, exponent } = scientific(value);
  return exponent === null ? mantissa : `${mantissa} · 10^${exponent}`;
}

/** Formats a time for a label, in a suitable unit. @param {number} milliseconds */
export function duration(milliseconds) {
  if (milliseconds >= 1000) return `${(milliseconds / 1000).toPrecision(3)} s`;
  if (milliseconds >= 0.1) return `${Number(milliseconds.toPrecision(2))} ms`;
  return '< 0.1 ms';
}

/**
 * Formats a number with the given number of decimals.
 * @param {number} value
 * @param {number} digits
 */
export const decimals = (value, digits) => typeset(value.toFixed(digits));

/** Formats a magnitude with two decimals. A small magnitude does not become 0. */
export const magnitude = (/** @type {number} */ value) =>
  value < 0.01 ? '< 0.01' : decimals(value, 2);

/** Formats a change with its sign and two decimals. A change that rounds to 0 has no sign. */
export const signed = (/** @type {number} */ change) => {
  if (Math.abs(change) < 0.005) return '0.00';
  return `${change > 0 ? '+' : ''}${decimals(change, 2)}`;
};

/** Uses the singular after the number one: `1 tokens` becomes `1 token`. @param {string} text */
export const counted = (text) =>
  text
    .replace(/(?<![\d.,−])\b1 queries\b/g, '1 query')
    .replace(
      /(?<![\d.,−])\b1 ((?:sequential )?(?:token|word|key|row|column|position|number|step|head|layer|point|pair|multiply-add))s\b/g,
      '1 $1',
    );

/** Formats a fraction as a percentage. @param {number} share */
export const percent = (share) =>
  Number.isNaN(share)
    ? 'NaN'
    : share >= 0.0995
      ? `${Math.round(100 * share)}\u00a0%`
      : share >= 0.001
        ? `${(100 * share).toFixed(1)}\u00a0%`
        : '< 0.1\u00a0%';

/** Formats a fraction as a percentage without decimals. @param {number} share */
export const wholePercent = (share) => `${Math.round(100 * share)} %`;
