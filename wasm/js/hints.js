// Names that other libraries use. Errors say which name attn uses instead.

import { AttnError } from './errors.js';

/**
 * Option names in PyTorch, Hugging Face's Transformers, D2L, Keras and TensorFlow.js, in lower case and without
 * underscores. The values are attn's names; an error suggests the names that the call accepts.
 * @type {Readonly<Record<string, readonly string[]>>}
 */
export const kOtherNames = {
  attentiondropout: ['dropout'],
  attentionheads: ['numHeads'],
  attentionmask: ['mask', 'validLens'],
  attnmask: ['mask'],
  betas: ['beta1'],
  cuseqk: ['cuSeqlensK'],
  cuseqlensq: ['cuSeqlens'],
  cuseqq: ['cuSeqlens'],
  dff: ['dimFeedforward'],
  dim: ['dModel', 'width'],
  dropoutp: ['dropout', 'probability'],
  dropoutrate: ['dropout', 'probability'],
  embeddim: ['dModel', 'embeddingDim'],
  embeddingsize: ['dModel', 'embeddingDim'],
  epsilon: ['eps'],
  ffndim: ['dimFeedforward'],
  ffnnumhiddens: ['dimFeedforward'],
  filters: ['outChannels'],
  headsize: ['headDim'],
  hiddenact: ['activation'],
  hiddenactivation: ['activation'],
  hiddendim: ['dimFeedforward', 'dModel', 'hiddenSize'],
  hiddensize: ['dModel', 'width', 'hiddenSize'],
  inputdim: ['numEmbeddings', 'inFeatures'],
  intermediatesize: ['dimFeedforward'],
  iscausal: ['causal'],
  keydim: ['headDim'],
  keypaddingmask: ['keyLens', 'mask'],
  layernormeps: ['eps'],
  learningrate: ['lr'],
  maxseqlen: ['maxLength', 'maxPositions'],
  nembd: ['dModel'],
  nhead: ['numHeads'],
  nheads: ['numHeads'],
  nlayer: ['numLayers'],
  nlayers: ['numLayers'],
  normalizedshape: ['width'],
  normshape: ['width'],
  numattentionheads: ['numHeads'],
  numblks: ['numLayers'],
  numhiddenlayers: ['numLayers'],
  numhiddens: ['dModel', 'hiddenSize', 'width', 'outFeatures'],
  numkeyvalueheads: ['numKvHeads'],
  numqueryheads: ['numHeads'],
  outputattentions: ['needWeights'],
  outputdim: ['embeddingDim', 'outFeatures'],
  p: ['probability'],
  pastkeyvalues: ['cache', 'caches'],
  positionids: ['positions'],
  rate: ['probability'],
  returnattentionscores: ['needWeights'],
  ropetheta: ['base'],
  softmaxscale: ['scale'],
  srckeypaddingmask: ['attention'],
  srcmask: ['attention'],
  tgtmask: ['selfAttention'],
  units: ['outFeatures', 'hiddenSize'],
  usebias: ['bias'],
  usecausalmask: ['causal'],
  vocabsize: ['numEmbeddings'],
};

/** @type {Readonly<Record<string, string>>} */
export const kFunctionsElsewhere = {
  DotProductAttention: 'scaledDotProductAttention(query, key, value, { validLens })',
  Dropout: 'applyDropout(x, { probability, seed })',
  LSTM: 'new GRU(options)',
  PositionWiseFFN: 'new FeedForward({ dModel, dimFeedforward })',
  PositionalEncoding: 'positionalEncoding(x, { dropout })',
  TransformerEncoderBlock: 'new TransformerEncoderLayer(options)',
  concat: 'concatenate(variables, dimension) of a module loaded with { training: true }',
  dot: 'matmul(a, b)',
  dropout: 'applyDropout(x, { probability, seed })',
  gelu: "applyActivation(x, 'gelu')",
  matMul: 'matmul(a, b)',
  multiHeadAttention: 'new MultiHeadAttention(options)',
  rand: 'randomUniform({ shape, seed })',
  randn: 'randomNormal({ shape, seed })',
  relu: "applyActivation(x, 'relu')",
  sigmoid: "applyActivation(x, 'sigmoid')",
  softmax: 'maskedSoftmax(x)',
  tanh: "applyActivation(x, 'tanh')",
  tensor1d: 'tensor(data, shape)',
  tensor2d: 'tensor(data, shape)',
  tidy: '`using` declarations, or call dispose() on each handle',
};

/** @type {Readonly<Record<string, string>>} */
export const kLayerElsewhere = {
  apply: 'forward(…)',
  eval: 'forward(…) without the option dropout, which drops nothing',
  getWeights: 'stateDict()',
  parameters: 'parameterNames() and parameter(name)',
  predict: 'forward(…)',
  setWeights: 'loadStateDict(tensors)',
  train: 'the option dropout of forward(…)',
};

/** @type {Readonly<Record<string, string>>} */
export const kVariableElsewhere = {
  backward: 'tape.backward(variable)',
  dataSync: 'value().data',
  detach: 'tape.constant(variable.value())',
  matmul: 'linear(x, weight), which computes x · weightᵀ',
  mm: 'linear(x, weight), which computes x · weightᵀ',
  numpy: 'value().data',
  permute: 'reshape(shape), select(dimension, index) and concatenate(variables, dimension)',
  transpose: 'reshape(shape), select(dimension, index) and concatenate(variables, dimension)',
  view: 'reshape(shape)',
};

/** @type {Readonly<Record<string, string>>} */
export const kOptimizerElsewhere = {
  applyGradients: 'tape.backward(loss), then step(tape)',
  minimize: 'tape.backward(loss), then step(tape)',
  zeroGrad: 'tape.clear()',
  zero_grad: 'tape.clear()',
};

/**
 * Adds methods under the names that other libraries use. The methods throw an error that names
 * attn's equivalent. Type definitions and completions do not list these methods.
 * @param {object} prototype
 * @param {Readonly<Record<string, string>>} hints
 */
export function addHints(prototype, hints) {
  for (const [name, instead] of Object.entries(hints)) {
    // Not an arrow function, because it may also be called with `new`.
    const value = function () {
      throw new AttnError('unsupported', `${name}: attn has no such function; use ${instead}`);
    };
    Object.defineProperty(prototype, name, { value, configurable: true, writable: true });
  }
}
