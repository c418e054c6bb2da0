// All settings of the page: the shared settings, and the settings of each chapter. A setting has
// the same name everywhere.

import { partNames } from '../../core/sentence.js';
import { maxTokens } from '../../core/tokens.js';
import { properties as architectures } from './architectures.js';
import { properties as encoding } from './encoding.js';
import { properties as opening } from './opening.js';
import { largestSeed, properties as order } from './order.js';
import { properties as pooling } from './pooling.js';
import { properties as precision } from './precision.js';
import { cells, choice, flag, integer, number, ordinal, text } from './property.js';
import { properties as rotation } from './rotation.js';
import { properties as selfAttention } from './self-attention.js';
import { properties as speed } from './speed.js';
import { properties as training } from './training.js';
import { properties as transformer } from './transformer.js';

/** Longest sentence, in UTF-16 code units. */
export const maxTextLength = 12000;

/** Largest number of cells that can be excluded manually. */
export const maxBlocked = 400;

export const headCounts = [1, 2, 4, 8];

/** Largest numbers of layers and heads in a language model. */
const [maxLayers, maxHeads] = [128, 128];

/** Sources of a layer's projections. */
const weightNames = /** @type {const} */ (['identity', 'xavier', 'learned']);
/** @typedef {(typeof weightNames)[number]} Weights */

export const limits = {
  /** Multiples of the largest head count, so that every number of heads divides the width. */
  dModel: { min: 8, max: 256, step: 8 },
  base: { min: 2, max: 1e6 },
  window: { min: 0, max: 64 },
  seed: { min: 0, max: 2 ** 31 - 1 },
};

/** Settings that several chapters use. */
export const shared = {
  /** The sentence. Each word of the initial sentence is one token of the language model. */
  text: text('the lady sat by the fire because the lady was tired', maxTextLength),

  /** The text that a reader's encoder–decoder model decodes, and the attention that figures show. */
  ownTarget: text('', maxTextLength),
  part: choice(/** @type {import('../../core/sentence.js').PartName} */ ('encoder'), partNames),

  /** Width E of the embeddings and of the layer. */
  dModel: number(64, limits.dModel, (value) => Math.round(value / 8) * 8),
  heads: choice(4, headCounts),
  /** The head that figures show, initially a head whose habit is easy to see. */
  head: ordinal(0, maxHeads),
  /** The layer's query, key, value and output projections, and the seed of random projections. */
  weights: choice('learned', weightNames),
  /** The layer that figures show, if the weights are a language model's. */
  layer: ordinal(1, maxLayers),
  seed: integer(1, limits.seed),

  /** The positional encoding of the layer's input, and the base of its wavelengths. */
  encoding: choice(/** @type {'none' | 'sinusoidal'} */ ('sinusoidal'), ['none', 'sinusoidal']),
  base: number(10000, limits.base),

  /**
   * The masks: whether later keys are excluded; the distance beyond which keys are excluded (0: no
   * limit); and the number of valid keys, after which all keys are excluded (0: no limit).
   */
  causal: flag(true),
  window: integer(0, limits.window),
  validLen: integer(0, { min: 0, max: maxTokens }),
  /** Manually excluded cells, as pairs of query and key. */
  blocked: cells(maxBlocked, maxTokens - 1),
};

export const properties = {
  ...shared,
  ...opening,
  ...pooling,
  ...selfAttention,
  ...order,
  ...encoding,
  ...rotation,
  ...precision,
  ...architectures,
  ...training,
  ...transformer,
  ...speed,
};

/** @typedef {{ -readonly [Name in keyof typeof properties]: (typeof properties)[Name]['initial'] }} Settings */

/** @param {Record<keyof Settings, { initial: unknown }>} from */
const initialOf = (from) =>
  /** @type {Settings} */ (
    Object.fromEntries(Object.entries(from).map(([name, { initial }]) => [name, initial]))
  );

/** The settings of an untouched page. */
export const initial = initialOf(properties);

/**
 * Properties whose meaning differs in links of version 1. Such a link selects an untrained layer
 * unless it says otherwise, and it counts layers and heads from 0.
 */
export const firstVersion = {
  ...properties,
  text: text('the cat sat on the mat because the cat was tired', maxTextLength),
  head: integer(0, { min: 0, max: maxHeads - 1 }),
  weights: choice('identity', weightNames),
  layer: integer(0, { min: 0, max: maxLayers - 1 }),
  causal: flag(false),
  shuffle: integer(1, { min: 0, max: largestSeed }),
  schemesWeights: flag(true),
};

/** The settings of a page that must not load the language model. */
export const untrained = {
  ...initialOf(firstVersion),
  ...{ shuffle: initial.shuffle, schemesWeights: initial.schemesWeights },
};
