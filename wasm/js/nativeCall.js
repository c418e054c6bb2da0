import { bitsOf, kElementTypes } from './elementType.js';
import { explainedError, formatChoices, invalid, ofAnotherModule } from './errors.js';
import { outOfMemory } from './memory.js';
import { nativeOf, runtimeOf } from './nativeObject.js';
import { isA, TextEncoder, typedArrayLength } from './realm.js';
import { checkBroadcast, checkEqual, readShape, rowMajor, sizeOf, wrongShape } from './shape.js';
import { asTensor, checkRank, readMask, readTensor, rowsOf } from './tensor.js';
import { TensorHandle } from './tensorHandle.js';

/** @import { ElementsLike, ElementType } from './elementType.js' */
/** @import { Memory, Views } from './memory.js' */
/** @import * as Native from './native.js' */
/** @import { NativeHandle, NativeObject } from './nativeObject.js' */
/** @import { Integers, Mask, Ranks } from './tensor.js' */
/** @import { Block, ResultKind } from './tensorHandle.js' */

const utf8Encoder = new TextEncoder();
/** Up to 64 elements, a loop copies faster than typed-array methods do. */
const kShortCopy = 64;

/**
 * A checked tensor. Its memory and its C++ description exist only inside run().
 * @typedef {object} NativeTensor
 * @property {readonly number[]} shape  the shape that the core sees
 * @property {readonly number[]} [strides]  row-major by default
 * @property {ElementType} type
 * @property {number} address
 * @property {Native.Tensor} native
 */

/**
 * A result of the core. run() allocates its memory.
 * @typedef {object} NativeResult
 * @property {string} name
 * @property {number[]} shape  the shape that the caller gets
 * @property {ElementType} type
 * @property {NativeTensor} tensor  the tensor that the core sees
 * @property {Block} [block]  the memory of a result that becomes a handle
 */

/**
 * One call to the core. First, its methods check arguments and describe them for C++, without allocating or copying
 * anything. Then run() allocates memory for all arguments and results, copies the arguments, and
 * calls C++. No code of the caller, such as a getter, can run during run().
 */
export class NativeCall {
  #memory;
  /** @type {{ name: string, data: any, view: keyof Views, length: number, tensor: NativeTensor }[]} */
  #copies = [];
  /** @type {NativeResult[]} */
  #results = [];
  /** @type {NativeTensor[]} */
  #tensors = [];
  /** @type {Native.Intermediates | undefined} */
  #intermediates;
  /** Checks that throw if an object among the arguments has been disposed of. @type {(() => unknown)[]} */
  #checks = [];
  /** C++ objects that are deleted when the call ends. @type {NativeHandle[]} */
  #owned = [];
  #numOptions = 0;

  /**
   * @param {Memory} memory
   * @param {ResultKind} as  the form in which results are returned
   */
  constructor(memory, as) {
    this.#memory = memory;
    this.as = as;
  }

  /**
   * Returns a C++ options object to fill. Call this function inside NativeCall.run(). Each call returns a
   * different object.
   * @template {'AttentionOptions' | 'AttentionPoolingOptions' | 'LayerCall' | 'RotaryEmbeddingOptions'} C
   * @param {C} name  name of the class
   */
  options(name) {
    return this.#memory.options(name, this.#numOptions++);
  }

  /**
   * Returns the C++ object that receives intermediates. Call this function inside NativeCall.run().
   * @param {readonly string[]} names
   */
  intermediates(names) {
    // If C++ reports an error, throw it here, before own(), which would try to delete an object
    // that does not exist.
    const shown = this.#memory.enter((native) => new native.Intermediates([...names]));
    this.#intermediates = this.own(shown);
    return shown;
  }

  /** The classes and functions that Embind exports. */
  get native() {
    return this.#memory.native;
  }

  /**
   * Describes a tensor for C++. Without `types`, the tensor must be float32. A handle is read in
   * place.
   * @param {string} name
   * @param {ElementsLike | TensorHandle} tensor
   * @param {Ranks} [ranks]  accepted ranks; any by default
   * @param {number} [numHeads]  if given, (B, N, H·D) or (B, N, H, D) is viewed as (B, H, N, D)
   * @param {readonly ElementType[]} [types]
   */
  tensor(name, tensor, ranks, numHeads, types) {
    if (tensor instanceof TensorHandle) {
      const place = tensor.placeIn(this.#memory, name);
      checkRank(name, place.shape, ranks);
      const seen = seenBy(name, place.shape, numHeads, place.strides);
      this.#checks.push(() => tensor.placeIn(this.#memory, name));
      return this.#describe(seen.shape, seen.strides, 'float32', place.address);
    }
    const { data, shape, type } = readTensor(name, tensor, ranks, types);
    const seen = seenBy(name, shape, numHeads);
    const described = this.#describe(seen.shape, seen.strides, type);
    if (type === 'float32') return this.#copy(name, data, 'floats', described);
    return this.#copy(name, bitsOf(data), 'halves', described);
  }

  /**
   * Returns the C++ object that an argument wraps. The argument must belong to the module that is
   * called.
   * @template {NativeHandle} N
   * @param {string} name
   * @param {NativeObject<N>} object
   * @returns {N}
   */
  object(name, object) {
    if (runtimeOf(object).memory !== this.#memory) {
      throw ofAnotherModule(name);
    }
    this.check(() => nativeOf(object));
    return nativeOf(object);
  }

  /**
   * Adds a check that runs just before C++ is called.
   * @param {() => unknown} check  throws if an object was disposed of
   */
  check(check) {
    this.#checks.push(check);
  }

  /**
   * Describes a float32, float16 or bfloat16 tensor for C++.
   * @param {string} name
   * @param {ElementsLike | TensorHandle} tensor
   * @param {Ranks} [ranks]
   * @param {number} [numHeads]
   */
  elements(name, tensor, ranks, numHeads) {
    return this.tensor(name, tensor, ranks, numHeads, kElementTypes);
  }

  /**
   * Describes rows of a given width for C++: (N, width) or (B, N, width).
   * @param {string} name
   * @param {ElementsLike | TensorHandle} x
   * @param {number} width
   * @param {string} what  name of the width, for the message
   * @param {readonly ElementType[]} [types]  accepted element types
   */
  rows(name, x, width, what, types) {
    const tensor = this.tensor(name, x, rowsOf(what), undefined, types);
    const { shape } = tensor;
    checkEqual(name, 'width', shape[shape.length - 1], `the ${what} of this layer`, width);
    return tensor;
  }

  /**
   * Describes an int32 or float64 tensor for C++.
   * @param {'ints' | 'doubles'} view
   * @param {string} name
   * @param {Integers} numbers
   */
  numbers(view, name, numbers) {
    const { data, shape } = asTensor(name, numbers);
    return this.#copy(name, data, view, this.#describe(shape));
  }

  /**
   * Describes bytes for C++, as a tensor of rank 1.
   * @param {string} name
   * @param {Uint8Array} bytes
   */
  bytes(name, bytes) {
    if (!isA(bytes, 'Uint8Array')) throw invalid(name, bytes, 'a Uint8Array');
    return this.#copy(name, bytes, 'bytes', this.#describe([typedArrayLength(bytes)]));
  }

  /**
   * Describes the UTF-8 bytes of a text for C++. The text may have any length.
   * @param {string} name
   * @param {string} text
   */
  text(name, text) {
    return this.bytes(name, utf8Encoder.encode(text));
  }

  /**
   * Describes a boolean tensor for C++, and checks that it broadcasts to a shape.
   * @param {string} name
   * @param {Mask} mask
   * @param {readonly number[]} target
   * @param {boolean} [lastMayBeLess]  true if the last size of the mask may be smaller, as in
   *   checkBroadcast()
   */
  mask(name, mask, target, lastMayBeLess) {
    const { data, shape } = readMask(name, mask);
    checkBroadcast(name, shape, target, lastMayBeLess);
    return this.#copy(name, data, 'bytes', this.#describe(shape));
  }

  /**
   * Describes a result that C++ will fill. Until then, its values are uninitialised.
   * @param {string} name
   * @param {readonly number[]} shape
   * @param {readonly number[]} [seenAs]  the shape that the core sees, if it differs
   * @returns {NativeResult}
   */
  result(name, shape, seenAs = shape) {
    return this.#result({
      name,
      shape: readShape(name, shape),
      type: 'float32',
      tensor: this.#describe(seenAs),
    });
  }

  /**
   * Describes the result `output`, whose type the option `outputType` chooses.
   * @param {ElementType | undefined} type  float32 by default
   * @param {readonly number[]} shape
   * @param {number} [numHeads]  if given, the core sees the result as (B, H, N, D)
   */
  output(type = 'float32', shape, numHeads) {
    if (!kElementTypes.includes(type)) {
      throw invalid('outputType', type, formatChoices(kElementTypes));
    }
    if (this.as === 'handle' && type !== 'float32') {
      throw invalid('outputType', type, "'float32', because handles are always float32");
    }
    const seen = seenBy('output', shape, numHeads);
    const tensor = this.#describe(seen.shape, seen.strides, type);
    return this.#result({ name: 'output', shape: readShape('output', shape), type, tensor });
  }

  /** Allocates all memory of the call, and copies the arguments. */
  #place() {
    const memory = this.#memory;
    for (const check of this.#checks) check();
    for (const result of this.#results) {
      const { name, shape, type, tensor } = result;
      const bytes = (type === 'float32' ? 4 : 2) * sizeOf(shape);
      if (this.as === 'handle') {
        tensor.address = memory.allocate(name, bytes);
        result.block = { address: tensor.address, handles: 0 };
      } else {
        tensor.address = memory.take(name, bytes);
      }
    }
    for (let i = 0; i < this.#copies.length; ++i) {
      const { name, data, view, length, tensor } = this.#copies[i];
      const last = this.#copies[i - 1];
      // Queries, keys and values are passed one after another, and often share their data. Shared
      // data is copied only once.
      tensor.address =
        last?.data === data && last.view === view
          ? last.tensor.address
          : memory.take(name, memory[view].BYTES_PER_ELEMENT * length);
    }
    for (const { name, data, view, length, tensor } of this.#copies) {
      // Allocating memory can detach the caller's data, which is then empty.
      if (typedArrayLength(data) !== length) {
        const sentence = 'the length of its data changed during the call; pass a copy';
        throw explainedError('invalid_argument', name, sentence);
      }
      if (length > kShortCopy) {
        memory.part(view, tensor.address, length).set(data);
        continue;
      }
      const target = memory[view];
      const begin = tensor.address / target.BYTES_PER_ELEMENT;
      for (let i = 0; i < length; ++i) target[begin + i] = data[i];
    }
  }

  /** Describes all tensors to C++. */
  #fill() {
    const memory = this.#memory;
    const { ElementType } = this.native;
    for (let i = 0; i < this.#tensors.length; ++i) {
      const tensor = this.#tensors[i];
      const { shape, strides, type, address } = tensor;
      const native = (tensor.native = memory.tensor(i));
      native.reset(address, ElementType[type]);
      let stride = sizeOf(shape);
      for (let d = 0; d < shape.length; ++d) {
        stride /= shape[d];
        native.addDimension(shape[d], strides ? strides[d] : stride || 0);
      }
    }
  }

  /**
   * Allocates memory for all arguments and results, copies the arguments, and calls C++.
   * @template T
   * @param {(native: Native.MainModule) => T} function_
   * @returns {T}
   */
  run(function_) {
    this.#place();
    return this.#memory.enter((native) => {
      this.#fill();
      return function_(native);
    });
  }

  /**
   * Returns a C++ object, which will be deleted when the call ends.
   * @template {NativeHandle} N
   * @param {N} native
   */
  own(native) {
    this.#owned.push(native);
    return native;
  }

  /**
   * Returns a result for the caller: a copy, or a handle.
   * @param {Pick<NativeResult, 'name' | 'shape' | 'type' | 'block'> & { tensor: { address: number } }} result
   * @returns {any}
   */
  give({ name, shape, type, tensor: { address }, block }) {
    if (block) return new TensorHandle(this.#memory, block, address, shape);
    return this.copyOut(name, shape, address, type);
  }

  /**
   * Copies a tensor out of WebAssembly memory.
   * @param {string} name
   * @param {number[]} shape  becomes the result's shape without being copied
   * @param {number} address
   * @param {ElementType} [type]
   * @returns {any}
   */
  copyOut(name, shape, address, type = 'float32') {
    const wide = type === 'float32';
    const length = sizeOf(shape);
    if (wide && length <= kShortCopy) {
      this.#memory.reach(address + 4 * length);
      const data = new Float32Array(length);
      const { floats } = this.#memory;
      for (let i = 0; i < length; ++i) data[i] = floats[address / 4 + i];
      return { data, shape };
    }
    try {
      const data = this.#memory.part(wide ? 'floats' : 'halves', address, length).slice();
      return wide ? { data, shape } : { data, shape, type };
    } catch (error) {
      throw outOfMemory(name, (wide ? 4 : 2) * length, error);
    }
  }

  /**
   * Copies an argument's numbers back after C++ has overwritten them in place.
   * @template {keyof Views} V
   * @param {V} view
   * @param {NativeTensor} tensor
   */
  copyBack(view, { address, shape }) {
    return /** @type {Views[V]} */ (this.#memory.part(view, address, sizeOf(shape)).slice());
  }

  /**
   * Returns the requested intermediates by name. Omits the intermediates that this call did not need to compute.
   * @param {readonly string[]} names
   */
  giveIntermediates(names) {
    const memory = this.#memory;
    const shown = this.#intermediates;
    /** @type {Record<string, any>} */
    const given = {};
    for (const name of shown ? new Set(names) : []) {
      const computed = memory.enter(
        () => shown?.has(name) && { shape: shown.shape(name), from: shown.addressOf(name) },
      );
      if (!computed) continue;
      const { shape, from } = computed;
      const tensor = { shape, address: from };
      let block;
      if (this.as === 'handle') {
        const bytes = 4 * sizeOf(shape);
        const address = memory.allocate(name, bytes);
        memory.reach(Math.max(address, from) + bytes);
        memory.bytes.copyWithin(address, from, from + bytes);
        tensor.address = address;
        block = { address, handles: 0 };
      }
      given[name] = this.give({ name, shape, type: 'float32', tensor, block });
    }
    return given;
  }

  /** Ends the call, whether it succeeded or failed. */
  end() {
    // Once the module has ended, its objects no longer exist.
    if (!this.#memory.disposed) for (const native of this.#owned) native.delete();
    for (const { block } of this.#results) {
      if (block?.handles === 0) this.#memory.free(block.address);
    }
    this.#memory.reset();
  }

  /** @param {NativeResult} result */
  #result(result) {
    this.#results.push(result);
    return result;
  }

  /**
   * @param {string} name
   * @param {any} data
   * @param {keyof Views} view
   * @param {NativeTensor} tensor
   */
  #copy(name, data, view, tensor) {
    data = this.#memory.kept(view, data);
    this.#copies.push({ name, data, view, length: typedArrayLength(data), tensor });
    return tensor;
  }

  /**
   * @param {readonly number[]} shape
   * @param {readonly number[]} [strides]  row-major by default
   * @param {ElementType} [type]
   * @param {number} [address]
   */
  #describe(shape, strides, type = 'float32', address = 0) {
    /** @type {NativeTensor} */
    const tensor = { shape, strides, type, address, native: /** @type {any} */ (undefined) };
    this.#tensors.push(tensor);
    return tensor;
  }
}

/**
 * Returns a shape as the core sees it. With a number of heads, (B, N, H·D) or (B, N, H, D) becomes (B, H, N, D).
 * @param {string} name
 * @param {readonly number[]} shape
 * @param {number} [numHeads]
 * @param {readonly number[]} [strides]
 */
function seenBy(name, shape, numHeads, strides) {
  if (numHeads === undefined) return { shape, strides };
  const [batch, length, width, depth] = shape;
  if (depth === undefined && width % numHeads !== 0) {
    throw wrongShape(name, shape, `a width that is a multiple of ${numHeads}, the number of heads`);
  }
  const headDim = depth ?? width / numHeads;
  const [batchStride, rowStride, stride, last = stride] = strides ?? rowMajor(shape);
  return {
    shape: [batch, depth === undefined ? numHeads : width, length, headDim],
    strides: [batchStride, depth === undefined ? headDim * stride : stride, rowStride, last],
  };
}
