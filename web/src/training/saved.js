import { schemes } from './schemes.js';
import { worlds } from './worlds.js';

/** @typedef {import('./model.js').LaneOptions} LaneOptions */
/** @typedef {import('./model.js').Scheme} Scheme */
/** @typedef {import('./worlds.js').WorldName} WorldName */

/**
 * A description of a file of weights, as far as it can be determined.
 * @typedef {object} Saved
 * @property {WorldName[]} worlds worlds with the same number of symbols
 * @property {Scheme} [positions]
 * @property {number} [heads]
 * @property {number} layers
 * @property {boolean} [causal]
 * @property {LaneOptions['decoder']} [decoder]
 * @property {number} [step] number of steps before it was saved
 */

/**
 * The metadata of a file: the facts that the weights do not determine.
 * @param {LaneOptions} options
 * @param {number} step
 * @returns {Record<string, string>}
 */
export const metadataOf = ({ world, positions, heads, causal, decoder, rate, seed }, step) => ({
  ...{ format: 'pt', world, positions, heads: `${heads}`, causal: `${causal}` },
  ...(decoder && { decoder }),
  ...{ rate: `${rate}`, seed: `${seed}`, step: `${step}` },
});

/** Matches one parameter name per layer of a Transformer or GRU, so matches count the layers. */
const layerName = /^encoder\.(layers\.\d+\.norm1\.weight|weight_ih_l\d+)$/;

/**
 * Parameters that only one positional scheme has.
 * @type {readonly (readonly [RegExp, Scheme])[]}
 */
const traces = [
  [/^positions\./, 'learned'],
  [/relative_attention_bias/, 't5'],
  [/relative_keys/, 'shaw'],
];

/**
 * Describes a file by its metadata or, if they are missing, by the names and shapes of its tensors.
 * Returns `null` for weights of other models.
 * @param {Pick<import('attn').Safetensors, 'tensors' | 'metadata'>} file
 * @returns {Saved | null}
 */
export function describeSaved({ tensors, metadata }) {
  const symbols = tensors.find(({ name }) => name === 'tokens.weight')?.shape[0];
  const names = /** @type {WorldName[]} */ (Object.keys(worlds));
  const alike = names.filter((name) => worlds[name].symbols.length === symbols);
  const layers = tensors.filter(({ name }) => layerName.test(name)).length;
  if (!alike.length || !layers) return null;
  const said = (/** @type {string} */ key, /** @type {RegExp} */ form) =>
    form.test(metadata[key] ?? '') ? metadata[key] : undefined;
  const positions =
    schemes.find((scheme) => scheme === metadata.positions) ??
    traces.find(([trace]) => tensors.some(({ name }) => trace.test(name)))?.[1];
  const [heads, step] = [said('heads', /^\d{1,2}$/), said('step', /^\d{1,9}$/)];
  const causal = said('causal', /^(true|false)$/);
  const writes = tensors.find(({ name }) => name.startsWith('decoder.'));
  return {
    worlds: alike.some((name) => name === metadata.world)
      ? alike.filter((name) => name === metadata.world)
      : alike,
    layers,
    ...(positions && { positions }),
    ...(heads && { heads: Number(heads) }),
    ...(causal && { causal: causal === 'true' }),
    ...(writes && { decoder: /\.layers\./.test(writes.name) ? 'transformer' : 'recurrent' }),
    ...(step && { step: Number(step) }),
  };
}

/**
 * True if weights with this description may belong to a model with these options.
 * @param {Saved} saved
 * @param {LaneOptions} options
 */
export const suits = (saved, options) =>
  saved.worlds.includes(options.world) &&
  saved.layers === options.layers &&
  [
    [saved.positions, options.positions],
    [saved.heads, options.heads],
    [saved.causal, options.causal],
    [saved.decoder, options.decoder],
  ].every(([of, wanted]) => of === undefined || of === wanted);
