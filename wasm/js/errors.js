/**
 * Why a call failed. Codes are stable, and the C++ library uses the same codes.
 *
 * - `invalid_argument`: a value of the wrong type or outside its domain
 * - `shape_mismatch`: ranks or sizes of tensors that do not match
 * - `size_overflow`: more elements than WebAssembly memory can address
 * - `out_of_memory`: there is too little memory for the call
 * - `unsupported`: something that this build or machine cannot do
 * - `not_found`: a name, for example of a parameter, that does not exist
 * - `invalid_format`: data that violates its format, for example a truncated file
 * - `file_error`: a file that cannot be read or written
 * - `disposed`: an object used after `dispose()`, or after its module stopped
 * - `load_failed`: the module could not be loaded
 * - `internal`: a bug in attn, which may have stopped the module
 *
 * @typedef {'invalid_argument' | 'shape_mismatch' | 'size_overflow' | 'out_of_memory' |
 *   'unsupported' | 'not_found' | 'invalid_format' | 'file_error' | 'disposed' | 'load_failed' |
 *   'internal'} AttnErrorCode
 */

/**
 * Details of an error besides its message.
 * @typedef {object} AttnErrorDetails
 * @property {string} [argument]
 * @property {string} [got]
 * @property {string} [needs]
 * @property {unknown} [cause]
 */

/**
 * The class of all errors that attn throws. Most messages name the wrong argument, describe the
 * value that was passed, and say which values are allowed: `key: got length 6, needs 5, the length
 * of value`. The properties `argument`, `got` and `needs` contain these three texts. Other messages
 * are sentences, and their `got` and `needs` are undefined. After an error, the module stays usable
 * unless its `disposed` is true.
 */
export class AttnError extends Error {
  /** @internal */
  static name = 'AttnError';

  /**
   * @param {AttnErrorCode} code
   * @param {string} message
   * @param {AttnErrorDetails} [details]
   */
  constructor(code, message, details = {}) {
    super(message, 'cause' in details ? { cause: details.cause } : undefined);
    this.name = 'AttnError';
    /** @readonly Stable code for the reason of the failure. */
    this.code = code;
    /**
     * Name of the argument that the error concerns, for example `validLens`. It may also be the name of a parameter, or
     * of a tensor in a file. Undefined if the error concerns none of these, as for `load_failed`, `disposed` and
     * `internal`.
     * @readonly
     */
    this.argument = details.argument;
    /** @readonly Describes the value that was passed, for example `length 6`. */
    this.got = details.got;
    /** @readonly Describes the allowed values, for example `5, the length of value`. */
    this.needs = details.needs;
  }
}

/**
 * Creates the error for a wrong argument.
 * @param {AttnErrorCode} code
 * @param {string} argument
 * @param {string} got
 * @param {string} needs
 * @param {ErrorOptions} [options]
 */
export function argumentError(code, argument, got, needs, options) {
  const message = `${argument}: got ${got}, needs ${needs}`;
  return new AttnError(code, message, { argument, got, needs, ...options });
}

/**
 * Creates the error for a wrong argument, with a sentence that says what is wrong and what to do.
 * @param {AttnErrorCode} code
 * @param {string} argument
 * @param {string} sentence
 * @param {ErrorOptions} [options]
 */
export const explainedError = (code, argument, sentence, options) =>
  new AttnError(code, `${argument}: ${sentence}`, { argument, ...options });

/**
 * Describes a value in a message.
 * @param {unknown} value
 */
function describe(value) {
  if (typeof value === 'string') return `'${value}'`;
  if (typeof value === 'function') return 'a function';
  if (Array.isArray(value)) return 'an array';
  if (value === null || typeof value !== 'object') return String(value);
  const name = value.constructor?.name;
  return typeof name === 'string' && !['', 'Object'].includes(name)
    ? `an instance of ${name}`
    : 'an object';
}

/**
 * Creates the error for an argument with a wrong value.
 * @param {string} name
 * @param {unknown} got  the value
 * @param {string} needs
 * @returns {AttnError}
 */
export function invalid(name, got, needs) {
  return argumentError('invalid_argument', name, describe(got), needs);
}

/**
 * Creates the error for a Proxy of an object. Frameworks such as Vue wrap objects in a Proxy, which
 * lacks the objects' private fields.
 * @param {string} type
 * @param {string} [name]
 */
export const notItself = (type, name = 'this') =>
  argumentError(
    'invalid_argument',
    name,
    `a Proxy for an instance of ${type}`,
    'the object itself; in Vue, wrap it with markRaw()',
  );

/**
 * Creates the error for an argument that belongs to another module.
 * @param {string} name
 */
export const ofAnotherModule = (name) =>
  explainedError(
    'invalid_argument',
    name,
    'belongs to another module; create it with the module that you call',
  );

/**
 * @param {string} name
 * @param {number} value
 * @param {number} least
 */
export function checkInteger(name, value, least) {
  if (Number.isSafeInteger(value) && value >= least) return;
  throw invalid(name, value, `a whole number of at least ${least}`);
}

/**
 * Maximum length of strings passed to C++. There is a limit, because Emscripten does not check that
 * there is enough memory for a string.
 */
const kMaxText = 4096;

/**
 * @param {string} name
 * @param {string} value
 * @param {string} needs
 */
export function checkText(name, value, needs) {
  if (typeof value !== 'string') throw invalid(name, value, needs);
  if (value.length > kMaxText) throw invalid(name, value, `at most ${kMaxText} characters`);
}

/**
 * @param {string} name
 * @param {string} value
 * @param {readonly string[]} choices
 */
export function checkChoice(name, value, choices) {
  if (choices.includes(value)) return;
  throw invalid(name, value, formatChoices(choices));
}

/** @param {readonly string[]} choices */
export const formatChoices = (choices) =>
  choices
    .map((choice) => `'${choice}'`)
    .join(', ')
    .replace(/, (?=[^,]*$)/, ' or ');

/**
 * Returns a hint if the address shows that a known tool moved a file or failed to copy it.
 * @param {string} address
 */
export function hintOf(address) {
  if (address.includes('/.vite/deps')) return "; for Vite, set optimizeDeps: { exclude: ['attn'] }";
  return /^(file:\/\/)?\/_next\//.test(address)
    ? "; for Next, set serverExternalPackages: ['attn']"
    : '';
}
