// The types of calls into a worker whose results follow their options. A mapped type erases the type
// parameters of a method, so these methods are written out, beside the mapped ones of worker.js.

/** @import { AdditiveAttention } from './additiveAttention.js' */
/** @import { Attn } from './attn.js' */
/** @import { DropoutOption, ExclusionOptions, ScoreOptions, StageOptions } from './attentionOptions.js' */
/** @import { AttentionPoolingResult, PoolingOptions, ScoringOptions } from './attentionPooling.js' */
/** @import { BahdanauDecoder, BahdanauDecoderResult, BahdanauDecoderState } from './bahdanauDecoder.js' */
/** @import { Dropout } from './dropout.js' */
/** @import { ElementsLike, ElementType, OutputTypeOption, ResultOfType } from './elementType.js' */
/** @import { Embedding } from './embedding.js' */
/** @import { FeedForward } from './feedForward.js' */
/** @import { DecodingState, KeyValueCache } from './keyValueCache.js' */
/** @import { Asked, IntermediatesOption, OutputOrShown, ShownIntermediates } from './layer.js' */
/** @import { AddNorm, LayerNorm } from './layerNorm.js' */
/** @import { Linear } from './linear.js' */
/** @import { CacheOption, MultiHeadAttention, MultiHeadAttentionResult } from './multiHeadAttention.js' */
/** @import { GRU, RecurrentResult, RNN } from './recurrent.js' */
/** @import { RMSNorm } from './rmsNorm.js' */
/** @import { HeadsOption, RotaryCacheRule, RotaryEmbedding, RotaryPositions } from './rotaryEmbedding.js' */
/** @import { AttentionResult, LayoutOptions } from './scaledDotProductAttention.js' */
/** @import { Integers, NumbersLike, TensorLike } from './tensor.js' */
/** @import { ResultKind, TensorHandle } from './tensorHandle.js' */
/** @import { DecoderCall, DecoderLayerCall, DecoderLayerResult, DecoderResult, TransformerDecoder, TransformerDecoderLayer } from './transformerDecoder.js' */
/** @import { EncoderCall, EncoderLayerCall, EncoderResult, TransformerEncoder, TransformerEncoderLayer } from './transformerEncoder.js' */
/** @import { Remote, Sent } from './worker.js' */

/**
 * The methods of `T` whose results follow their options.
 * @template T
 * @typedef {T extends Attn<infer As> ? AttnCalls<As>
 *   : T extends MultiHeadAttention<infer As> ? MultiHeadAttentionCalls<As>
 *   : T extends AdditiveAttention<infer As> ? AdditiveAttentionCalls<As>
 *   : T extends BahdanauDecoder<infer As> ? BahdanauDecoderCalls<As>
 *   : T extends TransformerEncoder<infer As> ? EncoderCalls<As>
 *   : T extends TransformerEncoderLayer<infer As> ? EncoderLayerCalls<As>
 *   : T extends TransformerDecoder<infer As> ? DecoderCalls<As>
 *   : T extends TransformerDecoderLayer<infer As> ? DecoderLayerCalls<As>
 *   : T extends FeedForward<infer As> ? FeedForwardCalls<As>
 *   : T extends AddNorm<infer As> ? AddNormCalls<As>
 *   : T extends LayerNorm<infer As> ? LayerNormCalls<As>
 *   : T extends Linear<infer As> | RMSNorm<infer As> ? RowCalls<As>
 *   : T extends Embedding<infer As> ? EmbeddingCalls<As>
 *   : T extends RotaryEmbedding<infer As> ? RotaryCalls<As>
 *   : T extends GRU<infer As> | RNN<infer As> ? RecurrentCalls<As>
 *   : unknown} RemoteCalls
 */

/**
 * Options of attention in a layer of a Transformer, as they are sent.
 * @template {boolean} Scaled
 * @template {boolean} Capped
 * @template {boolean} Biased
 * @template {boolean} Weights
 * @template {boolean} LogSumExp
 * @typedef {Sent<ScoreOptions & ExclusionOptions>
 *   & StageOptions<Scaled, Capped, Biased, Weights, LogSumExp>} SentLayerAttentionOptions
 */

/**
 * Options of attention, as they are sent.
 * @template {boolean} Scaled
 * @template {boolean} Capped
 * @template {boolean} Biased
 * @template {boolean} Weights
 * @template {boolean} LogSumExp
 * @typedef {SentLayerAttentionOptions<Scaled, Capped, Biased, Weights, LogSumExp>
 *   & DropoutOption} SentAttentionOptions
 */

/**
 * Options of pooling, as they are sent.
 * @template {boolean} Scores
 * @template {boolean} Weights
 * @typedef {Sent<Omit<PoolingOptions, 'needScores' | 'needWeights'>>
 *   & Pick<PoolingOptions<Scores, Weights>, 'needScores' | 'needWeights'>} SentPoolingOptions
 */

/**
 * @template {ResultKind} As
 * @typedef {{
 *   scaledDotProductAttention<
 *     Scaled extends boolean = false,
 *     Capped extends boolean = false,
 *     Biased extends boolean = false,
 *     Weights extends boolean = false,
 *     LogSumExp extends boolean = false,
 *     Output extends ElementType = 'float32',
 *   >(
 *     query: Sent<ElementsLike | TensorHandle>,
 *     key: Sent<ElementsLike | TensorHandle>,
 *     value: Sent<ElementsLike | TensorHandle>,
 *     options?: SentAttentionOptions<Scaled, Capped, Biased, Weights, LogSumExp> & LayoutOptions
 *       & OutputTypeOption<Output>,
 *   ): Promise<Sent<AttentionResult<As, Scaled, Capped, Biased, Weights, LogSumExp, Output>>>,
 *   scaledDotProductAttention<
 *     Scaled extends boolean = false,
 *     Capped extends boolean = false,
 *     Biased extends boolean = false,
 *     Weights extends boolean = false,
 *     LogSumExp extends boolean = false,
 *     Output extends ElementType = 'float32',
 *   >(
 *     query: Sent<ElementsLike | TensorHandle>,
 *     cache: Sent<KeyValueCache<any>>,
 *     options?: SentAttentionOptions<Scaled, Capped, Biased, Weights, LogSumExp> & LayoutOptions
 *       & OutputTypeOption<Output>,
 *   ): Promise<Sent<AttentionResult<As, Scaled, Capped, Biased, Weights, LogSumExp, Output>>>,
 *   attentionPooling<
 *     Scores extends boolean = false,
 *     Weights extends boolean = false,
 *   >(
 *     query: Sent<TensorLike>,
 *     key: Sent<TensorLike>,
 *     value: Sent<TensorLike>,
 *     options?: SentPoolingOptions<Scores, Weights> & ScoringOptions,
 *   ): Promise<Sent<AttentionPoolingResult<As, Scores, Weights>>>,
 *   applyRotaryEmbedding<
 *     Output extends ElementType = 'float32',
 *   >(
 *     x: Sent<ElementsLike | TensorHandle>,
 *     cosCache: Sent<TensorLike>,
 *     sinCache: Sent<TensorLike>,
 *     options?: Sent<RotaryCacheRule & HeadsOption> & OutputTypeOption<Output>,
 *   ): Promise<Sent<ResultOfType<As, Output>>>,
 * }} AttnCalls
 */

/**
 * @template {ResultKind} As
 * @typedef {{
 *   forward<
 *     Scaled extends boolean = false,
 *     Capped extends boolean = false,
 *     Biased extends boolean = false,
 *     Weights extends boolean = false,
 *     LogSumExp extends boolean = false,
 *     N extends Asked = undefined,
 *     Output extends ElementType = 'float32',
 *   >(
 *     query: Sent<ElementsLike | TensorHandle>,
 *     key?: Sent<ElementsLike | TensorHandle>,
 *     value?: Sent<ElementsLike | TensorHandle>,
 *     options?: SentAttentionOptions<Scaled, Capped, Biased, Weights, LogSumExp>
 *       & Sent<CacheOption> & OutputTypeOption<Output> & IntermediatesOption<N>,
 *   ): Promise<Sent<
 *     MultiHeadAttentionResult<As, Scaled, Capped, Biased, Weights, LogSumExp, N, Output>
 *   >>,
 *   attend<
 *     Scaled extends boolean = false,
 *     Capped extends boolean = false,
 *     Biased extends boolean = false,
 *     Weights extends boolean = false,
 *     LogSumExp extends boolean = false,
 *     N extends Asked = undefined,
 *     Output extends ElementType = 'float32',
 *   >(
 *     query: Sent<ElementsLike | TensorHandle>,
 *     cache: Remote<KeyValueCache<any>>,
 *     options?: SentAttentionOptions<Scaled, Capped, Biased, Weights, LogSumExp>
 *       & OutputTypeOption<Output> & IntermediatesOption<N>,
 *   ): Promise<Sent<
 *     MultiHeadAttentionResult<As, Scaled, Capped, Biased, Weights, LogSumExp, N, Output>
 *   >>,
 * }} MultiHeadAttentionCalls
 */

/**
 * @template {ResultKind} As
 * @typedef {{
 *   forward<
 *     Scores extends boolean = false,
 *     Weights extends boolean = false,
 *     N extends Asked = undefined,
 *   >(
 *     query: Sent<TensorLike>,
 *     key: Sent<TensorLike>,
 *     value: Sent<TensorLike>,
 *     options?: SentPoolingOptions<Scores, Weights> & IntermediatesOption<N>,
 *   ): Promise<Sent<AttentionPoolingResult<As, Scores, Weights> & ShownIntermediates<As, N>>>,
 *   forwardProjected<
 *     Scores extends boolean = false,
 *     Weights extends boolean = false,
 *     N extends Asked = undefined,
 *   >(
 *     query: Sent<TensorLike>,
 *     projectedKeys: Sent<TensorLike>,
 *     value: Sent<TensorLike>,
 *     options?: SentPoolingOptions<Scores, Weights> & IntermediatesOption<N>,
 *   ): Promise<Sent<AttentionPoolingResult<As, Scores, Weights> & ShownIntermediates<As, N>>>,
 * }} AdditiveAttentionCalls
 */

/**
 * @template {ResultKind} As
 * @typedef {{
 *   forward<
 *     Alignment extends boolean = false,
 *     N extends Asked = undefined,
 *   >(
 *     tokens: Sent<NumbersLike>,
 *     state: Remote<BahdanauDecoderState>,
 *     options?: { needAlignment?: Alignment } & IntermediatesOption<N>,
 *   ): Promise<Sent<BahdanauDecoderResult<As, Alignment> & ShownIntermediates<As, N>>>,
 * }} BahdanauDecoderCalls
 */

/**
 * @template {ResultKind} As
 * @typedef {{
 *   forward<
 *     Weights extends boolean = false,
 *     N extends Asked = undefined,
 *     Output extends ElementType = 'float32',
 *   >(
 *     x: Sent<ElementsLike | TensorHandle>,
 *     options?: Sent<Omit<EncoderCall, 'needWeights'>> & Pick<EncoderCall<Weights>, 'needWeights'>
 *       & OutputTypeOption<Output> & IntermediatesOption<N>,
 *   ): Promise<Sent<EncoderResult<As, Weights, Output> & ShownIntermediates<As, N>>>,
 * }} EncoderCalls
 */

/**
 * @template {ResultKind} As
 * @typedef {{
 *   forward<
 *     Scaled extends boolean = false,
 *     Capped extends boolean = false,
 *     Biased extends boolean = false,
 *     Weights extends boolean = false,
 *     LogSumExp extends boolean = false,
 *     N extends Asked = undefined,
 *     Output extends ElementType = 'float32',
 *   >(
 *     x: Sent<ElementsLike | TensorHandle>,
 *     options?: Sent<Omit<EncoderLayerCall, 'attention'>> & {
 *       attention?: SentLayerAttentionOptions<Scaled, Capped, Biased, Weights, LogSumExp>,
 *     } & OutputTypeOption<Output> & IntermediatesOption<N>,
 *   ): Promise<Sent<
 *     MultiHeadAttentionResult<As, Scaled, Capped, Biased, Weights, LogSumExp, N, Output>
 *   >>,
 * }} EncoderLayerCalls
 */

/**
 * @template {ResultKind} As
 * @typedef {{
 *   forward<
 *     Weights extends boolean = false,
 *     N extends Asked = undefined,
 *     Output extends ElementType = 'float32',
 *   >(
 *     x: Sent<ElementsLike | TensorHandle>,
 *     memory: Sent<ElementsLike | TensorHandle | DecodingState>,
 *     options?: Sent<Omit<DecoderCall, 'needWeights'>> & Pick<DecoderCall<Weights>, 'needWeights'>
 *       & OutputTypeOption<Output> & IntermediatesOption<N>,
 *   ): Promise<Sent<DecoderResult<As, Weights, Output> & ShownIntermediates<As, N>>>,
 * }} DecoderCalls
 */

/**
 * @template {ResultKind} As
 * @typedef {{
 *   forward<
 *     SelfScaled extends boolean = false,
 *     SelfCapped extends boolean = false,
 *     SelfBiased extends boolean = false,
 *     SelfWeights extends boolean = false,
 *     SelfLogSumExp extends boolean = false,
 *     CrossScaled extends boolean = false,
 *     CrossCapped extends boolean = false,
 *     CrossBiased extends boolean = false,
 *     CrossWeights extends boolean = false,
 *     CrossLogSumExp extends boolean = false,
 *     N extends Asked = undefined,
 *     Output extends ElementType = 'float32',
 *   >(
 *     x: Sent<ElementsLike | TensorHandle>,
 *     memory: Sent<ElementsLike | TensorHandle | DecodingState>,
 *     options?: Sent<Pick<DecoderLayerCall, 'dropout'>> & {
 *       selfAttention?: SentLayerAttentionOptions<
 *         SelfScaled, SelfCapped, SelfBiased, SelfWeights, SelfLogSumExp
 *       >,
 *       crossAttention?: SentLayerAttentionOptions<
 *         CrossScaled, CrossCapped, CrossBiased, CrossWeights, CrossLogSumExp
 *       >,
 *     } & OutputTypeOption<Output> & IntermediatesOption<N>,
 *   ): Promise<Sent<DecoderLayerResult<As,
 *     SelfScaled, SelfCapped, SelfBiased, SelfWeights, SelfLogSumExp,
 *     CrossScaled, CrossCapped, CrossBiased, CrossWeights, CrossLogSumExp, Output>
 *     & ShownIntermediates<As, N>>>,
 * }} DecoderLayerCalls
 */

/**
 * @template {ResultKind} As
 * @typedef {{
 *   forward<
 *     N extends Asked = undefined,
 *     Output extends ElementType = 'float32',
 *   >(
 *     x: Sent<ElementsLike | TensorHandle>,
 *     options?: { dropout?: Dropout | number } & OutputTypeOption<Output> & IntermediatesOption<N>,
 *   ): Promise<Sent<OutputOrShown<As, N, Output>>>,
 * }} FeedForwardCalls
 */

/**
 * @template {ResultKind} As
 * @typedef {{
 *   forward<
 *     Output extends ElementType = 'float32',
 *   >(
 *     x: Sent<ElementsLike | TensorHandle>,
 *     options?: OutputTypeOption<Output>,
 *   ): Promise<Sent<ResultOfType<As, Output>>>,
 * }} RowCalls
 */

/**
 * @template {ResultKind} As
 * @typedef {{
 *   forward<
 *     Output extends ElementType = 'float32',
 *   >(
 *     ids: Sent<Integers>,
 *     options?: OutputTypeOption<Output>,
 *   ): Promise<Sent<ResultOfType<As, Output>>>,
 * }} EmbeddingCalls
 */

/**
 * @template {ResultKind} As
 * @typedef {{
 *   forward<
 *     Output extends ElementType = 'float32',
 *   >(
 *     x: Sent<ElementsLike | TensorHandle>,
 *     options?: OutputTypeOption<Output>,
 *   ): Promise<Sent<ResultOfType<As, Output>>>,
 *   forwardSum<
 *     Output extends ElementType = 'float32',
 *   >(
 *     x: Sent<ElementsLike | TensorHandle>,
 *     y: Sent<ElementsLike | TensorHandle>,
 *     options?: OutputTypeOption<Output>,
 *   ): Promise<Sent<ResultOfType<As, Output>>>,
 * }} LayerNormCalls
 */

/**
 * @template {ResultKind} As
 * @typedef {{
 *   forward<
 *     Output extends ElementType = 'float32',
 *   >(
 *     x: Sent<ElementsLike | TensorHandle>,
 *     options?: Sent<RotaryPositions & HeadsOption> & OutputTypeOption<Output>,
 *   ): Promise<Sent<ResultOfType<As, Output>>>,
 * }} RotaryCalls
 */

/**
 * @template {ResultKind} As
 * @typedef {{
 *   forward<
 *     N extends Asked = undefined,
 *   >(
 *     x: Sent<TensorLike>,
 *     y: Sent<TensorLike>,
 *     options?: { dropout?: Dropout | number } & IntermediatesOption<N>,
 *   ): Promise<Sent<OutputOrShown<As, N>>>,
 * }} AddNormCalls
 */

/**
 * @template {ResultKind} As
 * @typedef {{
 *   forward<
 *     N extends Asked = undefined,
 *   >(
 *     x: Sent<TensorLike>,
 *     options?: { h0?: Sent<TensorLike> } & IntermediatesOption<N>,
 *   ): Promise<Sent<RecurrentResult<As> & ShownIntermediates<As, N>>>,
 * }} RecurrentCalls
 */

export {};
