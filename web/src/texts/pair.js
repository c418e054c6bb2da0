import { partTexts, positionNames } from './own.js';

/** @typedef {import('../core/sentence.js').PartName} PartName */
/** @typedef {{ layer: number, layers: number }} Place */
/** @typedef {{ numLayers: number, numHeads: number }} Stack */

/** @param {Stack} stack */
const sizeOf = ({ numLayers, numHeads }) => `${numLayers} layers of ${numHeads} heads`;

/** @type {Record<PartName, string>} */
const names = { encoder: 'Encoder', decoder: 'Decoder', cross: 'Cross attention' };

/** @param {PartName} part @param {Place} place */
function layerOf(part, { layer, layers }) {
  if (part === 'encoder') {
    return `This is the attention in layer ${layer} of ${layers} of your model’s encoder. The source looks at itself.`;
  }
  if (part === 'decoder') {
    return `This is the self-attention in layer ${layer} of ${layers} of your model’s decoder. The target looks at itself, and no token may look at later tokens.`;
  }
  return `This is the cross attention in layer ${layer} of ${layers} of your model’s decoder. Each row is a token of the target, and each column is a token of the source.`;
}

/** A note next to figures. @param {PartName} part @param {number} layer @param {number} head */
function whoseOf(part, layer, head) {
  if (part === 'encoder') return `Layer ${layer}, head ${head} of your model’s encoder:`;
  return part === 'decoder'
    ? `Layer ${layer}, head ${head} of the self-attention in your model’s decoder:`
    : `Layer ${layer}, head ${head} of the cross attention in your model’s decoder. Queries are computed from the target (X). Keys and values are computed from the output of the encoder (E), which has a row for each token of the source.`;
}

/** How scores differ from the equation. @type {Record<PartName, string>} */
const biases = {
  encoder:
    'Your model does not divide scores by √D. It adds a learned number to each score, which depends on the distance.',
  decoder:
    'Your model does not divide scores by √D. It adds a learned number to each score, which depends on the distance.',
  cross: 'Your model does not divide scores by √D.',
};

const softmax = {
  self: 'Softmax turns each row of scores into weights. Then each token adds up all values, each multiplied by its weight (O). Y joins and mixes the results of all heads.',
  cross:
    'Softmax turns each row of scores into weights. Then each token of the target adds up the values of all tokens of the source, each multiplied by its weight (O). Y joins and mixes the results of all heads.',
};

/**
 * The text before the figure of the stages, or null if the page's own text is right.
 * @param {PartName} part
 * @param {boolean} bias
 */
function stagesOf(part, bias) {
  if (part === 'cross') {
    return [
      'Now step by step, in the order of the pictures. The layer makes queries from X, which has a row for each token of the target. It makes keys and values from E, the output of the encoder, which has a row for each token of the source. The ⊤ only swaps the rows and columns of W_{q}, so that the multiplication fits. A query times a key is a score.',
      bias
        ? 'Other models divide scores by √D. Your model does not: its queries and keys were trained without the division. No mask removes pairs, because every token of the target may look at the whole source.'
        : 'Scores are divided by √D (the picture looks the same, because its colour scale shrinks, too). No mask removes pairs, because every token of the target may look at the whole source.',
      softmax.cross,
    ];
  }
  if (!bias) return null;
  return [
    'Now step by step, in the order of the pictures. The layer makes queries, keys and values from X. The ⊤ only swaps the rows and columns of W_{q}, so that the multiplication fits. A query times a key is a score.',
    'Other models divide scores by √D. Your model does not: its queries and keys were trained without the division. It adds a learned number to each score, which depends on the distance, and a mask removes pairs.',
    softmax.self,
  ];
}

const inside = {
  walk: 'Your model is not made of layers that the page can take apart.',
  edit: 'This figure changes a projection of a model with one stack of layers. Your model has an encoder and a decoder.',
  shuffle:
    'This figure shuffles the sentence of a model with one stack of layers. Your model has an encoder and a decoder.',
  loss: 'Your model predicts a target, not the sentence of this page, so it has no loss on this sentence.',
  schemes:
    'This comparison uses the projections of a model with one stack of layers. Choose other projections above to compare encodings.',
  change:
    'The page cannot cut arcs, silence parts or compare sentences in a model with an encoder and a decoder.',
  lens: 'These figures need a model with one stack of layers. Your model has an encoder and a decoder.',
};

const block =
  'A block of your model’s decoder has cross attention, too, which this figure does not draw. Choose the encoder as the attention to draw, and the figure shows a block of your model’s encoder.';

/** Texts about a reader's model with an encoder and a decoder. */
export const pairTexts = {
  field: 'target',
  type: 'Type a target, such as the translation',
  write: 'Let the model write it',
  stop: 'Stop',
  part: 'attention',
  parts: { encoder: 'encoder', decoder: 'decoder', cross: 'cross' },
  /**
   * @param {{ name: string, encoder: Stack, decoder: Stack, width: number, parameters: string,
   *   dtypes: string[], positions: import('./own.js').Positions }} of
   */
  recognised: ({ name, encoder, decoder, width, parameters, dtypes, positions }) =>
    [
      `${name}: an encoder with ${sizeOf(encoder)}`,
      `a decoder with ${sizeOf(decoder)}`,
      `width ${width}, ${parameters} parameters in ${dtypes.join(' and ')}`,
      `${positionNames[positions]}.`,
    ].join(', '),
  sinusoids:
    'Your model stores all sines before all cosines. The figures show each sine next to its cosine.',
  /**
   * The texts about the attention that figures show.
   * @param {() => PartName} part
   * @param {boolean} bias whether the model learned a bias for relative positions
   */
  of: (part, bias) => ({
    /** @param {number} layer @param {number} head */
    headName: (layer, head) => `${names[part()]}, layer ${layer + 1}, head ${head + 1}`,
    /** @param {number} layer @param {number} head */
    whose: (layer, head) => whoseOf(part(), layer, head),
    /** @param {Place} place */
    layer: (place) => [layerOf(part(), place), ...(bias ? [biases[part()]] : [])].join(' '),
    stages: () => stagesOf(part(), bias),
    /** Notes of the figures of a block of the encoder, and of the decoder's cache. */
    block: (/** @type {Parameters<typeof partTexts.block>[0]} */ of) =>
      [partTexts.block(of), ...(bias ? [biases.encoder] : [])].join(' '),
    cache: (/** @type {Parameters<typeof partTexts.cache>[0]} */ of) =>
      [partTexts.cache(of), ...(bias ? [biases.decoder] : [])].join(' '),
  }),
  /**
   * The parts of the page that do not support the model, with the reasons.
   * @param {PartName} part
   * @returns {Record<string, string>}
   */
  lacks: (part) =>
    part === 'cross'
      ? {
          ...inside,
          block,
          cache:
            'The keys and values of cross attention come from the source. They are computed once and do not grow while the target is written. Choose the decoder as the attention to draw, and this figure shows the cache of its self-attention.',
          opening:
            'Cross attention connects two texts, the target and the source, so it cannot be drawn as arcs above one sentence. The chapter on self-attention draws it as a matrix and as lines.',
          pipeline:
            'This figure follows one sentence. Cross attention reads two, so only its weights are drawn, further down.',
          masks: 'The masks do not apply to cross attention.',
          next: 'Choose the decoder as the attention to draw, and this figure shows what your model predicts for the target.',
        }
      : part === 'encoder'
        ? {
            ...inside,
            cache:
              'The encoder looks both ways. Each new token changes all its rows, so nothing can be kept in a cache. Choose the decoder as the attention to draw, and this figure shows the cache of its self-attention.',
            next: 'The encoder predicts nothing. Choose the decoder as the attention to draw, and this figure shows what your model predicts for the target.',
          }
        : { ...inside, block },
};
