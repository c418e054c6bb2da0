/** @typedef {'learned' | 'rotary' | 'sinusoidal' | 'bias' | 'none'} Positions */

/** @type {Record<Positions, string>} */
export const positionNames = {
  learned: 'a learned table of positions',
  rotary: 'rotary positions',
  sinusoidal: 'sinusoidal positions',
  bias: 'a learned bias for relative positions',
  none: 'no positions',
};

/** Replaces the chapters' texts about the page's model while the reader's own model is open. */
export const texts = {
  head: '{head} of your own model. The model runs on this machine and stays here: links do not include it, and a reload brings back the page’s own model.',
  /** @param {number} layer @param {number} head */
  headName: (layer, head) => `Layer ${layer + 1}, head ${head + 1}`,
  close: 'Close it',
  embedding: (/** @type {{ d: number }} */ { d }) => [
    `In *self*-attention a sentence looks at itself: each word looks at all the others. A computer works on numbers, so each word first becomes a [vector] of ${d} numbers (or [dimensions|dimension]), its [embedding]. Here it is a row of your model’s table, plus everything that is added before the first layer.`,
    'The [tokens|token] are your model’s, including special tokens that represent no text. A piece that continues a word is shown with a hyphen in front. This [layer] does not read the embeddings directly. It reads the output of the layers before it.',
  ],
  places: {
    learned:
      'These rows already include the word’s position, which your model adds before its first layer.',
    sinusoidal:
      'These rows already include the word’s position, which your model adds before its first layer.',
    rotary:
      'Here the position of a word enters later: queries and keys are turned, as the chapter on rotation shows.',
    bias: 'These rows do not say where a word is. Your model adds a learned number to each score instead, which depends on the distance between the two words.',
    none: 'Nothing says where a word is, because your model has no positions.',
  },
  /** @param {{ layer: number, layers: number }} given */
  layer: ({ layer, layers }) => `This is layer ${layer} of ${layers} in your model.`,
  /** Replaces the text about the stages of a head. @type {undefined | (() => string[] | null)} */
  stages: undefined,
  noNext: {
    bidirectional:
      'Your model looks both ways: each token has already seen the ones after it, so there is no next token for it to predict. It was trained to fill in hidden words.',
    noLogits:
      'The files of your model have no output layer. So the model turns tokens into vectors, but gives no probabilities for the next token.',
  },
  /** @param {number} width @param {Positions} positions */
  sizes: (width, positions) =>
    `your model: width ${width}, ${{ none: 'no', bias: 'relative' }[String(positions)] ?? positions} positions`,
  /**
   * @param {{ name: string, layers: number, heads: number, kvHeads: number | null, width: number,
   *   parameters: string, dtypes: string[], positions: Positions, causal: boolean }} of kvHeads: null
   *   if each head has its own keys and values
   */
  recognised: ({ name, layers, heads, kvHeads, width, parameters, dtypes, positions, causal }) =>
    [
      `${name}: ${layers} layers of ${heads} heads`,
      ...(kvHeads === null ? [] : [`which share ${kvHeads} key/value heads`]),
      `width ${width}, ${parameters} parameters in ${dtypes.join(' and ')}`,
      `${positionNames[positions]}, ${causal ? 'causal' : 'bidirectional'}.`,
    ].join(', '),
  full: (/** @type {number} */ n) => `Your model can read no more than ${n} tokens here.`,
  ended: 'Your model ended the text there.',
};

/** Notes displayed next to the figures of the model's parts. */
export const partTexts = {
  whose: (/** @type {number} */ layer, /** @type {number} */ head) =>
    `Layer ${layer}, head ${head} of your model:`,
  /** @param {{ layer: number, layers: number, most: number, rms: boolean, heads: number, drawn: number, first: number, shared: number }} given */
  block: ({ layer, layers, most, rms, heads, drawn, first, shared }) =>
    [
      `Layer ${layer} of ${layers} in your model.`,
      most ? `The first ${most} tokens are drawn.` : '',
      drawn && drawn < heads
        ? `Of ${heads} heads, heads ${first + 1} to ${first + drawn} are drawn.`
        : '',
      shared > 1 ? `Every ${shared} heads share one set of keys and values.` : '',
      rms
        ? 'The model’s normalisations divide by the root mean square, and do not subtract the mean.'
        : '',
    ]
      .filter(Boolean)
      .join(' '),
  /** @param {{ layer: number, layers: number, most: number }} given */
  cache: ({ layer, layers, most }) =>
    most
      ? `Layer ${layer} of ${layers} in your model. Each row is one of the first ${most} tokens.`
      : `Layer ${layer} of ${layers} in your model. Each row is a token.`,
  noWalk: 'Your model is not made of layers that the page can take apart.',
  noCache:
    'Your model looks both ways. Each new token changes all rows in each layer, so nothing can be kept in a cache.',
  whoseLoss: 'The loss of your model',
  noLoss: {
    rotary:
      'Your model turns queries and keys in every layer. It adds no encoding that could be left out, so a loss “without positions” cannot be computed.',
    bidirectional:
      'Your model looks both ways. It does not predict tokens one after the other, so it has no such loss.',
    noLogits:
      'The files of your model have no output layer, so the model predicts no tokens and has no loss.',
  },
  order: {
    layer:
      'The figure shows the first layer of your model: attention over the tokens’ embeddings, without a window.',
    learned: 'the positions that your model has learned',
    sinusoidal: 'sinusoidal positions',
    rotary: 'rotary positions',
    bias: 'a learned bias for relative positions',
    none: 'no positions, because the model has none',
  },
  scale: (/** @type {string} */ scale) =>
    `Your model itself multiplies scores by ${scale} in this layer.`,
  softcap: (/** @type {number} */ cap) =>
    `Here the scores are not capped; your model caps them at ${cap}.`,
  noBias: 'Here the bias that your model adds to scores is left out.',
  schemes: {
    inUse: 'your model’s own',
    /** @param {{ layer: number, head: number, heads: number }} given */
    lead: ({ layer, head, heads }) =>
      `The projections come from your model (layer ${layer}, head ${head} of ${heads}). Your model’s own encoding is marked, and is shown with the model’s own numbers and weights. With any other encoding the head looks through glasses made for somebody else.`,
    added:
      'The input of the layer already includes your model’s own positions. The other encodings are applied on top.',
    normalises:
      'Your model normalises queries and keys. The other encodings are shown without this normalisation.',
    rest: 'Nothing has been learned for the other encodings, so their tables contain random numbers (standard deviation 1). Compare the pictures of the encodings.',
  },
};

/** Texts about the model's positions. */
export const placeTexts = {
  title: 'The positions of your model',
  coming: 'Not computed yet.',
  lead: {
    learned:
      'Your model was given no waves. It has a table with a row for each position, and learned all the numbers in it. The second table has the same size, but was designed, not learned: it is the sinusoid. Below each table you see how alike any two of its rows are, how much of its variation lies along its first few directions, and which waves it consists of.',
    rotary:
      'Your model turns pairs of each head’s columns, each pair at its own speed. A rule may have slowed some pairs down, so that the model can read longer texts than it was trained on. The figure shows the speeds with and without this rule.',
    sinusoidal:
      'Your model adds the sinusoid of this chapter, so everything above applies to your model, too.',
    bias: 'Your model adds no positions to its embeddings. Each of its heads has learned a number for each distance between two words, and adds this number to their score. Long distances share a number. All layers of the encoder use the same numbers, and so do all layers of the decoder. Cross attention has no positions.',
    none: 'Your model has no positions at all. Anything it knows about order comes from its causal mask, if it has one.',
  },
  names: { yours: 'Your model’s table', sinusoid: 'The sinusoid' },
  /** @type {Record<'rows' | 'products', (table: string, rows: number, columns: number) => string>} */
  maps: {
    rows: (table, rows, columns) => `${table}: ${rows} by ${columns}`,
    products: (table, rows, columns) => `${table}, dot products of its rows: ${rows} by ${columns}`,
  },
  /** How to select a cell of a heatmap. */
  how: {
    rows: {
      touch: 'Slide a finger over the cells to read them; tap a cell to lock it.',
      point: 'Point at a cell, or focus the table and use the arrow keys; click to lock.',
    },
    products: {
      touch: 'Slide a finger over the cells to read them; tap a cell to lock it.',
      point: 'Point at a cell, or focus the dot products and use the arrow keys; click to lock.',
    },
  },
  legend: { rows: 'what a position adds', products: 'dot product' },
  axis: {
    ...{ position: 'position', column: 'column', pair: 'pair of columns' },
    turn: 'positions in one turn',
    ...{ periods: 'periods over all positions', share: 'share' },
  },
  cell: {
    rows: (/** @type {{ row: number, column: number }} */ { row, column }) =>
      `position ${row}, column ${column}`,
    products: (/** @type {{ row: number, column: number }} */ { row, column }) =>
      `positions ${row} and ${column}`,
  },
  sinusoids: 'the sinusoid’s',
  spectrum: 'Share of the table’s variation along each of its leading components',
  helix: (/** @type {number} */ n) =>
    `The first three components, at positions 0 to ${n - 1}: one path through space, with stronger colours for later positions.`,
  turn: 'turn it',
  waves:
    'This chart shows the waves in the table’s columns. Each wave has one, two or more periods over all positions. For each number of periods, you see how much of the table’s variation such waves account for.',
  strongest: 'The strongest:',
  wave: (/** @type {{ k: string, every: string, share: string }} */ { k, every, share }) =>
    `${k} ${k === '1' ? 'period' : 'periods'} of ${every} positions: ${share}.`,
  summary: (/** @type {number} */ n, /** @type {string} */ shares) =>
    `A learned table of ${n} positions, next to the sinusoid. Its leading components account for ${shares} of the variation in the table.`,
  layers: (/** @type {string[]} */ layers) =>
    layers.length === 1 ? `Layer ${layers[0]}.` : `Layers ${layers.join(', ')}.`,
  ruled: (/** @type {string} */ rule, /** @type {string} */ factor) =>
    factor === '1'
      ? `Scaling rule: ${rule}.`
      : `Scaling rule: ${rule}. Sines and cosines are multiplied by ${factor}.`,
  unruled: 'No scaling rule.',
  withRule: 'with the model’s scaling rule',
  withoutRule: 'without the scaling rule',
  turned: (
    /** @type {number} */ pairs,
    /** @type {string} */ slowest,
    /** @type {string} */ rule,
  ) =>
    rule
      ? `Of ${pairs} pairs of columns, the slowest turns by ${slowest} radians from one position to the next, under the rule ${rule}.`
      : `Of ${pairs} pairs of columns, the slowest turns by ${slowest} radians from one position to the next.`,
  chart: (/** @type {number} */ pairs, /** @type {string} */ first, /** @type {string} */ last) =>
    `Positions in one turn, for ${pairs} pairs of columns: from ${first} to ${last}.`,
};

/** Largest number of unused tensors to name. */
const mostNamed = 3;

/** @param {number} count @param {string} names */
const unusedTensorsNote = (count, names) =>
  count === 1
    ? `One tensor in the files is not used: ${names}.`
    : `${count} tensors in the files are not used: ${names}.`;

/** @param {readonly string[]} names */
const unusedFieldsNote = (names) =>
  names.length === 1
    ? `One field of config.json has no effect: ${names[0]}.`
    : `${names.length} fields of config.json have no effect: ${names.join(', ')}.`;

/**
 * Returns a model's warnings, and sentences about the tensors and fields that attn does not use.
 * @param {Pick<import('attn').LanguageModelDescription,
 *   'warnings' | 'unusedTensors' | 'unusedFields'>} description
 */
export function notesOf({ warnings, unusedTensors, unusedFields }) {
  const more = unusedTensors.length > mostNamed ? ', …' : '';
  const tensors = unusedTensors.slice(0, mostNamed).join(', ') + more;
  return [
    ...warnings.map((text) => (/[.!?]$/.test(text) ? text : `${text}.`)),
    ...(unusedTensors.length ? [unusedTensorsNote(unusedTensors.length, tensors)] : []),
    ...(unusedFields.length ? [unusedFieldsNote(unusedFields)] : []),
  ];
}
