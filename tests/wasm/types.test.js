import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

import ts from 'typescript';

import { kLayers } from './layerClasses.js';

const root = join(import.meta.dirname, '../..');

/** A user's program. The marked lines must not compile. */
const example = `
import { load, AttnError } from 'attn';
import type { Attn, AttentionResult, CacheType, ElementsLike, HalfTensor, MultiHeadAttention, Tensor, Variant } from 'attn';
import { load as loadInWorker } from 'attn/worker';
import type { Remote, RemoteAttn } from 'attn/worker';
import { serve } from 'attn/worker/serve';

const attn: Attn = await load({ variant: 'simd128', threads: 2, wasmUrl: new URL('https://a.example/') });
const variant: Variant = attn.variant;
const x: Tensor = attn.ngramEmbedding(['a', 'b'], { dModel: 8, seed: 1 });
const result: AttentionResult = attn.scaledDotProductAttention(x, x, { data: [1, 2], shape: [2, 1] }, {
  scale: 0.5,
  causal: true,
  diagonal: 'bottomRight',
  window: { left: 1 },
  validLens: [2],
  mask: { data: [true, false], shape: [2] },
  needWeights: true,
});
const weights: Tensor | undefined = result.weights;
{
  using cache = new attn.KeyValueCache({ numKvHeads: 1, headDim: 8, type: 'int8' });
  const type: CacheType = cache.type;
  const bits: ElementsLike = { data: new Uint16Array(8), shape: [1, 1, 1, 8], type: 'bfloat16' };
  cache.append(bits, bits);
  const cached: Tensor = attn.scaledDotProductAttention(bits, cache, { needWeights: true }).weights;
  const half: HalfTensor = attn.scaledDotProductAttention(bits, cache, { outputType: 'float16' }).output;
  const linear = new attn.Linear({ inFeatures: 8, outFeatures: 2 });
  const norm = new attn.LayerNorm({ width: 8 });
  const rotary = new attn.RotaryEmbedding({ rotaryDim: 8 });
  const wide: Tensor[] = [linear.forward(bits), norm.forwardSum(bits, half), rotary.forward(bits, { start: 1 })];
  const halves: HalfTensor[] = [
    linear.forward(bits, { outputType: 'float16' }),
    norm.forward(x, { outputType: 'bfloat16' }),
    rotary.forward(bits, { outputType: 'bfloat16' }),
    attn.applyRotaryEmbedding(bits, x, x, { outputType: 'float16' }),
  ];
  const sizes = { dModel: 8, dimFeedforward: 8, numLayers: 1 };
  const encoder = new attn.TransformerEncoder(sizes);
  const decoder = new attn.TransformerDecoder(sizes);
  const mha = new attn.MultiHeadAttention({ dModel: 8 });
  const layers: HalfTensor[] = [
    mha.forward(bits, half, bits, { outputType: 'float16' }).output,
    mha.attend(bits, cache, { outputType: 'float16' }).output,
    encoder.forward(bits, { outputType: 'float16' }).output,
    encoder.layers[0]!.forward(bits, { outputType: 'float16' }).output,
    decoder.forward(bits, half, { outputType: 'float16' }).output,
    decoder.layers[0]!.forward(bits, half, { outputType: 'float16' }).output,
    new attn.FeedForward(sizes).forward(bits, { outputType: 'float16' }),
    new attn.GatedFeedForward(sizes).forward(bits, { outputType: 'float16', intermediates: ['hidden'] }).output,
    new attn.Embedding({ numEmbeddings: 2, embeddingDim: 8 }).forward([1], { outputType: 'float16' }),
  ];
  const wideLayers: Tensor[] = [
    mha.forward(bits).output,
    encoder.forward(bits, { needWeights: true }).weights[0]!,
    decoder.forward(bits, half).output,
    new attn.FeedForward(sizes).forward(bits),
  ];
  const both: HalfTensor = attn.scaledDotProductAttention(half, bits, bits, { outputType: 'bfloat16' }).output;
}
const first: number = result.output.data[0]!;
const encoding: Tensor = attn.sinusoidalEncoding({ length: 4, dModel: 8, layout: 'concatenated' });
const matrix: Tensor = attn.shiftMatrix({ dModel: 8, delta: -0.5, base: 100 });
const shifted: Tensor = attn.applyShift(encoding, 2);
const positioned: Tensor = attn.positionalEncoding(x, { start: 3 });
{
  using mha = new attn.MultiHeadAttention({ dModel: 8, numHeads: 2, bias: true, init: 'identity' });
  const names: string[] = mha.parameterNames();
  mha.setParameter(names[0]!, mha.parameter('in_proj_weight'));
  mha.forward(x, x, x, { diagonal: 1, validLens: Int32Array.of(2) }).output.shape satisfies number[];
}
const remote: RemoteAttn = await loadInWorker({ variant: 'simd128', threads: 2 });
const remoteVariant: Variant = await remote.variant;
const remoteLayer: Remote<MultiHeadAttention> = await new remote.MultiHeadAttention({ dModel: 8, numHeads: 2 });
const remoteResult: AttentionResult = await remoteLayer
  .with({ signal: AbortSignal.timeout(1000), transfer: [x.data.buffer as ArrayBuffer] })
  .forward(x, x, x, { causal: true });
await remoteLayer.dispose();
const remoteCache = await new remote.KeyValueCache({ numKvHeads: 1, headDim: 8, type: 'float16' });
const remoteHalf: HalfTensor = (await remote.scaledDotProductAttention(x, remoteCache, { outputType: 'float16' })).output;
const remoteLinear = await new remote.Linear({ inFeatures: 8, outFeatures: 2 });
const remoteWide: Tensor = await remoteLinear.forward(remoteHalf);
const remoteNorm = await new remote.LayerNorm({ width: 8 });
const remoteRotary = await new remote.RotaryEmbedding({ rotaryDim: 8 });
const remoteHalves: HalfTensor[] = [
  await remoteLinear.forward(x, { outputType: 'float16' }),
  await remoteNorm.forward(x, { outputType: 'float16' }),
  await remoteNorm.forwardSum(x, remoteHalf, { outputType: 'float16' }),
  await remoteRotary.forward(x, { start: 1, outputType: 'float16' }),
  await remote.applyRotaryEmbedding(x, x, x, { outputType: 'float16' }),
  (await remoteLayer.forward(remoteHalf, x, x, { outputType: 'float16' })).output,
  await (await new remote.FeedForward({ dModel: 8, dimFeedforward: 8 })).forward(x, { outputType: 'float16' }),
  await (await new remote.Embedding({ numEmbeddings: 2, embeddingDim: 8 })).forward([1], { outputType: 'float16' }),
];
const tasks = {
  *count(attn: Attn, to: number): Generator<number, string> {
    for (let i = 0; i < to; ++i) yield i;
    return attn.version;
  },
  use: (attn: Attn, layer: MultiHeadAttention) => layer.numHeads,
};
serve(tasks);
const withTasks = await loadInWorker<typeof tasks>({ worker: new Worker('tasks.js') });
const counted: string = await withTasks.with({ onProgress: console.log }).run('count', 3);
const heads: number = await withTasks.run('use', remoteLayer);
remote.terminate();
try {
  await load();
} catch (error) {
  if (error instanceof AttnError && error.code === 'load_failed') throw error;
}

// @ts-expect-error: there is no such variant
await load({ variant: 'avx2' });
// @ts-expect-error: dModel is missing
attn.sinusoidalEncoding({ length: 4 });
// @ts-expect-error: a shape is missing
attn.positionalEncoding({ data: [1] });
// @ts-expect-error: causal is not a string
attn.scaledDotProductAttention(x, x, x, { causal: 'yes' });
// @ts-expect-error: a plain array has no shape
attn.scaledDotProductAttention([1], [1], [1]);
// @ts-expect-error: there is no such code
if (new AttnError('invalid_argument', '').code === 'wrong') throw 0;
// @ts-expect-error: a promise is not a variant
const notAwaited: Variant = remote.variant;
// @ts-expect-error: dModel is missing
await remote.sinusoidalEncoding({ length: 4 });
// @ts-expect-error: there is no such task
await withTasks.run('multiply', 3);
// @ts-expect-error: the task takes a number
await withTasks.run('count', 'three');
// @ts-expect-error: the properties are read-only
attn.variant = 'simd128';

export { variant, weights, first, matrix, shifted, positioned };
export { remoteVariant, remoteResult, counted, heads, notAwaited };
`;

/**
 * Result types follow the options, on this thread and in a worker. The marked lines must not
 * compile.
 */
const asked = `
import { load } from 'attn';
import type { AttentionOptions, AttentionResult, Tensor, TensorHandle, Variable } from 'attn';
import { load as loadInWorker } from 'attn/worker';

type Same<A, B> =
  (<T,>() => T extends A ? 1 : 2) extends <T,>() => T extends B ? 1 : 2 ? true : false;
/**
 * Checks the type of a value at compile time. The argument "same" must be true if the type is
 * exactly E, and false otherwise.
 */
const is = <E,>() => <V,>(value: V, same: Same<V, E>) => {};

const x: Tensor = { data: Float32Array.of(1), shape: [1, 1] };
const maybe = x.data[0] === 1;
const needed = { needWeights: true } as const;
const some: AttentionOptions = {};
const ids = { data: [1], shape: [1, 1] };

const attn = await load();
const attention = (options: AttentionOptions) => attn.scaledDotProductAttention(x, x, x, options);
is<Tensor>()(attn.scaledDotProductAttention(x, x, x, { needWeights: true }).weights, true);
is<Tensor>()(attn.scaledDotProductAttention(x, x, x, { ...some, ...needed }).weights, true);
is<undefined>()(attn.scaledDotProductAttention(x, x, x).weights, true);
is<undefined>()(attn.scaledDotProductAttention(x, x, x, { causal: true }).weights, true);
is<undefined>()(attn.scaledDotProductAttention(x, x, x, { needWeights: false }).weights, true);
is<undefined>()(attn.scaledDotProductAttention(x, x, x, { needWeights: true }).logSumExp, true);
is<Tensor | undefined>()(attn.scaledDotProductAttention(x, x, x, { needWeights: maybe }).weights, true);
is<Tensor | undefined>()(attention({ needWeights: true }).weights, true);
is<TensorHandle>()(attn.handles.scaledDotProductAttention(x, x, x, needed).weights, true);
const stages = attn.scaledDotProductAttention(x, x, x, {
  needScaledScores: true,
  needCappedScores: true,
  needBiasedScores: true,
  needLogSumExp: true,
  needColumnSums: true,
});
is<Tensor>()(stages.columnSums, true);
is<Tensor>()(stages.scaledScores, true);
is<Tensor>()(stages.cappedScores, true);
is<Tensor>()(stages.biasedScores, true);
is<Tensor>()(stages.logSumExp, true);
const results: AttentionResult[] = [
  attn.scaledDotProductAttention(x, x, x),
  attn.scaledDotProductAttention(x, x, x, { needWeights: maybe }),
  stages,
];
is<Tensor>()(attn.attentionPooling(x, x, x, { needScores: true }).scores, true);
is<undefined>()(attn.attentionPooling(x, x, x, { needScores: true }).weights, true);

const mha = new attn.MultiHeadAttention({ dModel: 1 });
is<Tensor>()(mha.forward(x, x, x, { validLens: [1], needWeights: true }).weights, true);
is<Tensor>()(mha.attend(x, mha.makeCache(), { needWeights: true }).weights, true);
const additive = new attn.AdditiveAttention({ queryDim: 1, keyDim: 1, numHiddens: 1 });
is<Tensor>()(additive.forward(x, x, x, { needWeights: true }).weights, true);
is<Tensor>()(additive.forwardProjected(x, x, x, { needScores: true }).scores, true);
const bahdanau = new attn.BahdanauDecoder({ vocabSize: 2, embedSize: 1, numHiddens: 1 });
const state = bahdanau.initState(x, x);
is<Tensor>()(bahdanau.forward(ids, state, { needAlignment: true }).alignment, true);
is<undefined>()(bahdanau.forward(ids, state).alignment, true);
const encoderLayer = new attn.TransformerEncoderLayer({ dModel: 1 });
is<Tensor>()(encoderLayer.forward(x, { attention: { needWeights: true } }).weights, true);
const encoder = new attn.TransformerEncoder({ dModel: 1 });
is<Tensor[]>()(encoder.forward(x, { needWeights: true }).weights, true);
is<undefined>()(encoder.forward(x).weights, true);
const decoderLayer = new attn.TransformerDecoderLayer({ dModel: 1 });
const decoded = decoderLayer.forward(x, x, { crossAttention: { needWeights: true } });
is<undefined>()(decoded.selfAttention.weights, true);
is<Tensor>()(decoded.crossAttention.weights, true);
const decoder = new attn.TransformerDecoder({ dModel: 1 });
is<Tensor[]>()(decoder.forward(x, x, { needWeights: true }).crossAttentionWeights, true);

const named: string[] | undefined = maybe ? ['output'] : undefined;
type Shown = Record<string, Tensor>;
is<Shown>()(mha.forward(x, x, x, { intermediates: ['q'] }).intermediates, true);
is<Shown>()(mha.attend(x, mha.makeCache(), { intermediates: ['q'] as const }).intermediates, true);
is<undefined>()(mha.forward(x).intermediates, true);
is<undefined>()(mha.forward(x, x, x, { causal: true }).intermediates, true);
is<Shown | undefined>()(mha.forward(x, x, x, { intermediates: named }).intermediates, true);
is<Shown>()(additive.forward(x, x, x, { intermediates: ['scores'] }).intermediates, true);
is<Shown>()(bahdanau.forward(ids, state, { intermediates: ['rnn.output_l0'] }).intermediates, true);
is<Shown>()(encoderLayer.forward(x, { intermediates: ['output'] }).intermediates, true);
is<Shown>()(encoder.forward(x, { needWeights: true, intermediates: ['norm.output'] }).intermediates, true);
is<undefined>()(encoder.forward(x, { needWeights: true }).intermediates, true);
is<Shown>()(decoderLayer.forward(x, x, { intermediates: ['output'] }).intermediates, true);
is<Shown>()(decoder.forward(x, x, { intermediates: ['layers.0.output'] }).intermediates, true);
is<Shown>()(new attn.GRU({ inputSize: 1, hiddenSize: 1 }).forward(x, { intermediates: ['output_l0'] }).intermediates, true);
const feedForward = new attn.FeedForward({ dModel: 1, dimFeedforward: 1 });
is<Tensor>()(feedForward.forward(x), true);
is<Tensor>()(feedForward.forward(x, { dropout: { probability: 0.5 } }), true);
is<Shown>()(feedForward.forward(x, { intermediates: ['hidden'] }).intermediates, true);
is<Tensor>()(feedForward.forward(x, { intermediates: ['hidden'] }).output, true);
const addNorm = new attn.AddNorm({ width: 1 });
is<Tensor>()(addNorm.forward(x, x), true);
is<Shown>()(addNorm.forward(x, x, { intermediates: ['sum'] }).intermediates, true);

const remote = await loadInWorker();
is<Tensor>()((await remote.scaledDotProductAttention(x, x, x, { needWeights: true })).weights, true);
is<undefined>()((await remote.scaledDotProductAttention(x, x, x)).weights, true);
is<Tensor | undefined>()(
  (await remote.scaledDotProductAttention(x, x, x, { needWeights: maybe })).weights,
  true,
);
is<Tensor>()((await remote.attentionPooling(x, x, x, { needWeights: true })).weights, true);
const remoteMha = await new remote.MultiHeadAttention({ dModel: 1 });
is<Tensor>()((await remoteMha.with({}).forward(x, x, x, { needWeights: true })).weights, true);
const cache = await remoteMha.makeCache();
is<Tensor>()((await remoteMha.forward(x, x, x, { cache, needWeights: true })).weights, true);
is<Tensor>()((await remoteMha.attend(x, cache, { needWeights: true })).weights, true);
const remoteAdditive = await new remote.AdditiveAttention({ queryDim: 1, keyDim: 1, numHiddens: 1 });
is<Tensor>()((await remoteAdditive.forward(x, x, x, { needWeights: true })).weights, true);
is<Tensor>()((await remoteAdditive.forwardProjected(x, x, x, { needScores: true })).scores, true);
const remoteBahdanau = await new remote.BahdanauDecoder({ vocabSize: 2, embedSize: 1, numHiddens: 1 });
const remoteState = await remoteBahdanau.initState(x, x);
is<Tensor>()((await remoteBahdanau.forward(ids, remoteState, { needAlignment: true })).alignment, true);
const remoteEncoderLayer = await new remote.TransformerEncoderLayer({ dModel: 1 });
is<Tensor>()((await remoteEncoderLayer.forward(x, { attention: { needWeights: true } })).weights, true);
const remoteEncoder = await new remote.TransformerEncoder({ dModel: 1 });
is<Tensor[]>()((await remoteEncoder.forward(x, { needWeights: true })).weights, true);
const remoteDecoderLayer = await new remote.TransformerDecoderLayer({ dModel: 1 });
const remoteDecoded = await remoteDecoderLayer.forward(x, x, { crossAttention: { needWeights: true } });
is<undefined>()(remoteDecoded.selfAttention.weights, true);
is<Tensor>()(remoteDecoded.crossAttention.weights, true);
const remoteDecoder = await new remote.TransformerDecoder({ dModel: 1 });
is<Tensor[]>()((await remoteDecoder.forward(x, x, { needWeights: true })).selfAttentionWeights, true);
is<Shown>()((await remoteMha.forward(x, x, x, { intermediates: ['q'] })).intermediates, true);
is<undefined>()((await remoteMha.forward(x)).intermediates, true);
is<Shown>()((await remoteEncoder.forward(x, { intermediates: ['norm.output'] })).intermediates, true);
is<Shown>()((await remoteEncoderLayer.forward(x, { intermediates: ['output'] })).intermediates, true);
is<Shown>()((await remoteDecoderLayer.forward(x, x, { intermediates: ['output'] })).intermediates, true);
is<Shown>()((await remoteDecoder.forward(x, x, { intermediates: ['norm.output'] })).intermediates, true);
is<Shown>()((await remoteAdditive.forward(x, x, x, { intermediates: ['scores'] })).intermediates, true);
const remoteFeedForward = await new remote.FeedForward({ dModel: 1, dimFeedforward: 1 });
is<Tensor>()(await remoteFeedForward.forward(x), true);
is<Shown>()((await remoteFeedForward.forward(x, { intermediates: ['hidden'] })).intermediates, true);
const remoteAddNorm = await new remote.AddNorm({ width: 1 });
is<Tensor>()(await remoteAddNorm.forward(x, x), true);
const remoteGru = await new remote.GRU({ inputSize: 1, hiddenSize: 1 });
is<Shown>()((await remoteGru.forward(x, { intermediates: ['output_l0'] })).intermediates, true);

// @ts-expect-error: the name is misspelt
mha.forward(x, x, x, { intermediate: ['q'] });
const trainer = await load({ training: true });
const tape = new trainer.Tape();
const v = tape.variable(x);
is<Variable>()(new trainer.GatedFeedForward({ dModel: 1, dimFeedforward: 1 }).forward(v), true);
is<Tensor>()(new trainer.RMSNorm({ width: 1 }).forward(x), true);
is<Variable>()(trainer.scaledDotProductAttention(v, v, v, { sinks: v, bias: x }), true);
is<Tensor>()(trainer.scaledDotProductAttention(x, x, x, { needWeights: true }).weights, true);
is<Variable>()(trainer.attentionPooling(v, v, v, { scoring: 'gaussian', width: v }), true);
is<Variable>()(new trainer.GRU({ inputSize: 1, hiddenSize: 1 }).forward(v).hN, true);
is<Variable>()(trainer.concatenate([v, v], 0), true);
// @ts-expect-error: a module that only infers has no tapes
new attn.Tape();
is<Variable>()(trainer.scaledDotProductAttention(v, v, v, { needWeights: true }).weights, true);
is<Variable>()(trainer.scaledDotProductAttention(v, v, v, { needBiasedScores: true }).output, true);
is<Variable>()(trainer.scaledDotProductAttention(v, v, v, { needWeights: false }), true);
is<Variable>()(trainer.crossEntropy(v, [0], { labelSmoothing: 0.1 }), true);
is<number>()(trainer.crossEntropy(x, [0], { reduction: 'sum' }).loss, true);
is<undefined>()(trainer.crossEntropy(x, [0]).gradient, true);
is<Tensor>()(trainer.crossEntropy(x, [0], { needGradient: true }).gradient, true);
is<TensorHandle>()(trainer.handles.crossEntropy(x, [0], { needGradient: true }).gradient, true);
is<Variable>()(trainer.mseLoss(v, x), true);
is<Tensor>()(trainer.mseLoss(x, x, { needGradient: true }).gradient, true);
const both = await load({ training: true, models: true });
const trainable = await both.loadModel(new Map());
is<Variable>()(trainable.forward([0], { tape }).logits, true);
is<Tensor>()(trainable.forward([0]).logits, true);
is<Variable>()(trainable.layers[0]!.forward(v), true);
is<Tensor>()(trainable.layers[0]!.forward(x).output, true);
new both.AdamW(trainable);
is<TensorHandle>()((await both.handles.loadModel(new Map())).forward([0]).logits, true);
// @ts-expect-error: a tape records no caches
trainable.forward([0], { tape, caches: trainable.makeCaches() });
// @ts-expect-error gradients of variables come from the tape
trainer.crossEntropy(v, [0], { needGradient: true });
const learnedMha = new trainer.MultiHeadAttention({ dModel: 1, positions: { rotary: { sections: [1] } } });
is<Variable>()(learnedMha.forward(v, v, v, { bias: v, sinks: x, positions: [0], keyPositions: new Float64Array(1) }), true);
is<Tensor>()(learnedMha.forward(x, x, x, { positions: { data: [0, 0], shape: [2, 1, 1] } }).output, true);
const shared = new trainer.TransformerEncoder({ dModel: 1 });
is<Variable>()(shared.forward(v, { attention: { t5Bias: { table: v } }, positions: [0] }), true);
// @ts-expect-error: the weights were not requested
trainer.scaledDotProductAttention(v, v, v, { needBiasedScores: true }).weights.value();
const part = trainer.scaledDotProductAttention(v, v, v, { needLogSumExp: true });
is<Variable>()(part.logSumExp, true);
is<Variable>()(trainer.mergeAttention(v, part.logSumExp, v, part.logSumExp).output, true);
is<Tensor>()(trainer.mergeAttention(x, x, x, x).logSumExp, true);
// @ts-expect-error: with variables, scores before the softcap are not available
trainer.scaledDotProductAttention(v, v, v, { needScaledScores: true });
// @ts-expect-error: with variables, request a layer's weights with watch()
new trainer.MultiHeadAttention({ dModel: 1 }).forward(v, v, v, { needWeights: true });

// @ts-expect-error: the dropout passed to a layer also applies to the weights
encoderLayer.forward(x, { attention: { dropout: { probability: 0.5 } } });
// @ts-expect-error: the names must be a list
mha.forward(x, x, x, { intermediates: 'q' });
// @ts-expect-error: the name is misspelt
feedForward.forward(x, { intermediate: ['hidden'] });
// @ts-expect-error: the name is misspelt
attn.scaledDotProductAttention(x, x, x, { needWeight: true });
// @ts-expect-error: the name is misspelt
attn.scaledDotProductAttention(x, x, x, { needWeights: true, casual: true });
// @ts-expect-error: a flag is not a number
attn.scaledDotProductAttention(x, x, x, { needWeights: 1 });
// @ts-expect-error: the name is misspelt
mha.forward(x, x, x, { needWeights: true, casual: true });
// @ts-expect-error: the name is misspelt
decoderLayer.forward(x, x, { crossAttention: { needWeight: true } });
// @ts-expect-error: the name is misspelt
await remote.scaledDotProductAttention(x, x, x, { needWeights: true, casual: true });
// @ts-expect-error: the name is misspelt
await remoteMha.forward(x, x, x, { needWeight: true });
// @ts-expect-error: the name is misspelt
await remoteDecoderLayer.forward(x, x, { crossAttention: { needWeight: true } });

export { results };
`;

/** `lib` settings of a user's TypeScript compiler. No other types are in scope. */
const kLibraries = { lowest: ['es2022', 'dom'], newest: ['esnext', 'dom'] };

/** TypeScript's own declarations, which all configurations share. @type {Map<string, ts.SourceFile>} */
const parsed = new Map();

/**
 * Compiles the files of a configuration, like `tsc`, and returns what the compiler says about them.
 * @param {object} config  the content of a tsconfig.json
 * @param {string} folder
 */
function problemsOf(config, folder) {
  const { options, fileNames, errors } = ts.parseJsonConfigFileContent(config, ts.sys, folder);
  const host = ts.createCompilerHost(options);
  const { getSourceFile } = host;
  const ownFolder = join(ts.getDefaultLibFilePath(options), '..');
  host.getSourceFile = (name, ...rest) => {
    if (!name.startsWith(ownFolder)) return getSourceFile(name, ...rest);
    const known = parsed.get(name) ?? getSourceFile(name, ...rest);
    if (known) parsed.set(name, known);
    return known;
  };
  const program = ts.createProgram(fileNames, options, host);
  const problems = [...errors, ...ts.getPreEmitDiagnostics(program)];
  return ts.formatDiagnostics(problems, host);
}

for (const [which, lib] of Object.entries(kLibraries)) {
  test(`examples_compile_in_strict_mode_for_browsers_and_node_with_the_${which}_library`, () => {
    // The folder of the examples is inside the checkout, so that imports find the package by its
    // own name.
    const folder = mkdtempSync(join(root, 'build/types-test-'));
    try {
      writeFileSync(join(folder, 'example.mts'), example);
      writeFileSync(join(folder, 'asked.mts'), asked);
      for (const [name, options] of Object.entries({
        bundler: { module: 'esnext', moduleResolution: 'bundler' },
        node: { module: 'nodenext', moduleResolution: 'nodenext' },
        lenient: { module: 'nodenext', exactOptionalPropertyTypes: false },
      })) {
        const config = {
          compilerOptions: {
            ...{ strict: true, noUncheckedIndexedAccess: true, exactOptionalPropertyTypes: true },
            ...options,
            // Check the package's declarations, but not the declarations of TypeScript itself.
            ...{ noEmit: true, skipLibCheck: false, skipDefaultLibCheck: true },
            ...{ target: 'es2022', lib, types: [] },
          },
          files: ['example.mts', 'asked.mts'],
        };
        assert.equal(problemsOf(config, folder), '', name);
      }
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
}

/**
 * Creates every layer with and without training. The test requests hover texts and completions in this
 * source.
 */
const hovered = `
import { load } from 'attn';
const attn = await load();
const training = await load({ training: true });
const tape = new training.Tape();
const variable = tape.variable(attn.zeros([1]));
const optimizer = new training.AdamW(new training.Linear({ inFeatures: 1, outFeatures: 1 }));
const linear = new attn.Linear({ inFeatures: 1, outFeatures: 1 });
const handle = attn.tensor([1]);
tape.clear(); variable.item(); optimizer.lr; linear.dispose(); handle.dispose(); attn.dispose();
`;

test('completions_are_documented_and_forward_is_described_everywhere', () => {
  const path = join(root, 'build/hovered.mts');
  const layers = kLayers.flatMap(([name, options]) =>
    ['attn', 'training'].map(
      (module) => `new ${module}.${name}(${JSON.stringify(options)}).forward;`,
    ),
  );
  const source = hovered + layers.join('\n');
  const service = languageService(path, source);
  const problems = service.getSemanticDiagnostics(path);
  assert.deepEqual(
    problems.map(({ messageText }) => messageText),
    [],
  );
  for (const { index } of source.matchAll(/forward;/g)) {
    const { documentation = [] } = service.getQuickInfoAtPosition(path, index) ?? {};
    const text = ts.displayPartsToString(documentation);
    assert.match(text, /^[A-Z].{20,}/, source.slice(source.lastIndexOf('\n', index), index));
  }
  /** @type {Record<string, string[]>} */
  const expected = {
    tape: [
      'backward',
      'clear',
      'constant',
      'gradient',
      'intermediate',
      'parameter',
      'variable',
      'watch',
    ],
    variable: [
      'add',
      'gradient',
      'item',
      'mul',
      'reshape',
      'select',
      'shape',
      'slice',
      'tape',
      'value',
    ],
    optimizer: ['groupLr', 'loadStateDict', 'lr', 'setGroupLr', 'stateDict', 'step'],
    linear: [
      'forward',
      'intermediateNames',
      'loadStateDict',
      'parameter',
      'parameterNames',
      'setParameter',
      'stateDict',
    ],
    handle: [
      'contiguous',
      'data',
      'reshape',
      'select',
      'shape',
      'slice',
      'splitHeads',
      'toTensor',
      'view',
    ],
  };
  const common = new Set(['dispose', 'disposed', 'toJSON', 'toString']);
  for (const [name, members] of Object.entries(expected)) {
    const at = source.lastIndexOf(`${name}.`) + name.length + 1;
    const { entries = [] } = service.getCompletionsAtPosition(path, at, {}) ?? {};
    const names = entries.map((entry) => entry.name).filter((member) => !common.has(member));
    assert.deepEqual(names.sort(), members, name);
  }
});

/** @param {string} path @param {string} source */
function languageService(path, source) {
  const read = (/** @type {string} */ name) => (name === path ? source : ts.sys.readFile(name));
  /** @type {import('typescript').LanguageServiceHost} */
  const host = {
    getScriptFileNames: () => [path],
    getScriptVersion: () => '1',
    getScriptSnapshot: (name) => {
      const text = read(name);
      return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text);
    },
    getCurrentDirectory: () => root,
    getCompilationSettings: () => ({
      strict: true,
      module: ts.ModuleKind.NodeNext,
      target: ts.ScriptTarget.ES2022,
      lib: ['lib.es2022.d.ts', 'lib.dom.d.ts'],
      types: [],
    }),
    getDefaultLibFileName: ts.getDefaultLibFilePath,
    fileExists: (name) => name === path || ts.sys.fileExists(name),
    readFile: read,
    directoryExists: ts.sys.directoryExists,
  };
  return ts.createLanguageService(host);
}
