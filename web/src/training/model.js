import { longerWorld, worlds } from './worlds.js';

/** @import { Tape, Tensor, Variable, Integers } from 'attn' */
/** @import { Examples, WorldName } from './worlds.js' */
/** @typedef {import('./schemes.js').Scheme} Scheme */

/**
 * The options of a model and its task.
 * @typedef {object} LaneOptions
 * @property {WorldName} world
 * @property {Scheme} positions
 * @property {number} heads
 * @property {number} layers
 * @property {import('../invention/invention.js').Written} [written] the formulas of the scheme
 *   `yours`
 * @property {boolean} causal
 * @property {number} rate the learning rate
 * @property {number} seed
 * @property {'transformer' | 'recurrent'} [decoder] in written tasks only; a recurrent decoder has
 *   one head and no positions
 */

export const sizes = { dModel: 64, dimFeedforward: 128, batch: 64, heldOut: 128, warmup: 20 };

/** The lengths of the test inputs, as multiples of the training length. */
export const lengths = [1, 1.5, 2, 3, 4];

/** Largest distance that Shaw's relative keys and values and T5's buckets distinguish. */
const mostDistance = 16;

/**
 * The scheme `yours`, whose module is loaded on demand.
 * @typedef {import('../invention/invention.js').Invention} Invention
 */

/**
 * Loads the reader's scheme if the options name it, and computes its tables for every length that
 * the model needs.
 * @param {LaneOptions} options
 * @returns {Promise<Invention | undefined>}
 */
export async function loadInvention({ positions, written, world, heads }) {
  if (positions !== 'yours' || !written) return undefined;
  const { Invention } = await import('../invention/invention.js');
  const invention = new Invention(written);
  const { length, answers, written: answered } = worlds[world];
  const all = answered
    ? [length, answers]
    : lengths.map((times) => longerWorld(world, times).length);
  for (const n of all) {
    invention.added(n, sizes.dModel);
    invention.bias(n, heads, sizes.dModel);
  }
  return invention;
}

/**
 * @param {Pick<LaneOptions, 'positions' | 'causal'>} options
 * @returns {import('attn').AttentionPositions} the positions that attention applies
 */
export function attentionPositions({ positions, causal }) {
  switch (positions) {
    case 'rotary':
      return { rotary: {} };
    case 'alibi':
      return { alibi: true };
    case 't5':
      return { t5Bias: { maxDistance: 2 * mostDistance, bidirectional: !causal } };
    case 'shaw':
      return { maxRelativeDistance: mostDistance };
    default:
      return {};
  }
}

/**
 * A model's attention and its answers.
 * @typedef {object} Look
 * @property {Int32Array} ids the example
 * @property {Tensor[]} weights weights of each layer, (heads, answers, length)
 * @property {Int32Array} answer the most probable symbol of each answer
 * @property {Float32Array} probability probability of that symbol
 * @property {Tensor} [table] table of learned positions, (length, dModel)
 */

/**
 * A small model. It computes on tensors with any module, and on variables with a training module.
 * @typedef {object} Model
 * @property {(examples: Examples, tape: Tape) => Variable} record logits, of the targets' shape
 *   plus (…, symbols)
 * @property {(examples: Examples) => { logits: Tensor, answer: Int32Array }} judge logits without
 *   a tape, and the answers
 * @property {(ids: Int32Array) => Look} look runs the model on one example
 * @property {(ids: Integers) => Tensor[]} weightsOf weights of each layer, (examples, heads, n, n)
 * @property {() => import('./snapshots.js').Weights} stateDict all weights by name, as copies
 * @property {(weights: Parameters<import('attn').Linear['loadStateDict']>[0]) => void}
 *   loadStateDict takes weights with the same names
 * @property {(tape: Tape) => string | undefined} pathNotFinite path of the first parameter whose
 *   gradient is not finite, after the backward pass
 * @property {Record<string, any>} parts its layers, by the prefix of their parameters
 * @property {() => void} dispose
 */
