// The types of calls into a worker whose results follow their options. A mapped type erases the type
// parameters of a method, so these methods are written out, beside the mapped ones of worker.js.

/** @import { AdditiveAttention } from './additiveAttention.js' */
/** @import { Attn } from './attn.js' */
/** @import { ExclusionOptions, ScoreOptions, StageOptions } from './attentionOptions.js' */
/** @import { AttentionPoolingResult, PoolingOptions, ScoringOptions } from './attentionPooling.js' */
/** @import { BahdanauDecoder, BahdanauDecoderResult, BahdanauDecoderState } from './bahdanauDecoder.js' */
/** @import { DecodingState, KeyValueCache } from './keyValueCache.js' */
/** @import { CacheOption, MultiHeadAttention } from './multiHeadAttention.js' */
/** @import { AttentionResult, LayoutOptions } from './scaledDotProductAttention.js' */
/** @import { NumbersLike, TensorLike } from './tensor.js' */
/** @import { ResultKind } from './tensorHandle.js' */
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
 *   : unknown} RemoteCalls
 */

/**
 * Options of attention, as they are sent.
 * @template {boolean} Scaled
 * @template {boolean} Capped
 * @template {boolean} Biased
 * @template {boolean} Weights
 * @template {boolean} LogSumExp
 * @typedef {Sent<ScoreOptions & ExclusionOptions>
 *   & StageOptions<Scaled, Capped, Biased, Weights, LogSumExp>} SentAttentionOptions
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
 *   >(
 *     query: Sent<TensorLike>,
 *     key: Sent<TensorLike>,
 *     value: Sent<TensorLike>,
 *     options?: SentAttentionOptions<Scaled, Capped, Biased, Weights, LogSumExp> & LayoutOptions,
 *   ): Promise<Sent<AttentionResult<As, Scaled, Capped, Biased, Weights, LogSumExp>>>,
 *   attentionPooling<
 *     Scores extends boolean = false,
 *     Weights extends boolean = false,
 *   >(
 *     query: Sent<TensorLike>,
 *     key: Sent<TensorLike>,
 *     value: Sent<TensorLike>,
 *     options?: SentPoolingOptions<Scores, Weights> & ScoringOptions,
 *   ): Promise<Sent<AttentionPoolingResult<As, Scores, Weights>>>,
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
 *   >(
 *     query: Sent<TensorLike>,
 *     key?: Sent<TensorLike>,
 *     value?: Sent<TensorLike>,
 *     options?: SentAttentionOptions<Scaled, Capped, Biased, Weights, LogSumExp> & Sent<CacheOption>,
 *   ): Promise<Sent<AttentionResult<As, Scaled, Capped, Biased, Weights, LogSumExp>>>,
 *   attend<
 *     Scaled extends boolean = false,
 *     Capped extends boolean = false,
 *     Biased extends boolean = false,
 *     Weights extends boolean = false,
 *     LogSumExp extends boolean = false,
 *   >(
 *     query: Sent<TensorLike>,
 *     cache: Remote<KeyValueCache<any>>,
 *     options?: SentAttentionOptions<Scaled, Capped, Biased, Weights, LogSumExp>,
 *   ): Promise<Sent<AttentionResult<As, Scaled, Capped, Biased, Weights, LogSumExp>>>,
 * }} MultiHeadAttentionCalls
 */

/**
 * @template {ResultKind} As
 * @typedef {{
 *   forward<
 *     Scores extends boolean = false,
 *     Weights extends boolean = false,
 *   >(
 *     query: Sent<TensorLike>,
 *     key: Sent<TensorLike>,
 *     value: Sent<TensorLike>,
 *     options?: SentPoolingOptions<Scores, Weights>,
 *   ): Promise<Sent<AttentionPoolingResult<As, Scores, Weights>>>,
 *   forwardProjected<
 *     Scores extends boolean = false,
 *     Weights extends boolean = false,
 *   >(
 *     query: Sent<TensorLike>,
 *     projectedKeys: Sent<TensorLike>,
 *     value: Sent<TensorLike>,
 *     options?: SentPoolingOptions<Scores, Weights>,
 *   ): Promise<Sent<AttentionPoolingResult<As, Scores, Weights>>>,
 * }} AdditiveAttentionCalls
 */

/**
 * @template {ResultKind} As
 * @typedef {{
 *   forward<
 *     Alignment extends boolean = false,
 *   >(
 *     tokens: Sent<NumbersLike>,
 *     state: Remote<BahdanauDecoderState>,
 *     options?: { needAlignment?: Alignment },
 *   ): Promise<Sent<BahdanauDecoderResult<As, Alignment>>>,
 * }} BahdanauDecoderCalls
 */

/**
 * @template {ResultKind} As
 * @typedef {{
 *   forward<
 *     Weights extends boolean = false,
 *   >(
 *     x: Sent<TensorLike>,
 *     options?: Sent<Omit<EncoderCall, 'needWeights'>> & Pick<EncoderCall<Weights>, 'needWeights'>,
 *   ): Promise<Sent<EncoderResult<As, Weights>>>,
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
 *   >(
 *     x: Sent<TensorLike>,
 *     options?: Sent<Omit<EncoderLayerCall, 'attention'>> & {
 *       attention?: SentAttentionOptions<Scaled, Capped, Biased, Weights, LogSumExp>,
 *     },
 *   ): Promise<Sent<AttentionResult<As, Scaled, Capped, Biased, Weights, LogSumExp>>>,
 * }} EncoderLayerCalls
 */

/**
 * @template {ResultKind} As
 * @typedef {{
 *   forward<
 *     Weights extends boolean = false,
 *   >(
 *     x: Sent<TensorLike>,
 *     memory: Sent<TensorLike | DecodingState>,
 *     options?: Sent<Omit<DecoderCall, 'needWeights'>> & Pick<DecoderCall<Weights>, 'needWeights'>,
 *   ): Promise<Sent<DecoderResult<As, Weights>>>,
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
 *   >(
 *     x: Sent<TensorLike>,
 *     memory: Sent<TensorLike | DecodingState>,
 *     options?: Sent<Pick<DecoderLayerCall, 'dropout'>> & {
 *       selfAttention?: SentAttentionOptions<
 *         SelfScaled, SelfCapped, SelfBiased, SelfWeights, SelfLogSumExp
 *       >,
 *       crossAttention?: SentAttentionOptions<
 *         CrossScaled, CrossCapped, CrossBiased, CrossWeights, CrossLogSumExp
 *       >,
 *     },
 *   ): Promise<Sent<DecoderLayerResult<As,
 *     SelfScaled, SelfCapped, SelfBiased, SelfWeights, SelfLogSumExp,
 *     CrossScaled, CrossCapped, CrossBiased, CrossWeights, CrossLogSumExp>>>,
 * }} DecoderLayerCalls
 */

export {};
