import { invalid } from './errors.js';
import { Kind } from './kind.js';
import { Layer } from './layer.js';
import { isObjectOf, NativeObject } from './nativeObject.js';
import { flag, real, writeOptions } from './options.js';
import { loadState, makeStateDict } from './stateDict.js';
import { requireTape } from './tape.js';

/** @import { Call } from './call.js' */
/** @import { OptionTable, Rule } from './options.js' */
/** @import { Operation, Runtime } from './runtime.js' */
/** @import { IncompatibleKeys, Named, Safetensors } from './safetensors.js' */
/** @import { LoadStateDictOptions, StateDictOptions } from './stateDict.js' */
/** @import { Tape } from './tape.js' */
/** @import { Tensor, TensorLike } from './tensor.js' */

/**
 * What is trained: a layer, or layers by name, in objects and arrays as deep as one likes. The names of
 * parameters begin with those of the properties: `blocks.0.first.in_proj_weight`. An object of a class of
 * one's own may have other properties, too, which are passed over; in a plain one they are an error.
 * @typedef {object} Model
 */

/**
 * @typedef {object} SgdOptions
 * @property {number} [lr]  the learning rate; 1e-3 by default, as PyTorch
 * @property {number} [momentum]  0 by default
 * @property {number} [dampening]  0 by default
 * @property {number} [weightDecay]  0 by default
 * @property {boolean} [nesterov]  `false` by default
 */

/**
 * @typedef {object} AdamOptions
 * @property {number} [lr]  the learning rate; 1e-3 by default
 * @property {number} [beta1]  0.9 by default
 * @property {number} [beta2]  0.999 by default
 * @property {number} [eps]  1e-8 by default
 * @property {number} [weightDecay]  0 by default; of AdamW 0.01
 */

/** @param {Call} call @param {string} name @param {number} value */
const writeRate = (call, name, value) => {
  if (!(typeof value === 'number' && value >= 0))
    throw invalid(name, value, 'a finite number of at least 0');
  return call.real(name, value);
};
/** @type {Rule} */
const kRate = (call, name, value = 1e-3) => writeRate(call, name, value);
/** @type {OptionTable} */
const kSgd = {
  lr: kRate,
  momentum: real(0),
  dampening: real(0),
  weightDecay: real(0),
  nesterov: flag(false),
};
/** @param {number} weightDecay @returns {OptionTable} */
const adamOptions = (weightDecay) => ({
  lr: kRate,
  beta1: real(0.9),
  beta2: real(0.999),
  eps: real(1e-8),
  weightDecay: real(weightDecay),
});
const kAdam = adamOptions(0);
const kAdamW = adamOptions(1e-2);

/**
 * Changes the parameters of a model by their gradients, with the equations and defaults of torch.optim. The
 * parameters are those that the model has when the optimiser is made. A step allocates nothing, and has the
 * same bits for any number of threads.
 */
export class Optimizer extends NativeObject {
  /**
   * @internal
   * @param {Runtime} runtime
   * @param {Operation} operation  makes it
   * @param {Model} model
   * @param {object} options
   * @param {OptionTable} table
   */
  constructor(runtime, operation, model, options, table) {
    const layers = layersOfModel(model);
    const address = runtime.ask(operation, (call) => {
      call.put(Kind.integer, layers.length);
      for (const [name, layer] of layers) {
        call.text('model', name);
        call.object(name || 'model', layer);
      }
      writeOptions(call, options, table);
    });
    super(runtime, 'deleteOptimizer', address);
  }

  /**
   * Updates every parameter that has a gradient; the others stay as they are, their state too.
   * @param {Tape} tape  after `backward()`
   * @throws {AttnError} `invalid_argument` before `backward()`; nothing has then changed. `disposed`
   */
  step(tape) {
    requireTape('tape', tape).requireLayers();
    this.ask('stepOptimizer', (call) => call.object('tape', tape));
  }

  /** The learning rate; one that is set is for the next steps. */
  get lr() {
    return this.ask('learningRate');
  }

  set lr(value) {
    this.ask('setLearningRate', (call) => writeRate(call, 'lr', value));
  }

  /**
   * The state by name, `exp_avg.layers.0.weight` and so on: copies. `attn.toSafetensors()` makes a file of
   * it. The options are none of it.
   * @param {StateDictOptions} [options]
   * @returns {Record<string, Tensor>}
   */
  stateDict(options = {}) {
    return makeStateDict(
      options,
      () =>
        this.call((call) => {
          call.run('optimizerStateNames');
          return call.givenTexts();
        }),
      (name, place) =>
        this.call((call) => {
          call.put(Kind.integer, place);
          call.run('optimizerState');
          return call.givenTensor(name);
        }),
    );
  }

  /**
   * Sets the state: a run that goes on with it, and with the model's weights, has the same bits as one that
   * was not stopped. Everything is checked before anything is set.
   * @param {ArrayBuffer | Uint8Array | Safetensors | Named<TensorLike>} source  a .safetensors file, as
   *   bytes or opened, or tensors by name
   * @param {LoadStateDictOptions} [options]
   * @returns {IncompatibleKeys}
   * @throws {AttnError} as `Layer.loadStateDict()`, and `invalid_argument` for a step that is none
   */
  loadStateDict(source, options = {}) {
    return loadState(this, 'loadOptimizerState', source, options);
  }
}

/**
 * Stochastic gradient descent, as torch.optim.SGD: for the gradient g of a parameter p, after
 * g ← g + weightDecay · p,
 *
 *   buffer ← momentum · buffer + (1 − dampening) · g     (at first: g)
 *   g ← g + momentum · buffer with nesterov, else buffer (without momentum g stays)
 *   p ← p − lr · g
 */
export class SGD extends Optimizer {
  /** @internal */
  static name = 'SGD';

  /**
   * @param {Runtime} runtime
   * @param {Model} model
   * @param {SgdOptions} [options]
   */
  constructor(runtime, model, options = {}) {
    super(runtime, 'makeSgd', model, options, kSgd);
  }
}

/**
 * Adam (Kingma and Ba 2015), as torch.optim.Adam: for the gradient g of a parameter p in its step
 * t = 1, 2, …, after g ← g + weightDecay · p,
 *
 *   exp_avg    ← β₁ · exp_avg + (1 − β₁) · g
 *   exp_avg_sq ← β₂ · exp_avg_sq + (1 − β₂) · g²
 *   p ← p − lr / (1 − β₁ᵗ) · exp_avg / (√exp_avg_sq / √(1 − β₂ᵗ) + eps)
 */
export class Adam extends Optimizer {
  /** @internal */
  static name = 'Adam';

  /**
   * @param {Runtime} runtime
   * @param {Model} model
   * @param {AdamOptions} [options]
   */
  constructor(runtime, model, options = {}) {
    super(runtime, 'makeAdam', model, options, kAdam);
  }
}

/**
 * Adam with decoupled weight decay (Loshchilov and Hutter 2019), as torch.optim.AdamW: g stays as it is, and
 * weightDecay · lr · p is taken off p beside Adam's step.
 */
export class AdamW extends Optimizer {
  /** @internal */
  static name = 'AdamW';

  /**
   * @param {Runtime} runtime
   * @param {Model} model
   * @param {AdamOptions} [options]
   */
  constructor(runtime, model, options = {}) {
    super(runtime, 'makeAdamW', model, options, kAdamW);
  }
}

/**
 * @param {any} model
 * @param {string} [name]
 * @param {Set<unknown>} [seen]  what is in two places, or contains itself, has the first name
 * @param {boolean} [isOwn]  whether it is in an object of a class of the caller's
 * @returns {[string, Layer][]}
 */
function layersOfModel(model, name = '', seen = new Set(), isOwn = false) {
  if (isObjectOf(model, Layer)) return [[name, model]];
  if (seen.has(model)) return [];
  seen.add(model);
  const isObject =
    model !== null &&
    typeof model === 'object' &&
    !(model instanceof NativeObject || ArrayBuffer.isView(model));
  const prototype = isObject && Object.getPrototypeOf(model);
  // Object's own prototype, of whichever realm, has none.
  const isPlain =
    Array.isArray(model) || prototype === null || Object.getPrototypeOf(prototype) === null;
  const layers = Object.entries(isObject ? model : {}).flatMap(([part, inner]) =>
    layersOfModel(inner, name ? `${name}.${part}` : part, seen, isOwn || !isPlain),
  );
  if (!layers[0] && !isOwn && !(isPlain && name)) {
    throw invalid(name || 'model', model, 'a layer, or layers in objects and arrays');
  }
  return layers;
}
