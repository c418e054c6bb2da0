import { Encoder } from './encoder.js';
import { worlds } from './worlds.js';
import { Recurrent, Transformer, Writer } from './writer.js';

/** @import { Attn } from 'attn' */
/** @import { Invention, LaneOptions, Model } from './model.js' */

/**
 * @param {Attn} attn
 * @param {LaneOptions} options
 * @param {Invention} [invention] from `loadInvention()`, needed for the scheme `yours`
 * @returns {Model}
 */
export function makeModel(attn, options, invention) {
  if (!worlds[options.world].written) return new Encoder(attn, options, invention);
  return options.decoder === 'recurrent'
    ? new Writer(attn, { ...options, positions: 'none' }, Recurrent)
    : new Writer(attn, options, Transformer, invention);
}
