// The positions of a reader's model: its learned table, or how it rotates queries and keys.

import { product } from '../../core/product.js';
import { coarse, matrixOf } from '../../drawing/matrix.js';
import { components } from './components.js';
import { addedPlaces } from './ownOrder.js';
import { spectrum } from './spectrum.js';

/** @typedef {import('attn').Tensor} Tensor */
/** @typedef {import('../../drawing/matrix.js').Matrix} Matrix */

/**
 * Data for drawing a table of positions.
 * @typedef {object} Table
 * @property {Matrix} rows (n, E)
 * @property {Matrix} products (n, n), dot products of the same rows
 * @property {Tensor} scores (components, positions), for at most 1,024 positions
 * @property {number[]} shares
 * @property {number[]} waves the shares of the variance at 1, 2 … periods over these positions
 *
 * @typedef {object} Turning how a layer rotates queries and keys
 * @property {number[]} layers indices of the layers that rotate this way
 * @property {number[]} frequencies radians per position
 * @property {number[] | null} without the frequencies without the scaling rule, if there is one
 * @property {string} rule name of the scaling rule, if any
 * @property {number} attentionFactor
 *
 * @typedef {{ learned: { all: number, yours: Table, sinusoid: Table } } | { turnings: Turning[]
 *   }} Places
 */

/**
 * Largest number of rows to draw, and largest number of rows from which components are computed.
 */
const [mostRows, mostFound] = [256, 1024];
const count = 6;

/** @param {Tensor} table @param {number} most @returns {Tensor} */
const first = ({ data, shape: [n, d] }, most) => ({
  data: data.subarray(0, Math.min(n, most) * d),
  shape: [Math.min(n, most), d],
});

/** @param {Tensor} tensor */
const drawn = (tensor) => {
  const matrix = matrixOf({ ...tensor, data: tensor.data.slice() });
  return { ...matrix, coarse: coarse(matrix) };
};

/** @param {import('attn').Attn} attn @param {Tensor} table @returns {Generator<null, Table>} */
function* tableOf(attn, table) {
  const some = first(table, mostRows);
  const products = product(attn, some, some);
  yield null;
  return {
    ...{ rows: drawn(some), products: drawn(products) },
    ...(yield* components(attn, first(table, mostFound), count)),
    waves: yield* spectrum(attn, first(table, mostFound)),
  };
}

/**
 * @param {import('attn').Attn} attn
 * @param {Tensor} table (n, E)
 * @returns {Generator<null, Places>}
 */
export function* learnedPlaces(attn, table) {
  const [all, dModel] = table.shape;
  const length = Math.min(all, mostFound);
  const yours = yield* tableOf(attn, table);
  const sinusoid = yield* tableOf(attn, attn.sinusoidalEncoding({ length, dModel }));
  return { learned: { all, yours, sinusoid } };
}

/**
 * Groups the layers by their rotation.
 * @param {import('attn').Attn} attn
 * @param {import('attn').LanguageModel} model
 * @returns {Places}
 */
export function turnings(attn, model) {
  /** @type {Turning[]} */
  const found = [];
  model.description.layers.forEach(({ rotaryDim, rotaryBase: base, rotaryScaling }, layer) => {
    const turning = model.rotaryFrequencies(layer);
    if (!turning || rotaryDim === undefined) return;
    const frequencies = [...turning.frequencies];
    const rule = rotaryScaling ?? '';
    const same = found.find(
      (each) => each.rule === rule && each.frequencies.join() === frequencies.join(),
    );
    if (same) {
      same.layers.push(layer);
      return;
    }
    let without = null;
    if (rule) {
      const plain = new attn.RotaryEmbedding({ rotaryDim, base });
      without = [...plain.frequencies()];
      plain.dispose();
    }
    const { attentionFactor } = turning;
    found.push({ layers: [layer], frequencies, attentionFactor, without, rule });
  });
  return { turnings: found };
}

/**
 * If positions are added to embeddings, the added rows, (n, E). If positions rotate queries and
 * keys, the sines and cosines of the angles for a head's pairs of columns in a layer, (n, D).
 * @param {import('attn').Attn} attn
 * @param {import('attn').LanguageModel} model
 * @param {number} length
 * @param {number} layer
 * @returns {Tensor | null}
 */
export function positionsOf(attn, model, length, layer) {
  const added = addedPlaces(attn, model, length);
  const frequencies = model.rotaryFrequencies(layer, length)?.frequencies;
  if (added || !frequencies) return added;
  const columns = 2 * frequencies.length;
  const data = Float32Array.from({ length: length * columns }, (_, i) => {
    const column = i % columns;
    const angle = Math.floor(i / columns) * frequencies[column >> 1];
    return column % 2 ? Math.cos(angle) : Math.sin(angle);
  });
  return { data, shape: [length, columns] };
}
