import * as checks from './checks.js';
import { checkChoice, checkInteger, explainedError } from './errors.js';
import { NativeObject } from './nativeObject.js';
import { readOptions, wanted } from './options.js';
import { asTensor, checkIntegers, copyNumbers, kHeadRanks } from './tensor.js';

/** @import { CheckTable } from './checks.js' */
/** @import * as Native from './native.js' */
/** @import { NativeCall } from './nativeCall.js' */
/** @import { ElementsLike, ElementType, OutputTypeOption, ResultOfType } from './elementType.js' */
/** @import { Names } from './options.js' */
/** @import { Runtime } from './runtime.js' */
/** @import { Integers, NumbersLike, TensorLike } from './tensor.js' */
/** @import { Given, Gives, ResultKind, ResultTensor, TensorHandle } from './tensorHandle.js' */

/**
 * Rule that pairs the columns of a head; the columns of a pair are rotated together. `'halfSplit'`
 * pairs columns j and j + rotaryDim/2 (GPT-NeoX, Llama in Hugging Face's Transformers, MLX
 * `traditional=False`, ONNX `interleaved=0`). `'interleaved'` pairs columns 2j and 2j + 1
 * (RoFormer, GPT-J, Meta's Llama, MLX `traditional=True`, ONNX `interleaved=1`).
 * @typedef {'halfSplit' | 'interleaved'} RotaryPairing
 */

const kPairings = /** @type {const} */ (['interleaved', 'halfSplit']);

/**
 * Position interpolation: ω'_j = ω_j / factor.
 * @typedef {object} LinearRotaryScaling
 * @property {'linear'} type
 * @property {number} factor
 */

/**
 * Dynamic NTK: for sequences of length L > maxPositionEmbeddings,
 * base' = base · (factor·L/maxPositionEmbeddings − (factor − 1))^(d/(d−2)).
 * @typedef {object} DynamicNtkRotaryScaling
 * @property {'dynamic'} type
 * @property {number} factor
 * @property {number} [maxPositionEmbeddings]  2048 by default
 */

/**
 * YaRN (arXiv:2309.00071): ω'_j = (1 − r_j)·ω_j + r_j·ω_j/factor with a ramp r_j over the columns.
 * All cosines and sines are multiplied by the attention factor.
 * @typedef {object} YarnRotaryScaling
 * @property {'yarn'} type
 * @property {number} factor
 * @property {number} [originalMaxPositionEmbeddings]  2048 by default
 * @property {number} [attentionFactor]  by default computed from `factor`, `mscale` and `mscaleAllDim`
 * @property {number} [betaFast]  32 by default
 * @property {number} [betaSlow]  1 by default
 * @property {number} [mscale]
 * @property {number} [mscaleAllDim]
 * @property {boolean} [truncate]  rounds the ramp's ends to whole columns; `true` by default
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
 * p-RoPE (arXiv:2410.06205), as in Gemma: the first ⌊partialRotaryFactor · d/2⌋ pairs rotate at the frequencies
 * of the whole head, ω'_j = ω_j / factor. The remaining, slower pairs do not rotate.
 * @typedef {object} ProportionalRotaryScaling
 * @property {'proportional'} type
 * @property {number} [partialRotaryFactor]  in [0, 1]; 1 by default
 * @property {number} [factor]  1 by default
 */

/**
 * LongRoPE (arXiv:2402.13753): ω'_j = ω_j / λ_j, where λ is longFactor for sequences of length
 * L > originalMaxPositionEmbeddings, and shortFactor for shorter sequences. All cosines and sines
 * are multiplied by the attention factor.
 * @typedef {object} LongRotaryScaling
 * @property {'longrope'} type
 * @property {ArrayLike<number>} shortFactor  λ_0 … λ_(d/2−1)
 * @property {ArrayLike<number>} longFactor  λ_0 … λ_(d/2−1)
 * @property {number} [originalMaxPositionEmbeddings]  4096 by default
 * @property {number} [factor]  maximum length of a sequence divided by the length in training; 1 by
 *   default
 * @property {number} [attentionFactor]  by default √(1 + ln factor / ln originalMaxPositionEmbeddings) for
 *   a factor above 1, else 1
 */

/**
 * Rule that changes the frequencies, so that sequences may be longer than in training, or so that
 * some columns do not rotate. The names follow `rope_scaling` in Hugging Face's Transformers.
 * @typedef {LinearRotaryScaling | DynamicNtkRotaryScaling | YarnRotaryScaling |
 *   Llama3RotaryScaling | ProportionalRotaryScaling | LongRotaryScaling} RotaryScaling
 */

/**
 * Rule that assigns an axis to each pair, for positions with several axes. With `'sections'`, the
 * first axis rotates the pairs of the first section, and so on (Qwen2-VL's M-RoPE). With
 * `'interleaved'`, the axes take turns: axis j modulo the number of axes rotates pair j, as long as
 * that axis has pairs left in its section. The first axis rotates all other pairs (Qwen3-VL).
 * `'axial'` is like `'sections'`, but frequencies start again in each section (vision
 * transformers).
 * @typedef {'sections' | 'interleaved' | 'axial'} RotaryAxes
 */

const kAxes = /** @type {const} */ (['sections', 'interleaved', 'axial']);

/**
 * @typedef {object} RotaryRule
 * @property {RotaryPairing} [pairing]  `'halfSplit'` by default
 * @property {number} [base]  10000 by default
 * @property {RotaryScaling} [scaling]
 * @property {ArrayLike<number>} [frequencies]  ω_0 … ω_(d/2−1) in radians per position, instead of
 *   base and scaling
 * @property {Integers} [sections]  for positions with several axes, such as time, height and width: the number
 *   of pairs for each axis, d/2 in total. Hugging Face's Transformers calls this `mrope_section`
 * @property {RotaryAxes} [axes]  `'sections'` by default
 */

/**
 * @typedef {RotaryRule & { rotaryDim: number }} RotaryEmbeddingOptions  `rotaryDim` is d: how many leading
 *   columns of each head are rotated; must be even
 */

/**
 * The positions of the rows in a call.
 * @typedef {object} RotaryPositions
 * @property {number} [start]  position of row 0; row i has position start + i. With a key/value
 *   cache, pass the past length; 0 by default
 * @property {ArrayLike<number> | NumbersLike} [positions]  positions, instead of `start`: (N,) or
 *   (B, N). They may be fractional or negative. With several axes, the shape is (A, B, N), or (A,
 *   1, N) if the batch shares the positions. Shapes (N,) and (B, N), for example for text, then
 *   give all axes the same positions
 * @property {number} [sequenceLength]  L of dynamic NTK scaling and LongRoPE; the largest position
 *   + 1 by default
 * @property {boolean} [inverse]  rotates back; `false` by default
 */

/**
 * @typedef {object} HeadsOption
 * @property {number} [numHeads]  H, for an `x` with all heads side by side: (B, N, H·D)
 */

/**
 * @template {ElementType} [Output=ElementType]
 * @typedef {RotaryPositions & HeadsOption & OutputTypeOption<Output>} RotaryForwardOptions
 */

/**
 * @typedef {RotaryPositions & { length?: number }} RotaryTableOptions  `length` is N; leave it out if you
 *   pass positions
 */

/**
 * @template {ResultKind} [As='array']
 * @typedef {object} RotaryTables
 * @property {ResultTensor<As>} cos  (N, d/2) or (B, N, d/2)
 * @property {ResultTensor<As>} sin  with the shape of `cos`
 */

/**
 * @typedef {object} RotaryCacheRule
 * @property {Integers} [positionIds]  row of the caches for each row of `x`: (N,) or (B, N). By
 *   default row i of a sequence uses row i of the caches
 * @property {RotaryPairing} [pairing]  `'halfSplit'` by default
 * @property {number} [rotaryDim]  columns rotated in each head; twice the width of the caches by
 *   default
 * @property {boolean} [inverse]  rotates back; `false` by default
 */

/**
 * @template {ElementType} [Output=ElementType]
 * @typedef {RotaryCacheRule & HeadsOption & OutputTypeOption<Output>} RotaryCacheOptions
 */

const kRanksOfAllHeads = { 3: '(B, N, H·D)' };
const kRanksOfCache = { 2: '(rows, rotaryDim/2)', 3: '(B, N, rotaryDim/2)' };

/** @type {Names<RotaryRule>} */
export const kRotaryRule = {
  pairing: true,
  base: true,
  scaling: true,
  frequencies: true,
  sections: true,
  axes: true,
};
/** @type {Names<RotaryEmbeddingOptions>} */
const kOptions = { rotaryDim: true, ...kRotaryRule };
/** @type {Names<RotaryPositions>} */
const kPositions = { start: true, positions: true, sequenceLength: true, inverse: true };
/** @type {Names<RotaryPositions & HeadsOption>} */
export const kRecordOptions = { ...kPositions, numHeads: true };
/** @type {Names<RotaryForwardOptions>} */
const kForwardOptions = { ...kRecordOptions, outputType: true };
/** @type {Names<RotaryTableOptions>} */
const kTableOptions = { ...kPositions, length: true };
/** @type {Names<RotaryCacheOptions>} */
const kCacheOptions = {
  positionIds: true,
  pairing: true,
  rotaryDim: true,
  inverse: true,
  numHeads: true,
  outputType: true,
};

/**
 * Rotary positional embedding (RoPE; Su et al. 2021). It rotates each pair (x, y) of columns of queries
 * and keys by an angle that grows with the position:
 *
 *   x' = a · (cos(p·ω_j)·x − sin(p·ω_j)·y)
 *   y' = a · (sin(p·ω_j)·x + cos(p·ω_j)·y),   ω_j = base^(−2j/d) or scaled
 *
 * The score of a query at p and a key at p' therefore depends only on p − p'. The factor a is the
 * attention factor. Frequencies and angles are computed in double precision. Results are within a ·
 * 1.7e-7 · (|x| + |y|) of the exact rotation for |positions| ≤ 2^24.
 *
 * @template {ResultKind} [As='array']
 * @extends {NativeObject<Native.RotaryEmbedding>}
 */
export class RotaryEmbedding extends NativeObject {
  /** @internal */
  static name = 'RotaryEmbedding';

  #rotaryDim;
  #attentionFactor;

  /**
   * @param {Runtime} runtime
   * @param {RotaryEmbeddingOptions} options
   */
  constructor(runtime, options) {
    options = readOptions(options, kOptions);
    const { rotaryDim } = options;
    const native = runtime.invoke((call) => {
      checkInteger('rotaryDim', rotaryDim, 2);
      const checked = checkRotary(options, rotaryDim);
      return call.run((native) => new native.RotaryEmbedding(nativeRotary(call, checked)));
    });
    super(runtime, native);
    this.#rotaryDim = rotaryDim;
    this.#attentionFactor = this.enter((rotary) => rotary.attentionFactor());
  }

  /** @protected */
  facts() {
    return { rotaryDim: this.#rotaryDim };
  }

  /** d, the number of columns of each head that are rotated. */
  get rotaryDim() {
    return this.#rotaryDim;
  }

  /** The factor that multiplies all cosines and sines. It is 1, except with YaRN or LongRoPE. */
  get attentionFactor() {
    return this.#attentionFactor;
  }

  /**
   * Returns ω_0 … ω_(d/2−1), in radians per position.
   * @param {number} [sequenceLength]  L; dynamic NTK scaling and LongRoPE depend on it
   * @returns {Float64Array}
   */
  frequencies(sequenceLength = 0) {
    checks.finite('sequenceLength', sequenceLength);
    return Float64Array.from(this.enter((rotary) => rotary.frequencies(sequenceLength)));
  }

  /**
   * Rotates queries or keys.
   * @template {ElementType} [Output='float32']
   * @overload
   * @param {Given<As, ElementsLike | TensorHandle>} x  (B, H, N, D), (B, N, D) or (N, D), with D ≥ rotaryDim, of
   *   any element type
   * @param {Given<As, RotaryForwardOptions<Output>>} [options]
   * @returns {Gives<As, ResultOfType<As, Output>>} the shape of `x`
   * @throws {AttnError} `shape_mismatch`, `invalid_argument`, `out_of_memory`, `disposed`
   */
  /**
   * @param {any} x
   * @param {any} [options]
   * @returns {any}
   */
  forward(x, options = {}) {
    options = readOptions(options, kForwardOptions);
    return this.invoke((call) => {
      const heads = checkHeads(call, x, options);
      const output = call.output(options.outputType, heads.shape, options.numHeads);
      const at = checkPositions(call, options);
      call.run(() =>
        this.native.forward(
          heads.x.native,
          output.tensor.native,
          at.start,
          at.positions?.native ?? null,
          at.sequenceLength,
          at.inverse,
        ),
      );
      return call.give(output);
    });
  }

  /**
   * Returns the cosines and sines that `forward()` uses: a·cos(p·ω_j) and a·sin(p·ω_j).
   * @param {RotaryTableOptions} options
   * @returns {RotaryTables<As>}
   * @throws {AttnError} `invalid_argument`, `size_overflow`, `out_of_memory`, `disposed`
   */
  tables(options) {
    const { length, positions: given, ...others } = readOptions(options, kTableOptions);
    const positions = given === undefined ? given : asTensor('positions', given);
    if (positions === undefined) checkInteger('length', /** @type {number} */ (length), 0);
    else if (length !== undefined) {
      const sentence = 'cannot be combined with positions; pass only one of them';
      throw explainedError('invalid_argument', 'length', sentence);
    }
    // If positions have shape (A, B, N), each axis has its own columns, so the tables do not have
    // dimension A.
    const rows = positions === undefined ? [length] : positions.shape.slice(-2);
    const shape = /** @type {number[]} */ ([...rows, this.#rotaryDim / 2]);
    return this.invoke((call) => {
      const cos = call.result('cos', shape);
      const sin = call.result('sin', shape);
      const at = checkPositions(call, { ...others, positions });
      call.run(() =>
        this.native.tables(
          cos.tensor.native,
          sin.tensor.native,
          at.start,
          at.positions?.native ?? null,
          at.sequenceLength,
          at.inverse,
        ),
      );
      return { cos: call.give(cos), sin: call.give(sin) };
    });
  }
}

/**
 * @param {Runtime} runtime
 * @param {ElementsLike | TensorHandle} x
 * @param {TensorLike} cosCache
 * @param {TensorLike} sinCache
 * @param {RotaryCacheOptions} options
 */
export function applyRotaryEmbedding(runtime, x, cosCache, sinCache, options) {
  options = readOptions(options, kCacheOptions);
  const { positionIds, pairing = 'halfSplit', rotaryDim = 0, inverse = false, numHeads } = options;
  return runtime.invoke((call) => {
    const heads = checkHeads(call, x, options);
    const cos = call.tensor('cosCache', cosCache, kRanksOfCache);
    const sin = call.tensor('sinCache', sinCache, kRanksOfCache);
    const output = call.output(options.outputType, heads.shape, numHeads);
    const rows = cos.shape[cos.shape.length - 2];
    const ids =
      positionIds === undefined
        ? undefined
        : checkIntegers(
            'positionIds',
            positionIds,
            0,
            rows - 1,
            `the index of a row, below ${rows}`,
          );
    const given = ids && call.numbers('doubles', 'positionIds', ids);
    checkChoice('pairing', pairing, kPairings);
    checkInteger('rotaryDim', rotaryDim, 0);
    wanted('inverse', inverse);
    call.run((native) =>
      native.applyRotaryEmbedding(
        heads.x.native,
        cos.native,
        sin.native,
        output.tensor.native,
        given?.native ?? null,
        native.RotaryPairing[pairing],
        rotaryDim,
        inverse,
      ),
    );
    return call.give(output);
  });
}

/**
 * The parameters of each kind of scaling.
 * @type {Record<string, CheckTable>}
 */
export const kScalings = {
  linear: { factor: checks.real() },
  dynamic: { factor: checks.real(), maxPositionEmbeddings: checks.size(2048) },
  yarn: {
    factor: checks.real(),
    originalMaxPositionEmbeddings: checks.size(2048),
    attentionFactor: checks.optionalReal,
    betaFast: checks.real(32),
    betaSlow: checks.real(1),
    mscale: checks.optionalReal,
    mscaleAllDim: checks.optionalReal,
    truncate: checks.flag(true),
  },
  llama3: {
    factor: checks.real(8),
    lowFreqFactor: checks.real(1),
    highFreqFactor: checks.real(4),
    originalMaxPositionEmbeddings: checks.size(8192),
  },
  proportional: { partialRotaryFactor: checks.real(1), factor: checks.real(1) },
  longrope: {
    shortFactor: (name, value) => copyNumbers(name, value ?? []),
    longFactor: (name, value) => copyNumbers(name, value ?? []),
    originalMaxPositionEmbeddings: checks.size(4096),
    factor: checks.real(1),
    attentionFactor: checks.optionalReal,
  },
};

/** Names that an error message suggests if `type` is unknown. */
const kNamesOfRules = { type: true, ...Object.assign({}, ...Object.values(kScalings)) };

/**
 * The checked options of a rotation, in the form that C++ takes. Options that were not passed are undefined.
 * @typedef {ReturnType<typeof checkRotary>} CheckedRotary
 */

/**
 * Checks the options of a rotation.
 * @param {RotaryRule} options  options with checked names
 * @param {number} rotaryDim
 * @param {string} [path]  path of the option that contains `options`
 */
export function checkRotary(options, rotaryDim, path) {
  const { pairing = 'halfSplit', base = 10000, scaling, frequencies } = options;
  const { sections, axes = 'sections' } = options;
  const prefix = path === undefined ? '' : `${path}.`;
  const name = `${prefix}sections`;
  checkChoice(`${prefix}pairing`, pairing, kPairings);
  checks.finite(`${prefix}base`, base);
  const checked = {
    ...{ rotaryDim, pairing, base, axes },
    scaling: scaling === undefined ? undefined : checkScaling(`${prefix}scaling`, scaling),
    frequencies:
      frequencies === undefined ? undefined : copyNumbers(`${prefix}frequencies`, frequencies),
    sections:
      sections === undefined
        ? undefined
        : checkIntegers(name, sections, 0, 1e9, 'a whole number of pairs').data,
  };
  checkChoice(`${prefix}axes`, axes, kAxes);
  return checked;
}

/**
 * @param {string} path
 * @param {RotaryScaling} scaling
 */
function checkScaling(path, scaling) {
  const { type, ...others } = readOptions(scaling, kNamesOfRules, path, true);
  // If the type is misspelt, accept the options of all types, so that the error is about the type.
  const table = (typeof type === 'string' && kScalings[type]) || kNamesOfRules;
  const values = readOptions({ type, ...others }, { type: true, ...table }, path);
  checkChoice(`${path}.type`, type, Object.keys(kScalings));
  return { type, parameters: checks.checkValues(values, table, path) };
}

/**
 * Returns the options as a C++ object. Call this function inside NativeCall.run().
 * @param {NativeCall} call
 * @param {CheckedRotary} checked
 */
export function nativeRotary(call, { rotaryDim, pairing, base, scaling, axes, ...arrays }) {
  const { RotaryAxes, RotaryPairing } = call.native;
  const options = call.options('RotaryEmbeddingOptions');
  options.rotaryDim = rotaryDim;
  options.pairing = RotaryPairing[pairing];
  options.base = base;
  if (scaling) setScaling(options, scaling);
  if (arrays.frequencies) options.setFrequencies(arrays.frequencies);
  if (arrays.sections) options.setSections(arrays.sections);
  options.axes = RotaryAxes[axes];
  return options;
}

/**
 * @param {Native.RotaryEmbeddingOptions} options
 * @param {ReturnType<typeof checkScaling>} scaling
 */
function setScaling(options, { type, parameters }) {
  switch (type) {
    case 'linear':
      return options.setLinearScaling(parameters);
    case 'dynamic':
      return options.setDynamicScaling(parameters);
    case 'yarn':
      return options.setYarnScaling(parameters);
    case 'llama3':
      return options.setLlama3Scaling(parameters);
    case 'proportional':
      return options.setProportionalScaling(parameters);
    case 'longrope':
      return options.setLongScaling(parameters);
  }
}

/**
 * Checks the positions of a call.
 * @param {NativeCall} call
 * @param {RotaryPositions} options
 */
export function checkPositions(call, options) {
  const { start = 0, positions, sequenceLength, inverse } = options;
  return {
    start: checks.finite('start', start),
    positions:
      positions === undefined ? undefined : call.numbers('doubles', 'positions', positions),
    // If the sequence length is NaN, C++ uses the default.
    sequenceLength:
      sequenceLength === undefined ? NaN : checks.finite('sequenceLength', sequenceLength),
    inverse: wanted('inverse', inverse),
  };
}

/**
 * Checks `x`, splits its heads, and returns it with the shape of the result.
 * @param {NativeCall} call
 * @param {ElementsLike | TensorHandle} x
 * @param {HeadsOption} options
 */
function checkHeads(call, x, { numHeads }) {
  if (numHeads !== undefined) checkInteger('numHeads', numHeads, 1);
  const ranks = numHeads === undefined ? kHeadRanks : kRanksOfAllHeads;
  const heads = call.elements('x', x, ranks, numHeads);
  const { shape } = heads;
  if (numHeads === undefined) return { x: heads, shape };
  const [batch, , length, headDim] = shape;
  return { x: heads, shape: [batch, length, numHeads * headDim] };
}
