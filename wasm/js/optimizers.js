import { checkValues, finite, flag, real } from './checks.js';
import { checkInteger, invalid } from './errors.js';
import { addHints, kOptimizerElsewhere } from './hints.js';
import { Layer } from './layer.js';
import { isObjectOf, NativeObject } from './nativeObject.js';
import { readOptions } from './options.js';
import { loadState, makeStateDict } from './stateDict.js';
import { requireTape } from './tape.js';

/** @import { CheckTable } from './checks.js' */
/** @import * as Native from './native.js' */
/** @import { Names } from './options.js' */
/** @import { Runtime } from './runtime.js' */
/** @import { IncompatibleKeys, Named, Safetensors } from './safetensors.js' */
/** @import { LoadStateDictOptions, StateDictOptions } from './stateDict.js' */
/** @import { Tape } from './tape.js' */
/** @import { Tensor, TensorLike } from './tensor.js' */

/**
 * The model to train: a layer, or layers by name in objects and arrays, nested to any depth. Parameter names
 * begin with the names of the properties: `blocks.0.first.in_proj_weight`. An object of your own
 * class may have other properties, which are ignored. In a plain object, other properties are an
 * error.
 * @typedef {object} Model
 */

/**
 * Parameters with their own learning rate or weight decay, like the param_groups of torch.optim.
 * @typedef {object} ParameterGroup
 * @property {(name: string, shape: readonly number[]) => boolean} params  returns true if the group
 *   contains the parameter with this name in the model and this shape. A parameter belongs to the
 *   first group that selects it. For example, `(name, shape) => shape.length < 2` selects biases
 *   and norms
 * @property {number} [lr]  by default the current learning rate of the optimiser, which may change
 * @property {number} [weightDecay]  by default the weight decay of the optimiser
 */

/**
 * @typedef {object} SgdOptions
 * @property {number} [lr]  the learning rate; 1e-3 by default, like PyTorch
 * @property {number} [momentum]  0 by default
 * @property {number} [dampening]  0 by default
 * @property {number} [weightDecay]  0 by default
 * @property {boolean} [nesterov]  `false` by default
 * @property {readonly ParameterGroup[]} [groups]  groups of parameters with their own settings
 */

/**
 * @typedef {object} AdamOptions
 * @property {number} [lr]  the learning rate; 1e-3 by default
 * @property {number} [beta1]  0.9 by default
 * @property {number} [beta2]  0.999 by default
 * @property {number} [eps]  1e-8 by default
 * @property {number} [weightDecay]  0 by default; 0.01 for AdamW
 * @property {readonly ParameterGroup[]} [groups]  groups of parameters with their own settings
 */

/** @param {string} name @param {number} value */
function rate(name, value = 1e-3) {
  if (typeof value === 'number' && value >= 0) return finite(name, value);
  throw invalid(name, value, 'a finite number of at least 0');
}
/** NaN means that no rate was set. @param {string} name @param {number} [value] */
const optionalRate = (name, value) => (value === undefined ? NaN : rate(name, value));

/** @type {CheckTable} */
const kSgd = {
  lr: rate,
  momentum: real(0),
  dampening: real(0),
  weightDecay: real(0),
  nesterov: flag(false),
};
/** @param {number} weightDecay @returns {CheckTable} */
const adamOptions = (weightDecay) => ({
  lr: rate,
  beta1: real(0.9),
  beta2: real(0.999),
  eps: real(1e-8),
  weightDecay: real(weightDecay),
});
const kAdam = adamOptions(0);
const kAdamW = adamOptions(1e-2);

/**
 * Updates a model's parameters from their gradients, with the equations and defaults of
 * torch.optim. The optimiser updates the parameters that the model has when the optimiser is
 * created. A step allocates nothing, and its results are bit-identical for any number of threads.
 *
 * @extends {NativeObject<Native.Optimizer>}
 */
export class Optimizer extends NativeObject {
  /**
   * @internal
   * @param {Runtime} runtime
   * @param {Model} model
   * @param {object} options
   * @param {CheckTable} table
   * @param {(native: Native.MainModule, model: Native.TrainedModel, options: any) => Native.Optimizer} make
   */
  constructor(runtime, model, options, table, make) {
    const layers = layersOfModel(model);
    const read = readOptions(options, { ...table, groups: true });
    const groups = selectGroups(layers, /** @type {any} */ (read).groups);
    const native = runtime.invoke((call) => {
      const modules = layers.map(([name, layer]) => call.object(name || 'model', layer));
      const values = checkValues(read, table);
      return call.run((native) => {
        const trained = call.own(new native.TrainedModel());
        for (const [i, [name]] of layers.entries()) trained.addLayer(name, modules[i]);
        for (const { names, lr, weightDecay } of groups) {
          trained.addGroup(names, lr, weightDecay);
        }
        return make(native, trained, values);
      });
    });
    super(runtime, native);
  }

  /**
   * Updates every parameter that has a gradient. The other parameters and their state do not change.
   * @param {Tape} tape  after `backward()`
   * @throws {AttnError} `invalid_argument` before `backward()`, without changing anything; `disposed`
   */
  step(tape) {
    requireTape('tape', tape).requireLayers();
    this.invoke((call) => {
      const native = call.object('tape', tape);
      call.run(() => this.native.step(native.tape));
    });
  }

  /**
   * The learning rate. Setting it affects all later steps, except in groups that have their own rate.
   */
  get lr() {
    return this.enter((native) => native.learningRate());
  }

  set lr(value) {
    rate('lr', value ?? NaN);
    this.enter((native) => native.setLearningRate(value));
  }

  /**
   * Returns the learning rate of a group: its own rate, or else the optimiser's rate.
   * @param {number} group  its index in the option `groups`
   * @returns {number}
   * @throws {AttnError} `invalid_argument` for a group that does not exist, `disposed`
   */
  groupLr(group) {
    checkInteger('group', group, 0);
    return this.enter((native) => native.groupLearningRate(group));
  }

  /**
   * Sets the learning rate of one parameter group, starting with the next step.
   * @param {number} group  its index in the option `groups`
   * @param {number} lr
   * @throws {AttnError} `invalid_argument` for a group that does not exist, `disposed`
   */
  setGroupLr(group, lr) {
    rate('lr', lr ?? NaN);
    checkInteger('group', group, 0);
    this.enter((native) => native.setGroupLearningRate(lr, group));
  }

  /**
   * Returns copies of the optimiser's state by name, such as `exp_avg.layers.0.weight`. Pass the result to
   * `attn.toSafetensors()` to make a file. The state does not include the options.
   * @param {StateDictOptions} [options]
   * @returns {Record<string, Tensor>}
   */
  stateDict(options = {}) {
    /** @type {Native.OptimizerStateTensor[]} */
    let state;
    return makeStateDict(
      options,
      () => (state = this.enter((native) => native.state())).map(({ name }) => String(name)),
      (name, place) =>
        this.invoke((call) => call.copyOut(name, state[place].shape, state[place].address)),
    );
  }

  /**
   * Sets the state. If you also restore the model's weights, training continues bit-identically to a run that was
   * never interrupted. Everything is checked before anything is set.
   * @param {ArrayBuffer | Uint8Array | Safetensors | Named<TensorLike>} source  a .safetensors file, as
   *   bytes or opened, or tensors by name
   * @param {LoadStateDictOptions} [options]
   * @returns {IncompatibleKeys}
   * @throws {AttnError} like `Layer.loadStateDict()`, and `invalid_argument` for an invalid step number
   */
  loadStateDict(source, options = {}) {
    return loadState(this, source, options);
  }
}

addHints(Optimizer.prototype, kOptimizerElsewhere);

/**
 * Stochastic gradient descent, like torch.optim.SGD. For the gradient g of a parameter p, after
 * g ← g + weightDecay · p:
 *
 *   buffer ← momentum · buffer + (1 − dampening) · g     (in the first step: g)
 *   g ← g + momentum · buffer with nesterov, else buffer (without momentum, g is unchanged)
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
    super(runtime, model, options, kSgd, ({ SGD }, ...given) => new SGD(...given));
  }
}

/**
 * Adam (Kingma and Ba 2015), like torch.optim.Adam. For the gradient g of a parameter p at its step t = 1, 2,
 * …, after g ← g + weightDecay · p:
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
    super(runtime, model, options, kAdam, ({ Adam }, ...given) => new Adam(...given));
  }
}

/**
 * Adam with decoupled weight decay (Loshchilov and Hutter 2019), like torch.optim.AdamW. Weight decay
 * does not change the gradient g. Instead, weightDecay · lr · p is subtracted from p, in addition to
 * Adam's step.
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
    super(runtime, model, options, kAdamW, ({ AdamW }, ...given) => new AdamW(...given));
  }
}

/** @type {Names<ParameterGroup>} */
const kGroup = { params: true, lr: true, weightDecay: true };

/**
 * Returns the groups, each with the names of the parameters that its `params` selects.
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
  return read.map(({ params, lr, weightDecay }, i) => ({
    names: parameters.filter(({ name, shape }) => params(name, shape)).map(({ name }) => name),
    lr: optionalRate(`groups[${i}].lr`, lr),
    weightDecay: optionalRate(`groups[${i}].weightDecay`, weightDecay),
  }));
}

/**
 * @param {any} model
 * @param {string} [name]
 * @param {Set<unknown>} [seen]  objects already visited; an object that occurs twice, or contains
 *   itself, keeps its first name
 * @param {boolean} [isOwn]  true inside an object of the caller's own class
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
  // Objects may come from another realm. In every realm, Object.prototype has no prototype.
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
