// All settings of the page: those that all chapters share, and those that each chapter adds. Each has
// one name, wherever it is read.

import { properties as architectures } from '../chapters/architectures/properties.js';
import { properties as encoding } from '../chapters/encoding/properties.js';
import { properties as opening } from '../chapters/opening/properties.js';
import { properties as order } from '../chapters/order/properties.js';
import { properties as pooling } from '../chapters/pooling/properties.js';
import { properties as precision } from '../chapters/precision/properties.js';
import { properties as rotation } from '../chapters/rotation/properties.js';
import { properties as selfAttention } from '../chapters/self-attention/properties.js';
import { properties as speed } from '../chapters/speed/properties.js';
import { properties as training } from '../chapters/training/properties.js';
import { properties as transformer } from '../chapters/transformer/properties.js';
import { cells, choice, flag, integer, number, text } from './property.js';

/** Longest sentence, in UTF-16 code units. */
export const maxTextLength = 12000;

/** Most tokens that are taken from it. */
export const maxTokens = 2048;

/** Most cells that can be excluded by hand. */
export const maxBlocked = 400;

export const headCounts = [1, 2, 4, 8];

/** Most layers and heads of a language model. */
const [maxLayers, maxHeads] = [128, 128];

/** Where a layer's projections come from. @typedef {'identity' | 'xavier' | 'learned'} Weights */

export const limits = {
  /** In steps of the largest head count, so that every number of heads divides it. */
  dModel: { min: 8, max: 256, step: 8 },
  base: { min: 2, max: 1e6 },
  window: { min: 0, max: 64 },
  seed: { min: 0, max: 2 ** 31 - 1 },
};

const shared = {
  /** The sentence. */
  text: text('the cat sat on the mat because the cat was tired', maxTextLength),

  /** Width E of the embeddings and of the layer. */
  dModel: number(64, limits.dModel, (value) => Math.round(value / 8) * 8),
  heads: choice(4, headCounts),
  /** The head that is looked at. */
  head: integer(0, { min: 0, max: maxHeads - 1 }),
  /** Query, key, value and output projections of the layer, and the seed of the random ones. */
  weights: choice(/** @type {Weights} */ ('identity'), ['identity', 'xavier', 'learned']),
  /** Of the language model, where its weights are those: the layer that is looked at. */
  layer: integer(0, { min: 0, max: maxLayers - 1 }),
  seed: integer(1, limits.seed),

  /** The positional encoding of the layer's input, and the base of its wavelengths. */
  encoding: choice(/** @type {'none' | 'sinusoidal'} */ ('sinusoidal'), ['none', 'sinusoidal']),
  base: number(10000, limits.base),

  /** Masks: exclude later keys; keys further away than this (0: no limit); keys from this one on (0:
   * none). */
  causal: flag(false),
  window: integer(0, limits.window),
  validLen: integer(0, { min: 0, max: maxTokens }),
  /** Cells excluded by hand: query and key. */
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

/** The settings of an untouched page. */
export const initial = /** @type {Settings} */ (
  Object.fromEntries(Object.entries(properties).map(([name, { initial }]) => [name, initial]))
);
