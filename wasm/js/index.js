/** @packageDocumentation Self-attention and positional encoding: a C++ core as WebAssembly. */

export { AttnError } from './errors.js';
export { load } from './loader.js';

/**
 * @typedef {import('./activation.js').Activation} Activation
 * @typedef {import('./additiveAttention.js').AdditiveAttention} AdditiveAttention
 * @typedef {import('./additiveAttention.js').AdditiveAttentionOptions} AdditiveAttentionOptions
 * @typedef {import('./alibi.js').AlibiBiasOptions} AlibiBiasOptions
 * @typedef {import('./architectureCosts.js').ArchitectureCosts} ArchitectureCosts
 * @typedef {import('./architectureCosts.js').ConvolutionSizes} ConvolutionSizes
 * @typedef {import('./architectureCosts.js').RecurrentSizes} RecurrentSizes
 * @typedef {import('./architectureCosts.js').SelfAttentionSizes} SelfAttentionSizes
 * @typedef {import('./architectureCosts.js').WindowAttentionSizes} WindowAttentionSizes
 * @typedef {import('./attentionOptions.js').AttentionOptions} AttentionOptions
 * @typedef {import('./attentionOptions.js').LayerAttentionOptions} LayerAttentionOptions
 * @typedef {import('./attentionOptions.js').Diagonal} Diagonal
 * @typedef {import('./attentionOptions.js').ExclusionOptions} ExclusionOptions
 * @typedef {import('./attentionOptions.js').ScoreOptions} ScoreOptions
 * @typedef {import('./attentionOptions.js').StageOptions} StageOptions
 * @typedef {import('./attentionOptions.js').Window} Window
 * @typedef {import('./attentionPooling.js').AttentionPoolingOptions} AttentionPoolingOptions
 * @typedef {import('./attentionPooling.js').Scoring} Scoring
 * @typedef {import('./attentionPositions.js').AttentionPositions} AttentionPositions
 * @typedef {import('./attn.js').Attn} Attn
 * @typedef {import('./dropout.js').Dropout} Dropout
 * @typedef {import('./errors.js').AttnErrorCode} AttnErrorCode
 * @typedef {import('./errors.js').AttnErrorDetails} AttnErrorDetails
 * @typedef {import('./contributions.js').ContributionOptions} ContributionOptions
 * @typedef {import('./contributions.js').Contributions} Contributions
 * @typedef {import('./contributions.js').LayerContributions} LayerContributions
 * @typedef {import('./interventions.js').AblatedValue} AblatedValue
 * @typedef {import('./interventions.js').InterventionOptions} InterventionOptions
 * @typedef {import('./interventions.js').KnockedOutKey} KnockedOutKey
 * @typedef {import('./interventions.js').PatchedValue} PatchedValue
 * @typedef {import('./interventions.js').ValuePart} ValuePart
 * @typedef {import('./learnedPositionalEncoding.js').LearnedPositionalEncoding} LearnedPositionalEncoding
 * @typedef {import('./learnedPositionalEncoding.js').LearnedPositionalEncodingOptions} LearnedPositionalEncodingOptions
 * @typedef {import('./loader.js').LoadOptions} LoadOptions
 * @typedef {import('./maskedSoftmax.js').MaskedSoftmaxOptions} MaskedSoftmaxOptions
 * @typedef {import('./multiHeadAttention.js').MultiHeadAttention} MultiHeadAttention
 * @typedef {import('./multiHeadAttention.js').MultiHeadAttentionForwardOptions} MultiHeadAttentionForwardOptions
 * @typedef {import('./multiHeadAttention.js').MultiHeadAttentionOptions} MultiHeadAttentionOptions
 * @typedef {import('./ngramEmbedding.js').NgramEmbeddingOptions} NgramEmbeddingOptions
 * @typedef {import('./positionalEncoding.js').PositionalEncodingOptions} PositionalEncodingOptions
 * @typedef {import('./random.js').NormalOptions} NormalOptions
 * @typedef {import('./random.js').UniformOptions} UniformOptions
 * @typedef {import('./random.js').XavierOptions} XavierOptions
 * @typedef {import('./relativeSkew.js').RelativeSkewOptions} RelativeSkewOptions
 * @typedef {import('./rotaryEmbedding.js').RotaryAxes} RotaryAxes
 * @typedef {import('./rotaryEmbedding.js').RotaryCacheOptions} RotaryCacheOptions
 * @typedef {import('./rotaryEmbedding.js').RotaryEmbedding} RotaryEmbedding
 * @typedef {import('./rotaryEmbedding.js').RotaryEmbeddingOptions} RotaryEmbeddingOptions
 * @typedef {import('./rotaryEmbedding.js').RotaryPairing} RotaryPairing
 * @typedef {import('./rotaryEmbedding.js').RotaryScaling} RotaryScaling
 * @typedef {import('./scaledDotProductAttention.js').ScaledDotProductAttentionOptions} ScaledDotProductAttentionOptions
 * @typedef {import('./shiftMatrix.js').ShiftMatrixOptions} ShiftMatrixOptions
 * @typedef {import('./shiftMatrix.js').ShiftOptions} ShiftOptions
 * @typedef {import('./sinusoidalEncoding.js').SinusoidalEncodingOptions} SinusoidalEncodingOptions
 * @typedef {import('./sinusoidalEncoding.js').SinusoidalLayout} SinusoidalLayout
 * @typedef {import('./sinusoidalEncoding.js').SinusoidalTableOptions} SinusoidalTableOptions
 * @typedef {import('./t5Bias.js').T5BiasOptions} T5BiasOptions
 * @typedef {import('./t5Bias.js').T5BucketOptions} T5BucketOptions
 * @typedef {import('./tensor.js').Integers} Integers
 * @typedef {import('./tensor.js').Mask} Mask
 * @typedef {import('./tensor.js').Tensor} Tensor
 * @typedef {import('./tensor.js').TensorLike} TensorLike
 * @typedef {import('./tensorHandle.js').ResultKind} ResultKind
 * @typedef {import('./tensorHandle.js').TensorHandle} TensorHandle
 * @typedef {import('./linear.js').Linear} Linear
 * @typedef {import('./linear.js').LinearOptions} LinearOptions
 * @typedef {import('./embedding.js').Embedding} Embedding
 * @typedef {import('./embedding.js').EmbeddingOptions} EmbeddingOptions
 * @typedef {import('./layerNorm.js').LayerNorm} LayerNorm
 * @typedef {import('./layerNorm.js').LayerNormOptions} LayerNormOptions
 * @typedef {import('./layerNorm.js').AddNorm} AddNorm
 * @typedef {import('./layerNorm.js').AddNormOptions} AddNormOptions
 * @typedef {import('./feedForward.js').FeedForward} FeedForward
 * @typedef {import('./feedForward.js').FeedForwardOptions} FeedForwardOptions
 * @typedef {import('./gatedFeedForward.js').GatedFeedForward} GatedFeedForward
 * @typedef {import('./gatedFeedForward.js').GatedFeedForwardOptions} GatedFeedForwardOptions
 * @typedef {import('./rmsNorm.js').RMSNorm} RMSNorm
 * @typedef {import('./rmsNorm.js').RMSNormOptions} RMSNormOptions
 * @typedef {import('./keyValueCache.js').KeyValueCache} KeyValueCache
 * @typedef {import('./keyValueCache.js').KeyValueCacheOptions} KeyValueCacheOptions
 * @typedef {import('./elementType.js').ElementsLike} ElementsLike
 * @typedef {import('./elementType.js').ElementType} ElementType
 * @typedef {import('./elementType.js').HalfTensor} HalfTensor
 * @typedef {import('./keyValueCache.js').CacheType} CacheType
 * @typedef {import('./keyValueCache.js').DecodingState} DecodingState
 * @typedef {import('./keyValueCache.js').LayerCaches} LayerCaches
 * @typedef {import('./transformer.js').TransformerLayerOptions} TransformerLayerOptions
 * @typedef {import('./transformer.js').TransformerOptions} TransformerOptions
 * @typedef {import('./transformerEncoder.js').TransformerEncoder} TransformerEncoder
 * @typedef {import('./transformerEncoder.js').TransformerEncoderLayer} TransformerEncoderLayer
 * @typedef {import('./transformerEncoder.js').EncoderCall} EncoderCall
 * @typedef {import('./transformerEncoder.js').EncoderLayerCall} EncoderLayerCall
 * @typedef {import('./transformerDecoder.js').TransformerDecoder} TransformerDecoder
 * @typedef {import('./transformerDecoder.js').TransformerDecoderLayer} TransformerDecoderLayer
 * @typedef {import('./transformerDecoder.js').DecoderCall} DecoderCall
 * @typedef {import('./transformerDecoder.js').DecoderLayerCall} DecoderLayerCall
 * @typedef {import('./recurrent.js').GRU} GRU
 * @typedef {import('./recurrent.js').GRUOptions} GRUOptions
 * @typedef {import('./recurrent.js').RNN} RNN
 * @typedef {import('./recurrent.js').RNNOptions} RNNOptions
 * @typedef {import('./conv1d.js').Conv1d} Conv1d
 * @typedef {import('./conv1d.js').Conv1dOptions} Conv1dOptions
 * @typedef {import('./bahdanauDecoder.js').BahdanauDecoder} BahdanauDecoder
 * @typedef {import('./bahdanauDecoder.js').BahdanauDecoderOptions} BahdanauDecoderOptions
 * @typedef {import('./bahdanauDecoder.js').BahdanauDecoderState} BahdanauDecoderState
 * @typedef {import('./safetensors.js').Safetensors} Safetensors
 * @typedef {import('./safetensors.js').SafetensorsEntry} SafetensorsEntry
 * @typedef {import('./safetensors.js').IncompatibleKeys} IncompatibleKeys
 * @typedef {import('./tape.js').Tape} Tape
 * @typedef {import('./tape.js').Variable} Variable
 * @typedef {import('./creation.js').NestedNumbers} NestedNumbers
 * @typedef {import('./optimizers.js').Optimizer} Optimizer
 * @typedef {import('./optimizers.js').ParameterGroup} ParameterGroup
 * @typedef {import('./tape.js').ClearOptions} ClearOptions
 * @typedef {import('./optimizers.js').SGD} SGD
 * @typedef {import('./optimizers.js').SgdOptions} SgdOptions
 * @typedef {import('./optimizers.js').Adam} Adam
 * @typedef {import('./optimizers.js').AdamW} AdamW
 * @typedef {import('./optimizers.js').AdamOptions} AdamOptions
 * @typedef {import('./optimizers.js').Model} Model
 * @typedef {import('./training.js').TrainingAttn} TrainingAttn
 * @typedef {import('./trainingModels.js').TrainingModelsAttn} TrainingModelsAttn
 * @typedef {import('./recordedModels.js').RecordsModel} RecordsModel
 * @typedef {import('./recordedModels.js').VariableLanguageModelOptions} VariableLanguageModelOptions
 * @typedef {import('./losses.js').CrossEntropyOptions} CrossEntropyOptions
 * @typedef {import('./losses.js').MseLossOptions} MseLossOptions
 * @typedef {import('./losses.js').NeedGradientOption} NeedGradientOption
 * @typedef {import('./attentionOfVariables.js').VariableAttentionOptions} VariableAttentionOptions
 * @typedef {import('./poolingOfVariables.js').VariablePoolingOptions} VariablePoolingOptions
 * @typedef {import('./recordedLayers.js').BahdanauVariables} BahdanauVariables
 * @typedef {import('./recordedLayers.js').RecurrentVariables} RecurrentVariables
 * @typedef {import('./attentionOfVariables.js').AttentionTerms} AttentionTerms
 * @typedef {import('./recordedLayers.js').VariableMultiHeadAttentionOptions} VariableMultiHeadAttentionOptions
 * @typedef {import('./recordedLayers.js').VariableEncoderOptions} VariableEncoderOptions
 * @typedef {import('./recordedLayers.js').VariableDecoderOptions} VariableDecoderOptions
 * @typedef {import('./learningRates.js').ConstantScheduleOptions} ConstantScheduleOptions
 * @typedef {import('./learningRates.js').CosineScheduleOptions} CosineScheduleOptions
 * @typedef {import('./learningRates.js').InverseSqrtScheduleOptions} InverseSqrtScheduleOptions
 * @typedef {import('./models.js').ModelsAttn} ModelsAttn
 * @typedef {import('./languageModel.js').LanguageModelDescription} LanguageModelDescription
 * @typedef {import('./languageModel.js').LanguageModelLayer} LanguageModelLayer
 * @typedef {import('./loadLanguageModel.js').LanguageModelHints} LanguageModelHints
 * @typedef {import('./loadLanguageModel.js').LoadModelOptions} LoadModelOptions
 * @typedef {import('./modelFiles.js').ModelFile} ModelFile
 * @typedef {import('./modelFiles.js').ModelFiles} ModelFiles
 * @typedef {import('./encoderDecoderModel.js').EncodeCall} EncodeCall
 * @typedef {import('./encoderDecoderModel.js').DecodeCall} DecodeCall
 * @typedef {import('./encoderDecoderModel.js').EncoderDecoderDescription} EncoderDecoderDescription
 * @typedef {import('./loadEncoderDecoder.js').EncoderDecoderHints} EncoderDecoderHints
 * @typedef {import('./loadEncoderDecoder.js').LoadEncoderDecoderOptions} LoadEncoderDecoderOptions
 * @typedef {import('./languageModel.js').LanguageModelCall} LanguageModelCall
 * @typedef {import('./languageModel.js').SamplingOptions} SamplingOptions
 * @typedef {import('./languageModel.js').ChooseTokenOptions} ChooseTokenOptions
 * @typedef {import('./languageModel.js').GenerationOptions} GenerationOptions
 * @typedef {import('./variants.js').Variant} Variant
 */

/**
 * @template {import('./tensorHandle.js').ResultKind} [As='array']
 * @typedef {import('./languageModel.js').LanguageModel<As>} LanguageModel
 */

/**
 * @template {import('./tensorHandle.js').ResultKind} [As='array']
 * @typedef {import('./encoderDecoderModel.js').EncoderDecoderModel<As>} EncoderDecoderModel
 */

/**
 * @template {import('./tensorHandle.js').ResultKind} [As='array']
 * @template {boolean} [Scaled=boolean]
 * @template {boolean} [Capped=boolean]
 * @template {boolean} [Biased=boolean]
 * @template {boolean} [Weights=boolean]
 * @template {boolean} [LogSumExp=boolean]
 * @template {boolean} [Sums=boolean]
 * @template {import('./elementType.js').ElementType} [Output='float32']
 * @typedef {import('./scaledDotProductAttention.js').AttentionResult<As, Scaled, Capped, Biased, Weights, LogSumExp, Sums, Output>} AttentionResult
 */

/**
 * @template {import('./tensorHandle.js').ResultKind} [As='array']
 * @typedef {import('./mergeAttention.js').AttentionPart<As>} AttentionPart
 */

/**
 * @template {import('./tensorHandle.js').ResultKind} [As='array']
 * @template {boolean} [Gradient=boolean]
 * @typedef {import('./losses.js').LossResult<As, Gradient>} LossResult
 */

/**
 * @template {import('./tensorHandle.js').ResultKind} [As='array']
 * @template {boolean} [Scores=boolean]
 * @template {boolean} [Weights=boolean]
 * @typedef {import('./attentionPooling.js').AttentionPoolingResult<As, Scores, Weights>} AttentionPoolingResult
 */
