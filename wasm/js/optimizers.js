import { invalid } from './errors.js';
import { addHints, kOptimizerElsewhere } from './hints.js';
import { Kind } from './kind.js';
import { Layer } from './layer.js';
import { isObjectOf, NativeObject, oldNative } from './nativeObject.js';
import { flag, readOptions, real, writeValues } from './options.js';
import { loadState, makeStateDict } from './stateDict.js';
import { requireTape } from './tape.js';

/** @import { Call } from './call.js' */
/** @import { Names, OptionTable, Rule } from './options.js' */
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
 * Parameters with their own learning rate or weight decay, like the param_groups of torch.optim.
 * @typedef {object} ParameterGroup
 * @property {(name: string, shape: readonly number[]) => boolean} params  true for the parameters of the group,
 *   by their names in the model and their shapes. A parameter belongs to the first group that selects it. Biases
 *   and norms, for example, are `(name, shape) => shape.length < 2`
 * @property {number} [lr]  by default the rate of the optimiser, also after it changes
 * @property {number} [weightDecay]  by default the weight decay of the optimiser
 */

/**
 * @typedef {object} SgdOptions
 * @property {number} [lr]  the learning rate; 1e-3 by default, as PyTorch
 * @property {number} [momentum]  0 by default
 * @property {number} [dampening]  0 by default
 * @property {number} [weightDecay]  0 by default
 * @property {boolean} [nesterov]  `false` by default
 * @property {readonly ParameterGroup[]} [groups]  of parameters with settings of their own
 */

/**
 * @typedef {object} AdamOptions
 * @property {number} [lr]  the learning rate; 1e-3 by default
 * @property {number} [beta1]  0.9 by default
 * @property {number} [beta2]  0.999 by default
 * @property {number} [eps]  1e-8 by default
 * @property {number} [weightDecay]  0 by default; of AdamW 0.01
 * @property {readonly ParameterGroup[]} [groups]  of parameters with settings of their own
 */

/** @param {string} name @param {number} value */
const checkRate = (name, value) => {
  if (!(typeof value === 'number' && value >= 0))
    throw invalid(name, value, 'a finite number of at least 0');
};
/** @param {Call} call @param {string} name @param {number} value */
const writeRate = (call, name, value) => {
  checkRate(name, value);
  return call.real(name, value);
};
/** @param {Call} call @param {string} name @param {number} [value] */
const writeOptionalRate = (call, name, value) => {
  if (value !== undefined) checkRate(name, value);
  call.optionalReal(name, value);
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
    const read = readOptions(options, { ...table, groups: true });
    const groups = selectGroups(layers, /** @type {any} */ (read).groups);
    const address = runtime.ask(operation, (call) => {
      call.put(Kind.integer, layers.length);
      for (const [name, layer] of layers) {
        call.text('model', name);
        call.object(name || 'model', layer);
      }
      writeValues(call, read, table);
      call.put(Kind.integer, groups.length);
      for (const [i, { names, lr, weightDecay }] of groups.entries()) {
        call.put(Kind.integer, names.length);
        for (const name of names) call.text('params', name);
        writeOptionalRate(call, `groups[${i}].lr`, lr);
        writeOptionalRate(call, `groups[${i}].weightDecay`, weightDecay);
      }
    });
    super(runtime, oldNative(runtime, 'deleteOptimizer', address));
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

  /**
   * The learning rate. Setting it affects the next steps, except for groups that have their own.
   */
  get lr() {
    return this.ask('learningRate', (call) => call.optionalInteger('group', undefined, 0));
  }

  set lr(value) {
    this.ask('setLearningRate', (call) => {
      writeRate(call, 'lr', value);
      call.optionalInteger('group', undefined, 0);
    });
  }

  /**
   * The learning rate of a group: its own, or else the one of the optimiser.
   * @param {number} group  its place in the option `groups`
   * @returns {number}
   * @throws {AttnError} `invalid_argument` for a group that does not exist, `disposed`
   */
  groupLr(group) {
    return this.ask('learningRate', (call) => call.optionalInteger('group', group, 0));
  }

  /**
   * Gives a group its own learning rate, for the next steps.
   * @param {number} group  its place in the option `groups`
   * @param {number} lr
   * @throws {AttnError} `invalid_argument` for a group that does not exist, `disposed`
   */
  setGroupLr(group, lr) {
    this.ask('setLearningRate', (call) => {
      writeRate(call, 'lr', lr);
      call.optionalInteger('group', group, 0);
    });
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

addHints(Optimizer.prototype, kOptimizerElsewhere);

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

/** @type {Names<ParameterGroup>} */
const kGroup = { params: true, lr: true, weightDecay: true };

/**
 * The groups, with the names of those parameters that `params` selects.
 * @param {[string, Layer][]} layers
 * @param {readonly ParameterGroup[]} [groups]
 */
function selectGroups(layers, groups = []) {
  if (!Array.isArray(groups))
    throw invalid('groups', groups, 'an array of { params, lr, weightDecay }');
  const read = groups.map((given, i) => {
    const group = readOptions(given, kGroup, `groups[${i}]`);
    if (typeof group.params === 'function') return group;
    throw invalid(`groups[${i}].params`, group.params, 'a function (name, shape) => boolean');
  });
  if (read.length === 0) return [];
  const parameters = layers.flatMap(([path, layer]) =>
    layer.parameterNames().map((name) => ({
      name: path ? `${path}.${name}` : name,
      shape: layer.parameter(name).shape,
    })),
  );
  return read.map(({ params, lr, weightDecay }) => ({
    names: parameters.filter(({ name, shape }) => params(name, shape)).map(({ name }) => name),
    lr,
    weightDecay,
  }));
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
  // In every realm, Object.prototype has no prototype.
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
