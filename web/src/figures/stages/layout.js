/** Space between panels in a window of medium width, in CSS pixels. */
export const gap = 18;

/**
 * Sizes of the panels, in CSS pixels. Every panel has one row per token of its text. In a window of
 * medium
 * width, each line of panels is as wide as the figure.
 * @param {number} available the width of the figure
 * @param {number} length number of tokens
 * @param {boolean} capped whether there is a panel of capped scores
 * @param {number} [keys] number of keys
 */
export function layOut(available, length, capped, keys = length) {
  const wide = available >= 1000;
  const medium = !wide && available >= 640;
  const side = wide
    ? Math.min(176, (available - 690 - (capped ? 15 : 0)) / (capped ? 5 : 4))
    : medium
      ? Math.min(150, (available - 76 - 3 * gap) / 4 - 1)
      : Math.min(150, (available - 40) / 2);
  const rowHeight = Math.min(wide ? 26 : 18, side / Math.max(1, length, keys));
  const keyHeight = rowHeight * keys;
  const named = rowHeight >= 11;
  const gutter = named ? 76 : 0;
  const narrow = wide ? 130 : medium ? Math.floor((available - gutter - 2 * gap) / 3) - 1 : side;
  const broad = wide ? 220 : Math.max(40, available - gutter);
  const head = medium ? side : narrow;
  const first = wide ? Math.min(560, available - 580) : broad;
  return {
    ...{ wide, medium, height: rowHeight * length, gutter },
    /** Height of the panels with a row for each key. */
    keyHeight,
    /** Width of each panel. The cells of scores and weights are squares. */
    widths: {
      ...{ x: first, memory: first, q: narrow, k: narrow, v: narrow },
      ...{
        scores: keyHeight,
        scaled: keyHeight,
        capped: keyHeight,
        masked: keyHeight,
        weights: keyHeight,
      },
      ...{ head, output: medium ? broad - head - gap - 2 : broad },
    },
    /** Panels with the names of tokens on their left. @type {string[]} */
    named: named
      ? ['x', 'memory', ...(wide || medium ? ['scores'] : []), ...(medium ? ['q', 'head'] : [])]
      : [],
  };
}
