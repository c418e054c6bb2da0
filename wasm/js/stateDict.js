import { invalid } from './errors.js';
import { runtimeOf } from './nativeObject.js';
import { readOptions } from './options.js';
import { withSafetensors } from './safetensors.js';

/** @import { ElementsLike } from './elementType.js' */
/** @import { Layer } from './layer.js' */
/** @import { Optimizer } from './optimizers.js' */
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
 * @property {string} [prefix]  of the names; none by default
 * @property {boolean} [strict]  whether missing and unexpected names are an error; `true` by default
 */

/** @type {Names<StateDictOptions>} */
const kStateDict = { prefix: true };
/** @type {Names<LoadStateDictOptions>} */
const kLoadStateDict = { prefix: true, strict: true };

/**
 * Tensors by prefix and name.
 * @param {StateDictOptions} options
 * @param {() => string[]} names
 * @param {(name: string, place: number) => Tensor} tensor
 * @returns {Record<string, Tensor>}
 */
export function makeStateDict(options, names, tensor) {
  options = readOptions(options, kStateDict);
  const { prefix = '' } = options;
  if (typeof prefix !== 'string') throw invalid('prefix', prefix, 'a text');
  return Object.fromEntries(names().map((name, place) => [prefix + name, tensor(name, place)]));
}

/**
 * Sets the state of a layer or an optimiser from a file or from tensors.
 * @param {Layer | Optimizer} object
 * @param {'loadStateDict' | 'loadOptimizerState'} operation
 * @param {ArrayBuffer | Uint8Array | Safetensors | Named<ElementsLike | TensorHandle>} source
 * @param {LoadStateDictOptions} options
 * @returns {IncompatibleKeys}
 */
export function loadState(object, operation, source, options) {
  options = readOptions(options, kLoadStateDict);
  const { prefix = '', strict = true } = options;
  return withSafetensors(runtimeOf(object), source, (file) =>
    runtimeOf(object).call((call) => {
      call.object('object', object);
      call.object('source', file);
      call.text('prefix', prefix);
      call.flag('strict', strict);
      call.run(operation);
      const names = call.givenTexts();
      return { missingKeys: names.splice(0, call.given(2)), unexpectedKeys: names };
    }),
  );
}
