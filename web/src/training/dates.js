/** Dates in words, and the same dates in digits. */

export const months = [
  ...['january', 'february', 'march', 'april', 'may', 'june', 'july'],
  ...['august', 'september', 'october', 'november', 'december'],
];

export const ordinals = [
  ...[
    'first',
    'second',
    'third',
    'fourth',
    'fifth',
    'sixth',
    'seventh',
    'eighth',
    'ninth',
    'tenth',
  ],
  ...['eleventh', 'twelfth', 'thirteenth', 'fourteenth', 'fifteenth', 'sixteenth', 'seventeenth'],
  ...['eighteenth', 'nineteenth', 'twentieth'],
  ...['first', 'second', 'third', 'fourth', 'fifth', 'sixth', 'seventh', 'eighth', 'ninth'].map(
    (each) => `twenty-${each}`,
  ),
  ...['thirtieth', 'thirty-first'],
];

/** Years in the training data. */
export const years = { first: 1900, count: 200 };

/** @param {number} day */
const suffixOf = (day) =>
  day > 3 && day < 21 ? 'th' : (['th', 'st', 'nd', 'rd'][day % 10] ?? 'th');

/** @typedef {{ year: number, month: number, day: number }} Day month: from 1 */

/**
 * Every spelling of a date in the training data. The longest has 36 characters.
 * @type {readonly ((day: Day) => string)[]}
 */
export const spellings = [
  ({ year, month, day }) => `the ${ordinals[day - 1]} of ${months[month - 1]} ${year}`,
  ({ year, month, day }) => `${day} ${months[month - 1]} ${year}`,
  ({ year, month, day }) => `${months[month - 1]} ${day}${suffixOf(day)}, ${year}`,
  ({ year, month, day }) => `the ${day}${suffixOf(day)} of ${months[month - 1]} ${year}`,
  ({ year, month, day }) => `${months[month - 1].slice(0, 3)} ${day}, ${year}`,
  // 3.5.1999 is ambiguous: it may be in March or in May.
  ({ year, month, day }) =>
    day > 12 ? `${day}.${month}.${year}` : `${day} ${months[month - 1].slice(0, 3)} ${year}`,
];

/** @param {number} year @param {number} month from 1 */
export const daysOf = (year, month) => new Date(Date.UTC(year, month, 0)).getUTCDate();

/** @param {Day} day */
export const inDigits = ({ year, month, day }) =>
  [year, month, day].map((part, i) => `${part}`.padStart(i ? 2 : 4, '0')).join('-');

/**
 * The date that a text names. `null` if the text names no date or is ambiguous.
 * @param {string} text
 * @returns {Day | null}
 */
export function dayIn(text) {
  const numbers = (text.match(/\d+/g) ?? []).map(Number);
  const words = (text.match(/[a-z]+(-[a-z]+)*/g) ?? []).filter((word) => word.length > 2);
  const named = words.flatMap((word) => {
    const month = months.findIndex((each) => each.startsWith(word));
    return month < 0 ? [] : [month + 1];
  });
  const counted = words.flatMap((word) => {
    const day = ordinals.indexOf(word);
    return day < 0 ? [] : [day + 1];
  });
  const year = numbers.find((number) => number > 999);
  const others = [...numbers.filter((number) => number !== year), ...counted];
  const candidates =
    named.length === 1 && others.length === 1
      ? [{ month: named[0], day: others[0] }]
      : named.length === 0 && others.length === 2
        ? year === numbers[0]
          ? [{ month: others[0], day: others[1] }]
          : [0, 1].map((i) => ({ month: others[i], day: others[1 - i] }))
        : [];
  const days = candidates.flatMap(({ month, day }) =>
    year && year < 10_000 && month >= 1 && month <= 12 && day >= 1 && day <= daysOf(year, month)
      ? [{ year, month, day }]
      : [],
  );
  return new Set(days.map(inDigits)).size === 1 ? days[0] : null;
}
