/**
 * Why a call failed. Codes are stable and equal to those of the C++ library.
 *
 * - `invalid_argument`: a value of the wrong type or outside its domain
 * - `shape_mismatch`: ranks or sizes of tensors that do not fit together
 * - `size_overflow`: more elements than WebAssembly memory can address
 * - `out_of_memory`: the memory asked for could not be had
 * - `unsupported`: this build or machine cannot do it
 * - `not_found`: a name, for example of a parameter, that does not exist
 * - `invalid_format`: data that is not what its format says, for example a truncated file
 * - `file_error`: a file that cannot be read or written
 * - `disposed`: an object used after `dispose()`
 * - `load_failed`: the module could not be loaded
 * - `internal`: a bug in attn
 *
 * @typedef {'invalid_argument' | 'shape_mismatch' | 'size_overflow' | 'out_of_memory' |
 *   'unsupported' | 'not_found' | 'invalid_format' | 'file_error' | 'disposed' | 'load_failed' |
 *   'internal'} AttnErrorCode
 */

/**
 * What everything in attn throws. The message names the argument, what it got and what it needs:
 * `key: length 6 does not match value length 5`. The module stays usable after it.
 */
export class AttnError extends Error {
  /** @internal */
  static name = 'AttnError';

  /**
   * @param {AttnErrorCode} code
   * @param {string} message
   * @param {ErrorOptions} [options]
   */
  constructor(code, message, options) {
    super(message, options);
    this.name = 'AttnError';
    /** @readonly The stable reason of the failure. */
    this.code = code;
  }
}

/**
 * A value as a message names it.
 * @param {unknown} value
 */
function describe(value) {
  if (typeof value === 'string') return `'${value}'`;
  if (typeof value === 'function') return 'a function';
  if (Array.isArray(value)) return 'an array';
  if (value === null || typeof value !== 'object') return String(value);
  return `an object ${value.constructor?.name ?? ''}`.trim();
}

/**
 * @param {string} name
 * @param {unknown} got
 * @param {string} needs
 * @returns {AttnError}
 */
export function invalid(name, got, needs) {
  return new AttnError('invalid_argument', `${name}: got ${describe(got)}, needs ${needs}`);
}
