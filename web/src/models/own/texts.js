/** What chapters say of the reader's model, in place of what they say of the page's own. */
export const texts = {
  head: 'of your own model. It is computed on this machine and stays here: a link does not carry it, and a reload brings the page’s own back.',
  close: 'Close it',
  embedding: (/** @type {{ d: number }} */ { d }) => [
    `In *self*-attention a sentence asks itself: each word looks at all the others. A computer works on numbers, so each word first becomes a list of them, its [embedding]: a [vector] of ${d} numbers, or [dimensions|dimension]. Here it is a row of your model’s table, with all that is added before the first layer.`,
    'The [tokens|token] are your model’s, those that stand for no text included; a piece that goes on with a word has a hyphen before it. This [layer] does not read those rows as they are: it reads what the layers before it have made of them.',
  ],
  places: {
    learned:
      'In these rows the place of the word is contained already: your model adds it before its first layer.',
    sinusoidal:
      'In these rows the place of the word is contained already: your model adds it before its first layer.',
    rotary:
      'The place of a word comes in later here: queries and keys are turned, as the chapter on rotation shows.',
    none: 'Where a word stands is not said at all: your model has no positions.',
  },
  /** @param {{ layer: number, layers: number }} given */
  layer: ({ layer, layers }) => `This is layer ${layer} of the ${layers} of your model.`,
  noNext: {
    bidirectional:
      'Your model looks both ways: each token has already seen the ones after it, so there is no next token for it to foretell. It was trained to fill in words that were hidden from it.',
    noLogits:
      'The files of your model have no output layer: it turns tokens into vectors, and gives no probabilities of a next one.',
  },
  full: (/** @type {number} */ n) => `Your model reads no more than these ${n} tokens here.`,
  ended: 'Your model ended the text there.',
};

/** How activations are written. @type {Record<import('attn').Activation, string>} */
export const activationNames = {
  ...{ relu: 'ReLU', gelu: 'GELU', geluTanh: 'GELU', silu: 'SiLU' },
  ...{ tanh: 'tanh', sigmoid: 'sigmoid' },
};

/** What stands beside the figures that take it apart. */
export const partTexts = {
  whose: (/** @type {number} */ layer, /** @type {number} */ head) =>
    `Layer ${layer}, head ${head} of your model:`,
  /** @param {{ layer: number, layers: number, most: number, rms: boolean, heads: number, drawn: number, first: number, shared: number }} given */
  block: ({ layer, layers, most, rms, heads, drawn, first, shared }) =>
    [
      `Layer ${layer} of the ${layers} of your model.`,
      most ? `The first ${most} tokens.` : '',
      drawn && drawn < heads
        ? `Of its ${heads} heads, ${first + 1} to ${first + drawn} are drawn.`
        : '',
      shared > 1 ? `Every ${shared} heads read the same keys and values.` : '',
      rms ? 'Its norms divide by the root of the mean square, and leave the mean as it is.' : '',
    ]
      .filter(Boolean)
      .join(' '),
  /** @param {{ layer: number, layers: number, most: number }} given */
  cache: ({ layer, layers, most }) =>
    `Layer ${layer} of the ${layers} of your model. Each row is a token${most ? `, the first ${most} of them` : ''}.`,
  noCache:
    'Your model looks both ways: with every token all rows change, in each layer, and nothing can be kept in a cache.',
  whoseLoss: 'The loss of your model',
  noLoss: {
    rotary:
      'It turns queries and keys in every layer, so it has no loss without positions: nothing that was added could be left out.',
    bidirectional:
      'Your model looks both ways: it does not foretell tokens one after the other, and has no such loss.',
    noLogits:
      'The files of your model have no output layer: it foretells no tokens, and has no loss.',
  },
  order: {
    layer:
      'The first layer of your model: its attention over the embeddings of the tokens, without a window.',
    learned: 'the positions it has learned',
    sinusoidal: 'sinusoidal positions',
    rotary: 'rotary positions',
    none: 'positions, of which it has none',
  },
  scale: (/** @type {string} */ scale) =>
    `Your model itself multiplies scores by ${scale} in this layer.`,
  softcap: (/** @type {number} */ cap) =>
    `Here they are not capped; your model caps them at ${cap}.`,
  schemes: {
    inUse: 'your model’s own',
    /** @param {{ layer: number, head: number, heads: number }} given */
    lead: ({ layer, head, heads }) =>
      `The projections are those of head ${head} of ${heads}, layer ${layer}, of your model. Its own way is marked, with its own numbers and weights. Under any other way the head looks through glasses made for somebody else.`,
    added:
      'What the layer reads already has your model’s own positions in it; the other ways come on top.',
    normalises: 'The other ways leave out that your model normalises queries and keys.',
    rest: 'The tables of the other ways are random numbers (of deviation 1). So compare the left pictures: they are what the ways differ in.',
  },
};

/** What is said of its positions. */
export const placeTexts = {
  title: 'The positions of your model',
  coming: 'They have not been computed yet.',
  lead: {
    learned:
      'Your model was given no waves: it has a table of positions, a row for each place, and learned all of its numbers. Beside it stands the sinusoid of the same size, which was designed. Below each is how alike any two of its rows are, then how much of all its variation lies along its first few directions, and at last the waves that it is made of.',
    rotary:
      'Your model turns pairs of each head’s columns, each pair at its own speed. A rule may have slowed some of them down, so that the model reads further than it learned to; both are shown.',
    sinusoidal:
      'Your model adds the sinusoid of this chapter: what was said of it above holds for your model as it is.',
    none: 'Your model has no positions at all: what it knows of order, it has from its causal mask, if it has one.',
  },
  names: { yours: 'Your model’s table', sinusoid: 'The sinusoid' },
  maps: { rows: 'the table', products: 'dot products of its rows' },
  legend: { rows: 'what a position adds', products: 'dot product' },
  axis: {
    ...{ position: 'position', column: 'column', pair: 'pair of columns' },
    turn: 'positions that one turn takes',
    ...{ periods: 'periods over all positions', share: 'share' },
  },
  cell: {
    rows: (/** @type {{ row: number, column: number }} */ { row, column }) =>
      `position ${row}, column ${column}`,
    products: (/** @type {{ row: number, column: number }} */ { row, column }) =>
      `positions ${row} and ${column}`,
  },
  sinusoids: 'the sinusoid’s',
  spectrum: 'Share of the variation along each of its leading components',
  helix: (/** @type {number} */ n) =>
    `The first three components, at positions 0 to ${n - 1}: one way through space, from light to strong.`,
  turn: 'turn it',
  waves:
    'The waves that its columns are made of: how much of the variation has so many periods over all positions.',
  strongest: 'The strongest:',
  wave: (/** @type {{ k: string, every: string, share: string }} */ { k, every, share }) =>
    `${k} ${k === '1' ? 'period' : 'periods'}, one every ${every} positions: ${share}.`,
  summary: (/** @type {number} */ n, /** @type {string} */ shares) =>
    `A learned table of ${n} positions, beside the sinusoid; its leading components have ${shares} of its variation.`,
  layers: (/** @type {string[]} */ layers) =>
    layers.length === 1 ? `Layer ${layers[0]}.` : `Layers ${layers.join(', ')}.`,
  ruled: (/** @type {string} */ rule, /** @type {string} */ factor) =>
    `Scaling rule: ${rule}${factor === '1' ? '' : `; sines and cosines are multiplied by ${factor}`}.`,
  unruled: 'No scaling rule.',
  withRule: 'as the model turns them',
  withoutRule: 'without the rule',
  turned: (
    /** @type {number} */ pairs,
    /** @type {string} */ slowest,
    /** @type {string} */ rule,
  ) =>
    `${pairs} pairs; the slowest turns by ${slowest} radians a position${rule ? `, after the rule ${rule}` : ''}.`,
  chart: (/** @type {number} */ pairs, /** @type {string} */ first, /** @type {string} */ last) =>
    `Positions that one turn takes, of ${pairs} pairs of columns: from ${first} to ${last}.`,
};

/** Most unused tensors that are named. */
const mostNamed = 3;

/**
 * What to know about the files of a model, in sentences.
 * @param {Pick<import('attn').LanguageModelDescription,
 *   'warnings' | 'unusedTensors' | 'unusedFields'>} description
 */
export function notesOf({ warnings, unusedTensors, unusedFields }) {
  const more = unusedTensors.length > mostNamed ? ', …' : '';
  const tensors = unusedTensors.slice(0, mostNamed).join(', ') + more;
  const tensorsAre =
    unusedTensors.length === 1
      ? 'One tensor of the files is'
      : `${unusedTensors.length} tensors of the files are`;
  const fieldsHave =
    unusedFields.length === 1
      ? 'One field of config.json has'
      : `${unusedFields.length} fields of config.json have`;
  return [
    ...warnings.map((text) => (/[.!?]$/.test(text) ? text : `${text}.`)),
    ...(unusedTensors.length ? [`${tensorsAre} not used: ${tensors}.`] : []),
    ...(unusedFields.length ? [`${fieldsHave} no effect: ${unusedFields.join(', ')}.`] : []),
  ];
}
