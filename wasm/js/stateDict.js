import { checkText, invalid } from './errors.js';
import { nativeIn, nativeOf, runtimeOf } from './nativeObject.js';
import { readOptions } from './options.js';
import { withSafetensors } from './safetensors.js';

/** @import { ElementsLike } from './elementType.js' */
/** @import { NativeObject } from './nativeObject.js' */
/** @import { Names } from './options.js' */
/** @import { IncompatibleKeys, Named, Safetensors } from './safetensors.js' */
/** @import { Tensor } from './tensor.js' */
/** @import { TensorHandle } from './tensorHandle.js' */

/**
 * @typedef {object} StateDictOptions
 * @property {string} [prefix]  put in front of each name; none by default
 */

/**
 * @typedef {object} LoadStateDictOptions
 * @property {string} [prefix]  prefix of the names in the source; none by default
 * @property {boolean} [strict]  true if missing and unexpected names are an error; `true` by default
 */

/** @type {Names<StateDictOptions>} */
const kStateDict = { prefix: true };
/** @type {Names<LoadStateDictOptions>} */
const kLoadStateDict = { prefix: true, strict: true };

/**
 * Returns tensors by name, with the prefix in front of each name.
 * @param {StateDictOptions} options
 * @param {() => string[]} names
 * @param {(name: string, place: number) => Tensor} tensor
 * @returns {Record<string, Tensor>}
 */
export function makeStateDict(options, names, tensor) {
  options = readOptions(options, kStateDict);
  const prefix = checkPrefix(options.prefix);
  return Object.fromEntries(names().map((name, place) => [prefix + name, tensor(name, place)]));
}

/**
 * Sets the state of a layer or an optimiser from a file or from tensors.
 * @param {NativeObject} object
 * @param {ArrayBuffer | Uint8Array | Safetensors | Named<ElementsLike | TensorHandle>} source
 * @param {LoadStateDictOptions} options
 * @returns {IncompatibleKeys}
 */
export function loadState(object, source, options) {
  options = readOptions(options, kLoadStateDict);
  const prefix = checkPrefix(options.prefix);
  const { strict = true } = options;
  if (typeof strict !== 'boolean') throw invalid('strict', strict, 'true or false');
  const runtime = runtimeOf(object);
  return withSafetensors(runtime, source, (file) => {
    const opened = nativeIn(runtime, 'source', file);
    return runtime.memory.enter(() => nativeOf(object).loadStateDict(opened, prefix, strict));
  });
}

/** @param {string} [prefix] */
function checkPrefix(prefix = '') {
  checkText('prefix', prefix, 'a string');
  return prefix;
}
