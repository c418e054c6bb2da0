import { NativeObject } from './nativeObject.js';
import { heads } from './scaledDotProductAttention.js';
import {
  asTensor,
  checkChoice,
  checkFlag,
  checkInteger,
  checkIntegers,
  checkNumber,
  checkNumbers,
  checkOptions,
  checkShape,
  checkTensor,
  formatShape,
  rowMajor,
} from './tensor.js';
import { AttnError } from './errors.js';

/** @import { Call } from './call.js' */
/** @import { Runtime } from './runtime.js' */
/** @import { Integers, NumbersLike, TensorLike } from './tensor.js' */
/** @import { ResultKind, ResultTensor } from './tensorHandle.js' */

/**
 * Which two columns of a head are rotated together: `'halfSplit'` j and j + rotaryDim/2 (GPT-NeoX,
 * Llama in Hugging Face's Transformers, MLX `traditional=False`, ONNX `interleaved=0`), or
 * `'interleaved'` 2j and 2j + 1 (RoFormer, GPT-J, Meta's Llama, MLX `traditional=True`, ONNX
 * `interleaved=1`).
 * @typedef {'halfSplit' | 'interleaved'} RotaryPairing
 */

/** In the order of the C++ enumeration. */
const kPairings = ['interleaved', 'halfSplit'];

/**
 * Position interpolation: ω'_j = ω_j / factor.
 * @typedef {object} LinearRotaryScaling
 * @property {'linear'} type
 * @property {number} factor
 */

/**
 * Dynamic NTK: for sequences of length L > maxPositionEmbeddings
 * base' = base · (factor·L/maxPositionEmbeddings − (factor − 1))^(d/(d−2)).
 * @typedef {object} DynamicNtkRotaryScaling
 * @property {'dynamic'} type
 * @property {number} factor
 * @property {number} [maxPositionEmbeddings]  2048 by default
 */

/**
 * YaRN (arXiv:2309.00071): ω'_j = (1 − r_j)·ω_j + r_j·ω_j/factor with a ramp r_j over the columns,
 * and all cosines and sines times the attention factor.
 * @typedef {object} YarnRotaryScaling
 * @property {'yarn'} type
 * @property {number} factor
 * @property {number} [originalMaxPositionEmbeddings]  2048 by default
 * @property {number} [attentionFactor]  by default from `factor`, `mscale` and `mscaleAllDim`
 * @property {number} [betaFast]  32 by default
 * @property {number} [betaSlow]  1 by default
 * @property {number} [mscale]
 * @property {number} [mscaleAllDim]
 * @property {boolean} [truncate]  round the ramp's ends to whole columns; `true` by default
 */

/**
 * Llama 3.1 and later: ω'_j = (1 − s_j)·ω_j/factor + s_j·ω_j.
 * @typedef {object} Llama3RotaryScaling
 * @property {'llama3'} type
 * @property {number} [factor]  8 by default
 * @property {number} [lowFreqFactor]  1 by default
 * @property {number} [highFreqFactor]  4 by default
 * @property {number} [originalMaxPositionEmbeddings]  8192 by default
 */

/**
 * How frequencies are changed to reach beyond the length of training, with the names that
 * `rope_scaling` has in Hugging Face's Transformers.
 * @typedef {LinearRotaryScaling | DynamicNtkRotaryScaling | YarnRotaryScaling |
 *   Llama3RotaryScaling} RotaryScaling
 */

/**
 * @typedef {object} RotaryRule
 * @property {RotaryPairing} [pairing]  `'halfSplit'` by default
 * @property {number} [base]  10000 by default
 * @property {RotaryScaling} [scaling]
 * @property {ArrayLike<number>} [frequencies]  ω_0 … ω_(d/2−1) in radians per position, instead of
 *   base and scaling
 */

/**
 * @typedef {RotaryRule & { rotaryDim: number }} RotaryEmbeddingOptions  `rotaryDim` is d, the leading
 *   columns of each head that are rotated; even
 */

/**
 * Which positions the rows of a call have.
 * @typedef {object} RotaryPositions
 * @property {number} [start]  row i has position start + i: with a key/value cache, the past length;
 *   0 by default
 * @property {ArrayLike<number> | NumbersLike} [positions]  instead: (N,), or (B, N); fractional and
 *   negative ones too
 * @property {number} [sequenceLength]  L of dynamic NTK scaling; the largest position + 1 by default
 * @property {boolean} [inverse]  rotate back; not by default
 */

/**
 * @typedef {object} HeadsOption
 * @property {number} [numHeads]  H, for an `x` that holds all heads side by side: (B, N, H·D)
 */

/** @typedef {RotaryPositions & HeadsOption} RotaryForwardOptions */

/**
 * @typedef {RotaryPositions & { length?: number }} RotaryTableOptions  `length` is N; left out where
 *   positions are given
 */

/**
 * @template {ResultKind} [As='array']
 * @typedef {object} RotaryTables
 * @property {ResultTensor<As>} cos  (N, d/2) or (B, N, d/2)
 * @property {ResultTensor<As>} sin  of the same shape
 */

/**
 * @typedef {object} RotaryCacheOptions
 * @property {Integers} [positionIds]  rows of the caches: (N,), or (B, N). By default row i of a
 *   sequence takes row i
 * @property {RotaryPairing} [pairing]  `'halfSplit'` by default
 * @property {number} [rotaryDim]  columns rotated in each head; twice the width of the caches by
 *   default
 * @property {boolean} [inverse]  rotate back; not by default
 * @property {number} [numHeads]  H, for an `x` that holds all heads side by side: (B, N, H·D)
 */

const kRanks = { 2: '(N, D)', 3: '(B, N, D)', 4: '(B, H, N, D)' };

/**
 * Rotary positional embedding (RoPE; Su et al. 2021): rotates each pair (x, y) of columns of queries
 * and keys by an angle that grows with the position,
 *
 *   x' = a · (cos(p·ω_j)·x − sin(p·ω_j)·y)
 *   y' = a · (sin(p·ω_j)·x + cos(p·ω_j)·y),   ω_j = base^(−2j/d) or scaled
 *
 * so that the score of a query at p and a key at p' depends on p − p' alone. Frequencies and angles
 * are in double precision; results are within a · 1.7e-7 · (|x| + |y|) of the exact rotation for
 * |positions| ≤ 2^24.
 *
 * @template {ResultKind} [As='array']
 */
export class RotaryEmbedding extends NativeObject {
  #rotaryDim;
  #attentionFactor;

  /**
   * @param {Runtime} runtime
   * @param {RotaryEmbeddingOptions} options
   */
  constructor(runtime, options) {
    checkOptions(options);
    checkInteger('rotaryDim', options.rotaryDim, 2);
    checkRotary(options);
    let attentionFactor = 1;
    const address = runtime.call((call) => {
      writeRotary(call, options.rotaryDim, options);
      call.run(runtime.native.makeRotaryEmbedding);
      attentionFactor = call.given(1);
      return call.given(0);
    });
    super(runtime, 'deleteRotaryEmbedding', address);
    this.#rotaryDim = options.rotaryDim;
    this.#attentionFactor = attentionFactor;
  }

  /** d, the columns of each head that are rotated. */
  get rotaryDim() {
    return this.#rotaryDim;
  }

  /** What cosines and sines are multiplied by: 1, except with YaRN. */
  get attentionFactor() {
    return this.#attentionFactor;
  }

  /**
   * ω_0 … ω_(d/2−1), in radians per position.
   * @param {number} [sequenceLength]  L; only dynamic NTK scaling depends on it
   * @returns {Float64Array}
   */
  frequencies(sequenceLength = 0) {
    checkNumber('sequenceLength', sequenceLength);
    const length = this.#rotaryDim / 2;
    return this.runtime.call((call) => {
      call.number(this.address);
      call.number(sequenceLength);
      const output = call.doubles('frequencies', {
        data: new Float64Array(length),
        shape: [length],
      });
      call.run(this.runtime.native.rotaryFrequencies);
      return call.copyDoubles(output, length);
    });
  }

  /**
   * Rotates queries or keys.
   * @param {TensorLike} x  (B, H, N, D), (B, N, D) or (N, D), with D ≥ rotaryDim
   * @param {RotaryForwardOptions} [options]
   * @returns {ResultTensor<As>} the shape of `x`
   * @throws {AttnError} `shape_mismatch`, `invalid_argument`, `out_of_memory`, `disposed`
   */
  forward(x, options = {}) {
    checkOptions(options);
    const { numHeads } = options;
    checkTensor('x', x, numHeads === undefined ? kRanks : { 3: '(B, N, H·D)' });
    checkHeads(x, numHeads);
    const positions = checkPositions(options);
    return this.runtime.call((call) => {
      call.number(this.address);
      const output = writeRotated(call, x, numHeads);
      writePositions(call, options, positions);
      call.run(this.runtime.native.forwardRotaryEmbedding);
      return call.give(output);
    });
  }

  /**
   * The cosines and sines of such a call: a·cos(p·ω_j) and a·sin(p·ω_j).
   * @param {RotaryTableOptions} options
   * @returns {RotaryTables<As>}
   * @throws {AttnError} `invalid_argument`, `size_overflow`, `out_of_memory`, `disposed`
   */
  tables(options) {
    checkOptions(options);
    const positions = checkPositions(options);
    if (!positions) checkInteger('length', /** @type {number} */ (options.length), 0);
    const rows = positions ? positions.shape : [/** @type {number} */ (options.length)];
    const shape = [...rows, this.#rotaryDim / 2];
    checkShape('cos', shape);
    return this.runtime.call((call) => {
      call.number(this.address);
      const cos = call.result('cos', shape);
      const sin = call.result('sin', shape);
      writePositions(call, options, positions);
      call.run(this.runtime.native.rotaryTables);
      return { cos: call.give(cos), sin: call.give(sin) };
    });
  }
}

/**
 * @param {Runtime} runtime
 * @param {TensorLike} x
 * @param {TensorLike} cosCache
 * @param {TensorLike} sinCache
 * @param {RotaryCacheOptions} options
 */
export function applyRotaryEmbedding(runtime, x, cosCache, sinCache, options) {
  checkOptions(options);
  const { positionIds, pairing = 'halfSplit', rotaryDim = 0, numHeads } = options;
  checkTensor('x', x, numHeads === undefined ? kRanks : { 3: '(B, N, H·D)' });
  checkHeads(x, numHeads);
  const ranks = { 2: '(rows, rotaryDim/2)', 3: '(B, N, rotaryDim/2)' };
  checkTensor('cosCache', cosCache, ranks);
  checkTensor('sinCache', sinCache, ranks);
  checkChoice('pairing', pairing, kPairings);
  checkInteger('rotaryDim', rotaryDim, 0);
  const rows = cosCache.shape[cosCache.shape.length - 2];
  const ids =
    positionIds && checkIntegers('positionIds', positionIds, 0, rows - 1, `a row below ${rows}`);
  return runtime.call((call) => {
    const output = writeRotatedBetween(call, x, numHeads, () => {
      call.floats('cosCache', cosCache);
      call.floats('sinCache', sinCache);
    });
    call.longs('positionIds', ids);
    call.number(kPairings.indexOf(pairing));
    call.number(rotaryDim);
    call.flag(options.inverse);
    call.run(runtime.native.applyRotaryEmbedding);
    return call.give(output);
  });
}

/**
 * Checks what does not depend on the width.
 * @param {RotaryRule} options
 */
export function checkRotary({ pairing = 'halfSplit', base = 10000, scaling, frequencies }) {
  checkChoice('pairing', pairing, kPairings);
  checkNumber('base', base);
  if (frequencies) checkNumbers('frequencies', frequencies);
  if (!scaling) return;
  checkChoice('scaling.type', scaling.type, ['linear', 'dynamic', 'yarn', 'llama3']);
  for (const [name, value] of Object.entries(scaling)) {
    if (name === 'type' || value === undefined) continue;
    if (name === 'truncate') checkFlag(`scaling.${name}`, value);
    else checkNumber(`scaling.${name}`, /** @type {number} */ (value));
  }
  if (scaling.type !== 'llama3') checkNumber('scaling.factor', scaling.factor);
}

/**
 * Writes checked options, as rotary_options() in C++ reads them.
 * @param {Call} call
 * @param {number} rotaryDim
 * @param {RotaryRule} options
 */
export function writeRotary(call, rotaryDim, options) {
  const { pairing = 'halfSplit', base = 10000, scaling, frequencies } = options;
  call.number(rotaryDim);
  call.number(kPairings.indexOf(pairing));
  call.number(base);
  writeScaling(call, scaling);
  call.doubles('frequencies', frequencies && asTensor('frequencies', frequencies));
}

/**
 * @param {Call} call
 * @param {RotaryScaling} [scaling]
 */
function writeScaling(call, scaling) {
  switch (scaling?.type) {
    case undefined:
      return call.number(0);
    case 'linear':
      call.number(1);
      return call.number(scaling.factor);
    case 'dynamic':
      call.number(2);
      call.number(scaling.factor);
      return call.number(scaling.maxPositionEmbeddings ?? 2048);
    case 'yarn':
      call.number(3);
      call.number(scaling.factor);
      call.number(scaling.originalMaxPositionEmbeddings ?? 2048);
      call.optional(scaling.attentionFactor);
      call.number(scaling.betaFast ?? 32);
      call.number(scaling.betaSlow ?? 1);
      call.optional(scaling.mscale);
      call.optional(scaling.mscaleAllDim);
      return call.flag(scaling.truncate ?? true);
    case 'llama3':
      call.number(4);
      call.number(scaling.factor ?? 8);
      call.number(scaling.lowFreqFactor ?? 1);
      call.number(scaling.highFreqFactor ?? 4);
      return call.number(scaling.originalMaxPositionEmbeddings ?? 8192);
  }
}

/**
 * @param {RotaryPositions} options
 * @returns {NumbersLike | undefined} the positions, if they are given
 */
function checkPositions({ start = 0, positions, sequenceLength }) {
  checkNumber('start', start);
  if (sequenceLength !== undefined) checkNumber('sequenceLength', sequenceLength);
  return positions && asTensor('positions', positions);
}

/**
 * @param {Call} call
 * @param {RotaryPositions} options
 * @param {NumbersLike} [positions]
 */
function writePositions(call, { start = 0, sequenceLength, inverse }, positions) {
  call.number(start);
  call.doubles('positions', positions);
  call.optional(sequenceLength);
  call.flag(inverse);
}

/**
 * @param {TensorLike} x
 * @param {number} [numHeads]
 */
function checkHeads(x, numHeads) {
  if (numHeads === undefined) return;
  checkInteger('numHeads', numHeads, 1);
  if (x.shape[2] % numHeads === 0) return;
  const needs = `a width divisible by ${numHeads} heads`;
  throw new AttnError('shape_mismatch', `x: got shape ${formatShape(x.shape)}, needs ${needs}`);
}

/**
 * @param {Call} call
 * @param {TensorLike} x
 * @param {number | undefined} numHeads
 */
const writeRotated = (call, x, numHeads) => writeRotatedBetween(call, x, numHeads, () => {});

/**
 * Writes `x`, what comes between, and the output, all heads apart.
 * @param {Call} call
 * @param {TensorLike} x
 * @param {number | undefined} numHeads
 * @param {() => void} between
 */
function writeRotatedBetween(call, x, numHeads, between) {
  if (numHeads === undefined) {
    call.floats('x', x);
    between();
    return call.result('output', x.shape);
  }
  const { address, shape, strides } = call.place('x', x);
  const input = heads(shape, strides, numHeads);
  call.view(address, input.shape, input.strides);
  between();
  const seen = heads(shape, rowMajor(shape), numHeads);
  return call.result('output', shape, seen.shape, seen.strides);
}
