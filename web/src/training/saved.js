import { properties } from '../state/properties/encoding.js';
import { usedParameters } from '../invention/parameters.js';
import { schemes } from './schemes.js';
import { worlds } from './worlds.js';

/** @typedef {import('./model.js').LaneOptions} LaneOptions */
/** @typedef {import('./model.js').Scheme} Scheme */
/** @typedef {import('./worlds.js').WorldName} WorldName */
/** @typedef {import('../invention/invention.js').Written} Written */

/**
 * A description of a file of weights, as far as it can be determined.
 * @typedef {object} Saved
 * @property {WorldName[]} worlds names of the tasks to which the weights may belong
 * @property {Scheme} [positions]
 * @property {Written} [written] the formulas of the scheme `yours`
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
export const metadataOf = (
  { world, positions, written, heads, causal, decoder, rate, seed },
  step,
) => ({
  ...{ format: 'pt', world, positions, heads: `${heads}`, causal: `${causal}` },
  ...(positions === 'yours' && written && formulasIn(written)),
  ...(decoder && { decoder }),
  ...{ rate: `${rate}`, seed: `${seed}`, step: `${step}` },
});

/** Returns the reader's formulas in the form that a link contains. @param {Written} written */
const formulasIn = ({ added, bias, parameters }) => ({
  ...{ formula: added, formulaBias: bias },
  parameters: properties.parameters.format([...parameters]),
});

/** @param {Record<string, string>} metadata @returns {Written | undefined} */
const writtenIn = ({ formula, formulaBias, parameters }) =>
  formula === undefined && formulaBias === undefined
    ? undefined
    : {
        added: properties.formula.parse(formula ?? ''),
        bias: properties.formulaBias.parse(formulaBias ?? ''),
        parameters: parameters ? properties.parameters.parse(parameters) : [],
      };

/**
 * Text that is the same for the same formulas with the same values of parameters.
 * @param {Written | undefined} written
 */
export const meaningOf = (written) =>
  written &&
  JSON.stringify([
    ...[written.added.trim(), written.bias.trim()],
    ...usedParameters(written).map(({ name, value }) => [name, value]),
  ]);

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
  const written = positions === 'yours' ? writtenIn(metadata) : undefined;
  const writes = tensors.find(({ name }) => name.startsWith('decoder.'));
  return {
    worlds: alike.some((name) => name === metadata.world)
      ? alike.filter((name) => name === metadata.world)
      : alike,
    layers,
    ...(positions && { positions }),
    ...(written && { written }),
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
    [meaningOf(saved.written), meaningOf(options.written)],
    [saved.heads, options.heads],
    [saved.causal, options.causal],
    [saved.decoder, options.decoder],
  ].every(([of, wanted]) => of === undefined || of === wanted);
