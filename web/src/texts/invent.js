/** @typedef {import('../invention/formula.js').Problem} Problem */

/** Text shown in the card in which readers write a positional encoding of their own. */
export const texts = {
  idea: 'Write a formula, see what it says about positions, and race it against the others.',
  examples: 'start from',
  names: {
    sinusoid: 'the sinusoid itself',
    alibi: 'ALiBi',
    triangle: 'a triangle wave',
    gaussian: 'a Gaussian around the same position',
    binary: 'binary digits',
    spiral: 'a spiral',
    random: 'random rows',
  },
  fields: {
    added: 'added to column k of the word at position i',
    bias: 'added to the score of query i and key j in head h',
  },
  empty: 'nothing',
  knownTitle: 'what a formula may contain',
  known:
    'Positions, columns and heads count from 0; d is the number of columns, and n the number of positions. A formula may use numbers, pi and e; + − * / % ^; comparisons, &&, || and !; test ? yes : no; and sin, cos, tan, asin, acos, atan, atan2, sinh, cosh, tanh, exp, log, log2, log10, sqrt, abs, sign, floor, ceil, round, trunc, min, max, pow, mod and random(i, k), which always gives the same number between 0 and 1 for the same i and k.',
  parameters: {
    add: 'add a parameter',
    remove: (/** @type {string} */ name) => `remove ${name}`,
    name: 'name',
    from: 'from',
    to: 'to',
    value: (/** @type {string} */ name) => `value of ${name}`,
    min: (/** @type {string} */ name) => `smallest ${name}`,
    max: (/** @type {string} */ name) => `largest ${name}`,
  },

  /** @type {Record<Problem['reason'], (problem: Problem) => string>} */
  problems: {
    syntax: ({ at, found }) => `Character ${at + 1}, “${found}”, does not fit here.`,
    end: () => 'The formula ends too early. Something is missing after its last character.',
    name: ({ at, found, needs }) =>
      `Character ${at + 1}: “${found}” has no value. This formula can use ${needs}, and the parameters that you add.`,
    function: ({ at, found, needs }) =>
      found
        ? `Character ${at + 1}: “${found}” is not a function here. The functions are ${needs}.`
        : `Character ${at + 1}: only a function can be called. The functions are ${needs}.`,
    arguments: ({ at, found, needs }) =>
      needs === '1'
        ? `Character ${at + 1}: ${found} needs one number in parentheses after it.`
        : `Character ${at + 1}: ${found} needs ${needs} numbers in parentheses after it.`,
    kind: ({ at }) =>
      `Character ${at + 1}: a formula consists of numbers, names, operators and functions only.`,
    long: ({ at }) => `A formula can have at most ${at} characters.`,
    parts: ({ at }) => `Character ${at + 1}: the formula has too many parts from here on.`,
    number: ({ found, needs }) =>
      `${found} is ${needs === 'NaN' ? 'not a number' : 'infinite'}, and attention can only use finite numbers.`,
    cells: () => 'These tables would take too long to compute. Use a shorter formula.',
  },
  nothing:
    'Both formulas are empty, so there is nothing to compute. Write one, or start from an example.',
  broken: 'Nothing is computed until the formula is corrected.',
  /** @param {string} reason */
  failed: (reason) => `The tables could not be computed: ${reason}.`,

  maps: {
    added: 'yours: P(i, k), added to the words',
    bias: 'yours: the bias, added to the scores of head 1',
    sinusoid: 'the sinusoid, for comparison',
    alibi: 'ALiBi, for comparison: head 1 of 4',
    weights: 'the attention that results in your sentence',
    waiting: 'computing …',
    noWeights: 'your sentence has no words yet',
    weightsSize: (/** @type {number} */ queries, /** @type {number} */ keys) =>
      `yours: attention weights, ${queries} queries by ${keys} keys`,
    /** @param {string} title @param {number} rows @param {number} columns */
    size: (title, rows, columns) => `${title}, ${rows} rows by ${columns} columns`,
  },
  /** @param {{ rows: number, columns: number, low: string, high: string }} size */
  size: ({ rows, columns, low, high }) => `${rows} × ${columns}, ${low} … ${high}`,
  distances: {
    added: 'similarity by distance (dot products)',
    bias: 'bias by distance',
    axis: 'distance',
    /** @param {{ near: string, far: string, distance: number }} values */
    summary: ({ near, far, distance }) =>
      `Mean at distance 0: ${near}; at distance ${distance}: ${far}.`,
    band: 'For each distance, the line shows the mean over all pairs of positions, and the band reaches from the smallest value to the largest.',
  },

  verdicts: 'What the core measures',
  yes: 'yes',
  no: 'no',
  questions: {
    distinct: 'Are all positions distinct?',
    stationary: 'Does similarity depend on distance alone?',
    linear: 'Does one matrix shift all positions?',
    bounded: 'Do the numbers stay bounded?',
  },
  answers: {
    /** @param {{ distance: string, pair: [number, number], length: string, n: number, yes: boolean }} found */
    distinct: ({ distance, pair, length, n, yes }) =>
      yes
        ? `The two closest of ${n} rows belong to positions ${pair.join(' and ')}, and are ${distance} apart (a row has a length of about ${length}).`
        : `Positions ${pair.join(' and ')} have the same row, so attention cannot tell them apart.`,
    /** @param {{ spread: string, yes: boolean, bias: boolean }} found */
    stationary: ({ spread, yes, bias }) =>
      `${bias ? 'Biases' : 'Dot products'} at the same distance differ from their mean by ${spread} of the spread of all ${bias ? 'biases' : 'products'}${yes ? ', so only the distance counts' : ', so it also matters where the two positions are'}.`,
    /** @param {{ residual: string, shift: number, shifts: number, yes: boolean }} found */
    linear: ({ residual, shift, shifts, yes }) =>
      yes
        ? `For every shift, from 1 to ${shifts} positions, a single matrix moves all rows at once. The best matrix leaves at most ${residual} of the shifted rows’ size unexplained.`
        : `No matrix moves all rows by ${shift} ${shift === 1 ? 'position' : 'positions'}: the best matrix leaves ${residual} unexplained.`,
    /** @param {{ within: string, beyond: string, n: number, times: number, yes: boolean }} found */
    bounded: ({ within, beyond, n, times, yes }) =>
      `The largest absolute value is ${within} among ${n} positions, and ${beyond} among ${n * times}${yes ? '' : ', so the numbers grow with the length'}.`,
  },
  /** @param {string} number */
  lessThan: (number) => `less than ${number}`,
  computed:
    'The core computes the products, differences, means and sums of squares. The page takes square roots, and divides to get percentages.',
  removed:
    'In each row, all columns have the same number. The models of chapter 8 subtract each row’s mean before they attend (layer norm), so they cannot see this encoding. To make the columns differ, use k in the formula.',
  onlyBias: 'A bias has no rows, so the questions about rows and shifts do not apply to it.',

  race: {
    lead: 'Race it, in lane B, against',
    button: 'Race it',
    needs: 'A race needs a formula that can be computed.',
    /** @param {{ asked: string, task: string }} worlds */
    noLonger: ({ asked, task }) =>
      `The race uses “${task}”, because “${asked}” cannot be tested on longer inputs.`,
    task: (/** @type {string} */ task) => `on “${task}”, with the same seed and the same examples`,
  },
  /** @param {{ distinct: boolean | null, stationary: boolean, linear: boolean | null, bounded: boolean }} verdicts */
  summary: ({ distinct, stationary, linear, bounded }) =>
    [
      distinct === null ? '' : distinct ? 'all positions distinct' : 'some positions alike',
      stationary ? 'depends on distance alone' : 'depends on more than distance',
      linear === null ? '' : linear ? 'shifts are linear' : 'shifts are not linear',
      bounded ? 'bounded' : 'unbounded',
    ]
      .filter(Boolean)
      .join(', '),
  part: 'Your own formula',
};
