// ONNX models for the peers, used in Node and in the browser. They are written directly as protocol
// buffers, because a graph of a few nodes needs no library.

/**
 * @typedef {object} Node
 * @property {string} op
 * @property {string[]} inputs
 * @property {string[]} outputs
 * @property {string} [domain]
 * @property {Record<string, number | string>} [attributes]  integers or strings
 *
 * @typedef {object} Graph
 * @property {Record<string, readonly number[]>} inputs  shapes of the inputs
 * @property {Record<string, readonly number[]>} outputs
 * @property {Record<string, 'int8' | 'int32'>} [types]  types of inputs and outputs; float32 by
 *   default
 * @property {Record<string, { shape: readonly number[], data: Float32Array }>} [constants]
 * @property {Node[]} nodes
 */

const kIrVersion = 10;
const kOpset = 23;
const kMicrosoft = 'com.microsoft';
const kTypes = { float32: 1, int8: 3, int32: 6 };
const kFloat = kTypes.float32;
const kIntAttribute = 2;
const kTextAttribute = 3;

const kVarint = 0;
const kBytes = 2;

const utf8 = new TextEncoder();

/** @param {number} value a non-negative whole number */
function varint(value) {
  const bytes = [];
  for (; value >= 128; value = Math.floor(value / 128)) bytes.push((value % 128) + 128);
  return Uint8Array.of(...bytes, value);
}

/** @param {Uint8Array[]} parts */
function join(parts) {
  const result = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let at = 0;
  for (const part of parts) {
    result.set(part, at);
    at += part.length;
  }
  return result;
}

/**
 * Writes one field of a message.
 * @param {number} number
 * @param {number | string | Uint8Array} value  a nested message is passed as its bytes
 */
function field(number, value) {
  if (typeof value === 'number') return join([varint(number * 8 + kVarint), varint(value)]);
  const bytes = typeof value === 'string' ? utf8.encode(value) : value;
  return join([varint(number * 8 + kBytes), varint(bytes.length), bytes]);
}

/** @param {Uint8Array[]} fields */
const message = (...fields) => join(fields);

/** @param {string} name @param {readonly number[]} shape @param {keyof kTypes} [type] */
function valueInfo(name, shape, type = 'float32') {
  const dims = shape.map((size) => field(1, message(field(1, size))));
  const tensor = message(field(1, kTypes[type]), field(2, message(...dims)));
  return message(field(1, name), field(2, message(field(1, tensor))));
}

/** @param {Node} node */
function nodeProto({ op, inputs, outputs, domain = '', attributes = {} }) {
  return message(
    ...inputs.map((name) => field(1, name)),
    ...outputs.map((name) => field(2, name)),
    field(4, op),
    ...Object.entries(attributes).map(([name, value]) => {
      const [number, type] = typeof value === 'string' ? [4, kTextAttribute] : [3, kIntAttribute];
      return field(5, message(field(1, name), field(number, value), field(20, type)));
    }),
    field(7, domain),
  );
}

/** @param {Graph} graph */
function model({ inputs, outputs, types = {}, constants = {}, nodes }) {
  const opset = (/** @type {string} */ domain, /** @type {number} */ version) =>
    field(8, message(field(1, domain), field(2, version)));
  const graph = message(
    ...nodes.map((node) => field(1, nodeProto(node))),
    field(2, 'benchmark'),
    ...Object.entries(constants).map(([name, { shape, data }]) => {
      const dims = shape.map((size) => field(1, size));
      const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
      return field(5, message(...dims, field(2, kFloat), field(8, name), field(9, bytes)));
    }),
    ...Object.entries(inputs).map(([name, shape]) =>
      field(11, valueInfo(name, shape, types[name])),
    ),
    ...Object.entries(outputs).map(([name, shape]) =>
      field(12, valueInfo(name, shape, types[name])),
    ),
  );
  return message(field(1, kIrVersion), field(7, graph), opset('', kOpset), opset(kMicrosoft, 1));
}

/**
 * @typedef {object} AttentionShape
 * @property {number} batch
 * @property {number} heads
 * @property {number} queries
 * @property {number} keys
 * @property {number} dim
 * @property {boolean} [causal]
 * @property {number} [kvHeads]  number of key and value heads; `heads` by default
 */

/**
 * A model with the standard operator `Attention`, which reads (B, H, N, D) in place.
 * @param {AttentionShape} shape
 */
export function attentionModel({ batch, heads, queries, keys, dim, causal, kvHeads = heads }) {
  const query = [batch, heads, queries, dim];
  const key = [batch, kvHeads, keys, dim];
  return model({
    inputs: { query, key, value: key },
    outputs: { output: query },
    nodes: [
      {
        op: 'Attention',
        inputs: ['query', 'key', 'value'],
        outputs: ['output'],
        attributes: { is_causal: Number(causal ?? false) },
      },
    ],
  });
}

/**
 * A model with ONNX Runtime's own operator. Queries and output are (B, N, H·D). If keys and values
 * have the same layout, ONNX Runtime uses a special code path. If they are (B, H, N, D), ONNX
 * Runtime does not use that path but need not transpose keys and values.
 * @param {AttentionShape} shape
 * @param {boolean} headsFirst  whether keys and values are (B, H, N, D)
 */
export function multiHeadAttentionModel(shape, headsFirst) {
  const { batch, heads, queries, keys, dim, causal } = shape;
  const query = [batch, queries, heads * dim];
  const key = headsFirst ? [batch, heads, keys, dim] : [batch, keys, heads * dim];
  return model({
    inputs: { query, key, value: key },
    outputs: { output: query },
    nodes: [
      {
        op: 'MultiHeadAttention',
        domain: kMicrosoft,
        inputs: ['query', 'key', 'value'],
        outputs: ['output'],
        attributes: { num_heads: heads, unidirectional: Number(causal ?? false) },
      },
    ],
  });
}

/**
 * A model with one node, ONNX Runtime's operator `GroupQueryAttention`. It always attends in causal
 * order. Queries and output are (1, N, H·D); the queries belong to the last N positions. The operator
 * appends the keys and values that it is given to a cache of earlier positions, (1, Hkv, Nk, D), and
 * attends to the whole cache. The cache it returns may use the memory of the cache it was given.
 * @param {AttentionShape} shape
 * @param {boolean} isInt8  whether the cache consists of int8 numbers, all with the same scale
 */
export function groupQueryAttentionModel({ heads, queries, keys, dim, kvHeads = heads }, isInt8) {
  const query = [1, queries, heads * dim];
  const key = [1, queries, kvHeads * dim];
  const cache = [1, kvHeads, keys, dim];
  const past = { past_key: cache, past_value: cache };
  const scales = { k_scale: [1], v_scale: [1] };
  const cacheNames = ['past_key', 'past_value', 'present_key', 'present_value'];
  /** @type {Graph['types']} */
  const types = { seqlens_k: 'int32', total_sequence_length: 'int32' };
  for (const name of isInt8 ? cacheNames : []) types[name] = 'int8';
  const hasPast = keys > queries;
  return model({
    inputs: {
      ...{ query, key, value: key, seqlens_k: [1], total_sequence_length: [1] },
      ...(hasPast && past),
      ...(isInt8 && scales),
    },
    outputs: { output: query, present_key: cache, present_value: cache },
    types,
    nodes: [
      {
        op: 'GroupQueryAttention',
        domain: kMicrosoft,
        inputs: [
          ...['query', 'key', 'value'],
          ...(hasPast ? Object.keys(past) : ['', '']),
          ...['seqlens_k', 'total_sequence_length'],
          ...(isInt8 ? ['', '', '', '', '', ...Object.keys(scales)] : []),
        ],
        outputs: ['output', 'present_key', 'present_value'],
        attributes: {
          num_heads: heads,
          kv_num_heads: kvHeads,
          ...(isInt8 && {
            kv_cache_bit_width: 8,
            k_quant_type: 'PER_TENSOR',
            v_quant_type: 'PER_TENSOR',
          }),
        },
      },
    ],
  });
}

/**
 * A self-attention layer in one of the forms that ONNX Runtime offers. Two forms have three
 * separate projections and the operator Attention or MultiHeadAttention. The third form is the
 * fused Attention, which includes the projections.
 * @param {'Attention' | 'MultiHeadAttention' | 'fused'} operator
 * @param {{ tokens: number, width: number, heads: number }} shape
 * @param {Float32Array} inProjWeight  (3·E, E), as in PyTorch
 * @param {Float32Array} outProjWeight  (E, E)
 */
export function layerModel(operator, { tokens, width, heads }, inProjWeight, outProjWeight) {
  const x = [1, tokens, width];
  const square = [width, width];
  const projections = ['q', 'k', 'v'];
  /** @type {Graph['constants']} */
  const constants = { w_o: { shape: square, data: transpose(outProjWeight, width, width) } };
  /** @type {Node[]} */
  const nodes = [];
  if (operator === 'fused') {
    const data = transpose(inProjWeight, 3 * width, width);
    constants.w_qkv = { shape: [width, 3 * width], data };
    constants.bias = { shape: [3 * width], data: new Float32Array(3 * width) };
    nodes.push({
      op: 'Attention',
      domain: kMicrosoft,
      inputs: ['x', 'w_qkv', 'bias'],
      outputs: ['attended'],
      attributes: { num_heads: heads },
    });
  } else {
    projections.forEach((name, i) => {
      const weight = inProjWeight.subarray(i * width * width, (i + 1) * width * width);
      constants[`w_${name}`] = { shape: square, data: transpose(weight, width, width) };
      nodes.push({ op: 'MatMul', inputs: ['x', `w_${name}`], outputs: [name] });
    });
    const isStandard = operator === 'Attention';
    nodes.push({
      op: operator,
      ...(!isStandard && { domain: kMicrosoft }),
      inputs: projections,
      outputs: ['attended'],
      attributes: isStandard ? { q_num_heads: heads, kv_num_heads: heads } : { num_heads: heads },
    });
  }
  nodes.push({ op: 'MatMul', inputs: ['attended', 'w_o'], outputs: ['output'] });
  return model({ inputs: { x }, outputs: { output: x }, constants, nodes });
}

/**
 * A model of x · Wᵀ. W (columns, depth) is constant, so that ONNX Runtime can pack it.
 * @param {{ rows: number, depth: number, columns: number }} shape
 * @param {Float32Array} weight
 */
export function productModel({ rows, depth, columns }, weight) {
  return model({
    inputs: { x: [rows, depth] },
    outputs: { output: [rows, columns] },
    constants: { w: { shape: [depth, columns], data: transpose(weight, columns, depth) } },
    nodes: [{ op: 'MatMul', inputs: ['x', 'w'], outputs: ['output'] }],
  });
}

/**
 * @param {Float32Array} matrix  (rows, columns)
 * @param {number} rows
 * @param {number} columns
 * @returns {Float32Array} (columns, rows)
 */
export function transpose(matrix, rows, columns) {
  const result = new Float32Array(matrix.length);
  for (let i = 0; i < rows; ++i) {
    for (let j = 0; j < columns; ++j) result[j * rows + i] = matrix[i * columns + j];
  }
  return result;
}

/**
 * Turns (B, outer, inner, D) into (B, inner, outer, D).
 * @param {Float32Array} x
 * @param {number} batch
 * @param {number} outer
 * @param {number} inner
 * @param {number} dim
 * @param {Float32Array} [result]  filled and returned
 */
export function swapMiddle(x, batch, outer, inner, dim, result = new Float32Array(x.length)) {
  for (let b = 0; b < batch; ++b) {
    for (let i = 0; i < outer; ++i) {
      for (let j = 0; j < inner; ++j) {
        const from = ((b * outer + i) * inner + j) * dim;
        result.set(x.subarray(from, from + dim), ((b * inner + j) * outer + i) * dim);
      }
    }
  }
  return result;
}
