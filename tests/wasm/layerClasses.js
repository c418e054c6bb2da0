// Describes every layer, for tests that check all layers.

const x = { data: new Float32Array(12).fill(0.5), shape: [3, 4] };
const ids = [0, 1, 2];

const block = { dModel: 4, dimFeedforward: 4 };
const tokens = { data: [0, 1], shape: [1, 2] };
const outputs = { data: new Float32Array(8).fill(0.25), shape: [1, 2, 4] };

/**
 * Every class with a forward() method: its options, and the arguments of a call.
 * @type {[string, object, (layer: any) => any[]][]}
 */
export const kLayers = [
  ['MultiHeadAttention', { dModel: 4 }, () => [x, x, x, { causal: true }]],
  ['AdditiveAttention', { queryDim: 4, keyDim: 4, numHiddens: 2 }, () => [x, x, x]],
  ['LearnedPositionalEncoding', { maxLength: 4, dModel: 4 }, () => [x]],
  ['RotaryEmbedding', { rotaryDim: 4 }, () => [x]],
  ['Linear', { inFeatures: 4, outFeatures: 2 }, () => [x]],
  ['Embedding', { numEmbeddings: 4, embeddingDim: 4 }, () => [ids]],
  ['LayerNorm', { width: 4 }, () => [x]],
  ['AddNorm', { width: 4 }, () => [x, x]],
  ['FeedForward', { dModel: 4, dimFeedforward: 4 }, () => [x]],
  ['GatedFeedForward', { dModel: 4, dimFeedforward: 4 }, () => [x]],
  ['RMSNorm', { width: 4 }, () => [x]],
  ['TransformerEncoderLayer', block, () => [x]],
  ['TransformerEncoder', block, () => [x]],
  ['TransformerDecoderLayer', block, () => [x, x]],
  ['TransformerDecoder', block, (layer) => [x, layer.start(x)]],
  ['GRU', { inputSize: 4, hiddenSize: 4 }, () => [x]],
  ['RNN', { inputSize: 4, hiddenSize: 4 }, () => [x]],
  ['Conv1d', { inChannels: 4, outChannels: 2 }, () => [x]],
  [
    'BahdanauDecoder',
    { vocabSize: 4, embedSize: 4, numHiddens: 4 },
    (layer) => {
      const hidden = { data: new Float32Array(4), shape: [1, 1, 4] };
      return [tokens, layer.initState(outputs, hidden)];
    },
  ],
];
