// Loads models of every family from files in their published form, and compares the results with
// PyTorch in double precision; see tests/native/models/recorded/record.py.

import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';

import { AttnError, load } from 'attn';
import { load as loadInWorker } from 'attn/worker';

import { kRoot } from '../../wasm/toolchain/checkout.js';
import { everyVariant } from './everyVariant.js';

/** @import { InterventionOptions, LanguageModel, LanguageModelHints, Tensor } from 'attn' */

const kRecorded = join(kRoot, 'tests/native/models/recorded');
const kTolerance = 2e-5;
const kPyTorch = 'torch.nn.TransformerEncoder';

/**
 * For each folder, the expected family and warnings.
 * @type {Record<string, [string, LanguageModelHints?]>}
 */
const kModels = {
  gpt2: ['gpt2'],
  gpt2_prefix: ['gpt2'],
  gpt_neox: ['gpt_neox'],
  gpt_neox_sequential: ['gpt_neox'],
  gpt_neo: ['gpt_neo'],
  opt: ['opt'],
  opt_projected: ['opt'],
  bert: ['bert'],
  bert_plain: ['bert'],
  roberta: ['roberta'],
  distilbert: ['distilbert'],
  llama: ['llama'],
  llama_none: ['llama'],
  llama_linear: ['llama'],
  llama_dynamic: ['llama'],
  llama_yarn: ['llama'],
  smollm3: ['smollm3'],
  mistral: ['mistral'],
  qwen2: ['qwen2'],
  qwen3: ['qwen3'],
  gemma: ['gemma'],
  gemma2: ['gemma2'],
  gemma3: ['gemma3_text'],
  gpt_oss_dense: ['gpt_oss'],
  olmo2: ['olmo2'],
  pytorch_encoder: [kPyTorch, { numHeads: 3 }],
  pytorch_encoder_first: [kPyTorch, { numHeads: 3, activation: 'gelu', normFirst: true }],
  attn_rotary: ['attn'],
  attn_sinusoidal: ['attn'],
};

/** @param {string} path */
const read = (path) => new Uint8Array(readFileSync(join(kRecorded, path)));

/**
 * Returns a model's files. A model that was recorded without weights gets the weights of `llama`.
 * @param {string} name
 */
function filesOf(name) {
  /** @type {Record<string, Uint8Array>} */
  const files = {};
  const own = existsSync(join(kRecorded, name, 'model.safetensors'));
  const weights = own
    ? ['model.safetensors']
    : [
        ...[1, 2].map((part) => `model-0000${part}-of-00002.safetensors`),
        'model.safetensors.index.json',
      ];
  for (const file of weights) files[`${name}/${file}`] = read(`${own ? name : 'llama'}/${file}`);
  const config = `${name}/config.json`;
  if (existsSync(join(kRecorded, config))) files[config] = read(config);
  return files;
}

/** @param {Record<string, Uint8Array>} files @returns {Record<string, Blob>} */
const asBlobs = (files) =>
  Object.fromEntries(
    Object.entries(files).map(([name, bytes]) => [
      name,
      new Blob([/** @type {Uint8Array<ArrayBuffer>} */ (bytes)]),
    ]),
  );

/** @param {Record<string, Uint8Array>} files @param {string} from @param {string} to */
function withConfig(files, from, to) {
  const name = Object.keys(files).find((path) => path.endsWith('config.json')) ?? '';
  const text = new TextDecoder().decode(files[name]);
  assert.ok(text.includes(from), from);
  return { ...files, [name]: new TextEncoder().encode(text.replace(from, to)) };
}

/** @param {string} code @param {RegExp} message */
const error = (code, message) => (/** @type {unknown} */ thrown) => {
  assert.ok(thrown instanceof AttnError, `${thrown}`);
  assert.equal(thrown.code, code, thrown.message);
  assert.match(thrown.message, message);
  return true;
};

await everyVariant(
  'language models',
  (attn) => {
    /** The tensors recorded for a model. @param {string} name */
    const recordedOf = (name) => {
      const file = new attn.Safetensors(read(`${name}/expected.safetensors`));
      const all = new Map(file.tensors.map((entry) => [entry.name, file.read(entry.name)]));
      file.dispose();
      return all;
    };

    /** @param {Tensor} got @param {Tensor | undefined} want @param {number} [firstRow] */
    const assertRecorded = (got, want, firstRow = 0) => {
      assert.ok(want);
      const begin = firstRow * got.shape[got.shape.length - 1];
      got.data.forEach((value, i) => {
        const difference = Math.abs(value - want.data[begin + i]);
        assert.ok(difference <= kTolerance, `${i}: ${difference}`);
      });
      if (firstRow === 0) assert.deepEqual(got.shape, want.shape);
    };

    test('weights_are_kept_as_stored_and_give_the_same_logits_as_float32', async () => {
      const types = { llama: 'bfloat16', gpt2_prefix: 'float16', gpt2: 'float32' };
      for (const [name, weightType] of Object.entries(types)) {
        const files = asBlobs(filesOf(name));
        const stored = await attn.loadModel(files);
        const floats = await attn.loadModel(files, { weightType: 'float32' });
        assert.equal(stored.description.weightType, weightType);
        assert.equal(floats.description.weightType, 'float32');
        const is16 = weightType !== 'float32';
        assert.equal(2 * stored.description.memory < floats.description.memory, is16);
        const ids = [1, 5, 3, 7, 7, 2];
        assert.deepEqual(stored.forward(ids).logits, floats.forward(ids).logits);
        // A single token uses a different kernel.
        assert.deepEqual(stored.forward([4]).logits, floats.forward([4]).logits);
        assert.deepEqual(stored.stateDict(), floats.stateDict());
        stored.dispose();
        floats.dispose();
      }
      const rounded = await attn.loadModel(asBlobs(filesOf('gpt2')), { weightType: 'bfloat16' });
      assert.equal(rounded.description.weightType, 'bfloat16');
      rounded.dispose();
      const wrong = /** @type {any} */ ({ weightType: 'int8' });
      await assert.rejects(
        attn.loadModel(asBlobs(filesOf('gpt2')), wrong),
        error('invalid_argument', /weightType/),
      );
    });

    for (const [name, [family, hints]] of Object.entries(kModels)) {
      test(`${name}_gives_the_same_as_pytorch`, async () => {
        const recorded = recordedOf(name);
        const model = await attn.loadModel(asBlobs(filesOf(name)), hints);
        assert.equal(model.description.family, family);
        assert.equal(model.layers.length, model.description.layers.length);
        const ids = recorded.get('ids')?.data;
        const intermediates = model.layers.map((_, l) => `encoder.layers.${l}.self_attn.weights`);
        const options = {
          intermediates,
          tokenTypes: recorded.get('token_types')?.data,
          ...{ needLogits: recorded.has('logits'), needHidden: true },
          needPooled: recorded.has('pooled'),
        };
        const x = recorded.get('x');
        const result = x
          ? model.forwardVectors(x, options)
          : model.forward(/** @type {Float32Array} */ (ids), options);
        assertRecorded(/** @type {Tensor} */ (result.hidden), recorded.get('hidden'));
        for (const key of /** @type {const} */ (['logits', 'pooled'])) {
          assert.equal(result[key] !== undefined, recorded.has(key));
          const values = result[key];
          if (values) assertRecorded(values, recorded.get(key));
        }
        intermediates.forEach((path, l) =>
          assertRecorded(result.intermediates[path], recorded.get(`weights.${l}`)),
        );

        const greedy = recorded.get('greedy');
        // With dynamic scaling, each key is rotated for the length that the sequence had when the
        // key was added.
        if (greedy && ids && name !== 'llama_dynamic') {
          const caches = model.makeCaches();
          for (let at = 0; at < ids.length; at = caches.length) {
            const next = ids.subarray(at, at + (at === 0 ? 5 : 1));
            const { logits } = model.forward(next, { caches, numLogits: 1 });
            assertRecorded(logits, recorded.get('logits'), at + next.length - 1);
          }
          caches.dispose();
          const said = [...greedy.data];
          assert.deepEqual(model.generate(said.slice(0, 4), { maxNewTokens: 8 }), said.slice(4));
        }
        model.dispose();
      });
    }
  },
  { models: true },
);

const attn = await load({ models: true, variant: 'simd128' });
after(() => attn.dispose());

/** @param {LanguageModel} model */
const logitsOf = (model) => model.forward([1, 2, 3, 4]).logits;

test('files_may_be_bytes_blobs_maps_or_files', async () => {
  const files = filesOf('llama');
  const want = logitsOf(await attn.loadModel(files));
  const blobs = asBlobs(files);
  assert.deepEqual(logitsOf(await attn.loadModel(new Map(Object.entries(blobs)))), want);
  if (typeof File === 'function') {
    const list = Object.entries(blobs).map(([name, blob]) => new File([blob], name));
    assert.deepEqual(logitsOf(await attn.loadModel(list)), want);
    // Files in the form that <input webkitdirectory> gives.
    const chosen = Object.entries({ ...blobs, 'llama/onnx/config.json': new Blob(['{}']) })
      .reverse()
      .map(([path, blob]) => {
        const file = new File([blob], path.slice(path.lastIndexOf('/') + 1));
        return Object.defineProperty(file, 'webkitRelativePath', { value: path });
      });
    assert.deepEqual(logitsOf(await attn.loadModel(chosen)), want);
  }
  const own = read('attn_rotary/model.safetensors');
  const alone = logitsOf(await attn.loadModel(own));
  assert.deepEqual(logitsOf(await attn.loadModel(own.buffer)), alone);
  assert.deepEqual(logitsOf(await attn.loadModel(new Blob([own]))), alone);
});

test('the_model_is_in_the_outermost_folder_with_weights', async () => {
  const bert = filesOf('bert_plain');
  const want = await attn.describeModel(bert);
  const pooling = new TextEncoder().encode('{"word_embedding_dimension": 24}');
  const [other] = Object.values(filesOf('attn_rotary'));
  const around = {
    'config.json': pooling,
    'bert_plain/1_Pooling/config.json': pooling,
    'bert_plain/2_Dense/config.json': pooling,
    'bert_plain/2_Dense/model.safetensors': other,
    'bert_plain/onnx/config.json': filesOf('gpt2')['gpt2/config.json'],
  };
  assert.deepEqual(await attn.describeModel({ ...around, ...bert }), want);
  assert.deepEqual(await attn.describeModel({ ...bert, ...around }), want);
  assert.deepEqual(
    await attn.describeModel(
      new Map(
        Object.entries({ ...around, ...bert }).map(([path, bytes]) => [`/a/b/${path}`, bytes]),
      ),
    ),
    want,
  );
  const refused = (/** @type {any} */ files, /** @type {RegExp} */ message) =>
    assert.rejects(attn.describeModel(files), error('invalid_argument', message));
  await refused(
    { ...bert, ...filesOf('gpt2') },
    /^files: bert_plain.* and gpt2.* different folders.*one model/,
  );
  const [name, bytes] = Object.entries(bert)[0];
  await refused([...Object.entries(bert), [name, bytes]], /^files: "bert_plain.*" appears twice/);
});

test('the_files_of_a_model_include_its_tokenizer_and_files_without_a_folder', async () => {
  const bert = filesOf('bert_plain');
  const empty = new Uint8Array();
  const given = {
    ...bert,
    'bert_plain/checkpoint-500/tokenizer.json': empty,
    'bert_plain/checkpoint-500/model.safetensors': empty,
    'bert_plain/tokenizer.json': empty,
    // On disks with a foreign file system, macOS puts a file "._name" next to each file "name".
    'bert_plain/._model.safetensors': empty,
    '__MACOSX/._model.safetensors': empty,
    'config.json': empty,
    'notes.txt': empty,
  };
  const found = await attn.filesOfModel(given);
  const names = Object.keys(bert).map((path) => path.slice(path.indexOf('/') + 1));
  assert.deepEqual([...found.keys()], [...names, 'tokenizer.json', 'notes.txt']);
  for (const name of names)
    assert.equal(
      /** @type {Uint8Array} */ (found.get(name)).length,
      bert[`bert_plain/${name}`].length,
    );
  assert.deepEqual(await attn.describeModel(given), await attn.describeModel(bert));
  const paths = Object.entries(bert).map(([path, bytes]) => {
    const name = path.slice(path.indexOf('/') + 1);
    return /** @type {[string, Uint8Array]} */ ([name === 'config.json' ? name : path, bytes]);
  });
  assert.deepEqual(await attn.describeModel(new Map(paths)), await attn.describeModel(bert));
  await assert.rejects(
    attn.filesOfModel({ 'a/x.safetensors': empty, 'b/x.safetensors': empty }),
    error(
      'invalid_argument',
      /^files: a\/x.safetensors and b\/x.safetensors are in different folders/,
    ),
  );
  await assert.rejects(attn.filesOfModel({ 'model.bin': empty }), error('not_found', /PyTorch/));
});

test('a_description_is_frozen_and_the_core_validates_its_models', async () => {
  const model = await attn.loadModel(filesOf('qwen3'));
  const { description } = model;
  for (const part of [
    description,
    description.layers,
    description.layers[0],
    description.unusedTensors,
    description.unusedFields,
    description.warnings,
  ]) {
    assert.ok(Object.isFrozen(part));
  }
  assert.throws(() => Object.assign(model, { description: {} }), TypeError);
  const before = model.rotaryFrequencies(0);
  assert.throws(() => Object.assign(description.layers[0], { rotaryDim: 2 }), TypeError);
  assert.deepEqual(model.rotaryFrequencies(0), before);
  model.dispose();
});

test('caches_are_encoder_caches_of_the_same_module', async () => {
  const model = await attn.loadModel(filesOf('gpt2'));
  const decoder = new attn.TransformerDecoder({ dModel: 20, numHeads: 4, dimFeedforward: 8 });
  const state = /** @type {any} */ (decoder.start(attn.randomNormal({ shape: [1, 2, 20] })));
  const caches = (/** @type {any} */ given) => () => model.forward([1, 2], { caches: given });
  assert.throws(caches(state), error('invalid_argument', /^caches: .*DecodingState/));
  const cache = new attn.KeyValueCache({ numKvHeads: 4, headDim: 5 });
  assert.throws(caches(cache), error('invalid_argument', /^caches: .*KeyValueCache/));
  const other = await load({ models: true, variant: 'simd128' });
  const foreign = (await other.loadModel(filesOf('gpt2'))).makeCaches();
  assert.throws(caches(foreign), error('invalid_argument', /^caches: belongs to another module/));
  assert.equal(foreign.length, 0);
  other.dispose();
  for (const x of /** @type {any[]} */ ([undefined, null, 3, { data: [1] }])) {
    assert.throws(() => model.forwardVectors(x), error('invalid_argument', /^x/));
  }
  model.dispose();
  assert.ok(model.layers.every(({ disposed }) => disposed));
});

/** A file whose header declares far more data than fits into memory. */
class Huge extends Blob {
  #head;
  #size;

  /** @param {Record<string, number[]>} shapes */
  constructor(shapes) {
    super();
    let end = 0;
    const entries = Object.entries(shapes).map(([name, shape]) => {
      const begin = end;
      end += 2 * shape.reduce((product, size) => product * size, 1);
      return [name, { dtype: 'BF16', shape, data_offsets: [begin, end] }];
    });
    const header = new TextEncoder().encode(JSON.stringify(Object.fromEntries(entries)));
    this.#head = new Uint8Array([...new Uint8Array(8), ...header]);
    new DataView(this.#head.buffer).setUint32(0, header.length, true);
    this.#size = this.#head.length + end;
  }

  get size() {
    return this.#size;
  }

  slice(begin = 0, end = this.size) {
    return new Blob([this.#head.slice(begin, end)]);
  }
}

test('memory_freed_by_disposed_objects_counts_as_available', async () => {
  const [width, wide] = [8192, 28672];
  const layer = 'model.layers.0.';
  const square = ['q', 'k', 'v', 'o'].map((part) => `self_attn.${part}_proj`);
  const norms = [`${layer}input_layernorm`, `${layer}post_attention_layernorm`, 'model.norm'];
  const files = {
    'config.json': new TextEncoder().encode(
      JSON.stringify({
        ...{ model_type: 'llama', vocab_size: 64, hidden_size: width, intermediate_size: wide },
        ...{ num_hidden_layers: 1, num_attention_heads: 64, tie_word_embeddings: true },
      }),
    ),
    'model.safetensors': new Huge({
      'model.embed_tokens.weight': [64, width],
      ...Object.fromEntries(square.map((part) => [`${layer}${part}.weight`, [width, width]])),
      [`${layer}mlp.gate_proj.weight`]: [wide, width],
      [`${layer}mlp.up_proj.weight`]: [wide, width],
      [`${layer}mlp.down_proj.weight`]: [width, wide],
      ...Object.fromEntries(norms.map((norm) => [`${norm}.weight`, [width]])),
    }),
  };
  const small = await load({ models: true, variant: 'simd128' });
  const megabytes = async () => {
    const refusal = await small
      .loadModel(files, { weightType: 'float32' })
      .catch((/** @type {unknown} */ thrown) => thrown);
    assert.ok(error('unsupported', /^weights: .* at most the \d+ MB available$/)(refusal));
    return Number(/most the (\d+) MB/.exec(/** @type {AttnError} */ (refusal).message)?.[1]);
  };
  const before = await megabytes();
  assert.ok(before > 4000 && before < 4295, `${before}`);
  const passing = new small.Linear({ inFeatures: 4096, outFeatures: 4096, init: 'zeros' });
  assert.ok((await megabytes()) <= before - 67);
  passing.dispose();
  const { bytesReserved } = small.memory();
  assert.ok(bytesReserved > 67e6);
  const after = await megabytes();
  // Memory grows in steps that are larger than the requested size.
  assert.ok(after > before - 30, `${after} of ${before} MB`);
  small.dispose();
});

test('progress_is_reported_to_the_end_and_loading_can_be_aborted', async () => {
  /** @type {number[]} */
  const seen = [];
  let all = 0;
  const model = await attn.loadModel(filesOf('gpt2'), {
    onProgress: (done, of) => (seen.push(done), (all = of)),
  });
  assert.equal(seen.at(-1), all);
  assert.equal(all, 4 * model.description.numParameters);
  assert.ok(seen.every((done, i) => i === 0 || done > seen[i - 1]));
  model.dispose();

  const before = attn.memory().bytesInUse;
  const controller = new AbortController();
  const loading = attn.loadModel(filesOf('gpt2'), {
    signal: controller.signal,
    onProgress: (done) => done > all / 2 && controller.abort(),
  });
  await assert.rejects(loading, { name: 'AbortError' });
  assert.equal(attn.memory().bytesInUse, before);
});

test('a_description_reads_no_weights', async () => {
  const files = filesOf('gemma3');
  let read = 0;
  const counted = Object.entries(asBlobs(files)).map(([name, blob]) => {
    const slice = blob.slice.bind(blob);
    blob.slice = (begin = 0, end = blob.size) => ((read += end - begin), slice(begin, end));
    return /** @type {[string, Blob]} */ ([name, blob]);
  });
  const description = await attn.describeModel(counted);
  const all = Object.values(files).reduce((sum, bytes) => sum + bytes.length, 0);
  assert.ok(read < all / 2, `${read} of ${all}`);
  const { layers, ...rest } = description;
  assert.deepEqual(rest, {
    ...{ family: 'gemma3_text', numParameters: 12_478, memory: rest.memory, vocabSize: 33 },
    ...{ maxPositions: 0, sinusoidal: false, numTokenTypes: 0, causal: true, hasLogits: true },
    ...{ tied: true, hasPooler: false, finalSoftcap: 0, unusedTensors: [] },
    weightType: 'bfloat16',
    unusedFields: ['architectures', 'max_position_embeddings'],
    warnings: [],
  });
  assert.deepEqual(
    layers.map(({ windowLeft }) => windowLeft),
    [3, 3, undefined],
  );
  assert.equal(layers[0].activation, 'geluTanh');
  assert.equal(layers[0].headDim, 8);
});

test('layers_and_frequencies_of_a_model_are_available', async () => {
  const model = await attn.loadModel(filesOf('llama_yarn'));
  const x = attn.randomNormal({ shape: [3, 24], seed: 1 });
  const { output, weights } = model.layers[1].forward(x, {
    attention: { causal: true, needWeights: true },
  });
  assert.deepEqual(output.shape, [3, 24]);
  assert.deepEqual(weights.shape, [6, 3, 3]);
  const scaling = {
    type: /** @type {const} */ ('yarn'),
    ...{ factor: 4, originalMaxPositionEmbeddings: 128 },
  };
  const rotary = new attn.RotaryEmbedding({ rotaryDim: 4, base: 500, scaling });
  assert.deepEqual(model.rotaryFrequencies(0), {
    frequencies: rotary.frequencies(),
    attentionFactor: rotary.attentionFactor,
  });
  const { rotaryDim, rotaryBase, rotaryScaling, rmsNorm } = model.description.layers[0];
  assert.deepEqual([rotaryDim, rotaryBase, rotaryScaling, rmsNorm], [4, 500, 'yarn', true]);
  assert.equal(model.parameter('encoder.layers.2.norm1.weight').shape[0], 24);
  assert.match(JSON.stringify(model), /"family":"llama"/);
  model.dispose();
  assert.throws(() => model.layers[0].forward(x), error('disposed', /dispose/));
  const gpt2 = await attn.loadModel(filesOf('gpt2'));
  assert.equal(gpt2.rotaryFrequencies(0), undefined);
  const [layer] = gpt2.description.layers;
  assert.ok(!layer.rmsNorm && !('rotaryBase' in layer) && !('rotaryScaling' in layer));
  assert.equal(Math.fround(layer.normEps), Math.fround(1e-5));
});

test('interventions_change_the_predictions_of_a_model', async () => {
  const model = await attn.loadModel(filesOf('gpt_neox'));
  const plain = logitsOf(model);
  const attention = 'encoder.layers.0.self_attn';
  const logits = (/** @type {InterventionOptions} */ options) =>
    model.forward([1, 2, 3, 4], options).logits;
  assert.deepEqual(logits({ knockOut: [] }), plain);
  const place = { attention, query: 3, key: 1 };
  const { numHeads } = model.description.layers[0];
  assert.deepEqual(
    logits({ knockOut: [place] }),
    logits({ knockOut: Array.from({ length: numHeads }, (_, head) => ({ ...place, head })) }),
  );
  // Token 3 is the last one, and no earlier token attends to it.
  const cut = logits({ knockOut: [{ ...place, head: 0 }] });
  const { vocabSize } = model.description;
  assert.deepEqual(cut.data.slice(0, 3 * vocabSize), plain.data.slice(0, 3 * vocabSize));
  assert.notDeepEqual(cut, plain);
  // With the embeddings of tokens 5 to 8 in place of its own, the model predicts the same as for
  // these tokens.
  const { intermediates } = model.forward([5, 6, 7, 8], { intermediates: ['embedded'] });
  const patch = [{ name: 'embedded', values: intermediates.embedded }];
  assert.deepEqual(logits({ patch }), model.forward([5, 6, 7, 8]).logits);
  assert.throws(() => logits({ ablate: [{ name: 'layers.0.mlp_out' }] }), {
    code: 'not_found',
    message: /the nearest is "encoder\.layers\.0\.mlp_out"/,
  });
  model.dispose();
});

test('contributions_add_up_to_the_logit_and_unembed_reads_every_layer', async () => {
  const ids = [1, 5, 3, 7];
  // Gemma 2 normalises the inputs and outputs of sublayers and has a final softcap. OLMo 2
  // normalises only the outputs.
  for (const name of ['gpt2', 'gpt_neox', 'gemma2', 'olmo2', 'llama']) {
    const model = await attn.loadModel(filesOf(name));
    const numLayers = model.layers.length;
    const last = `encoder.layers.${numLayers - 1}.output`;
    const names = [last, 'output.output'];
    const { logits, intermediates } = model.forward(ids, { intermediates: names });
    assert.deepEqual(model.unembed(intermediates[last]), logits);
    for (const [target, position] of [
      [2, 3],
      [0, 1],
    ]) {
      const got = model.contributions(ids, target, { position });
      assert.deepEqual(
        got.layers.map(({ heads }) => heads.length),
        model.description.layers.map(({ numHeads }) => numHeads),
      );
      const parts = [
        ...[got.embedding, got.bias],
        ...got.layers.flatMap(({ heads, feedForward }) => [...heads, feedForward]),
      ];
      const { vocabSize } = model.description;
      const want = intermediates['output.output'].data[position * vocabSize + target];
      const size = parts.reduce((sum, part) => sum + Math.abs(part), 0);
      const sum = parts.reduce((sum, part) => sum + part, 0);
      assert.ok(Math.abs(sum - want) <= 1e-5 * size, `${name}: ${sum} is not ${want}`);
      assert.ok(Math.abs(got.total - want) <= 1e-5 * size);
    }
    assert.deepEqual(model.contributions(ids, 2), model.contributions(ids, 2, { position: 3 }));
    model.dispose();
  }
});

test('calls_for_contributions_and_unembed_explain_their_errors', async () => {
  const model = await attn.loadModel(filesOf('gpt2'));
  const { vocabSize } = model.description;
  const wrong = /** @type {any} */ ({ ablate: [] });
  const batch = { data: Int32Array.of(1, 2), shape: [2, 1] };
  for (const [call, code, message] of /** @type {const} */ ([
    [() => model.contributions([1, 2], vocabSize), 'invalid_argument', /^target: .*a token id/],
    [() => model.contributions([1, 2], -1), 'invalid_argument', /^target/],
    [() => model.contributions([], 0), 'invalid_argument', /^tokens: got 0, needs at least one/],
    [() => model.contributions([1, 2], 0, { position: 2 }), 'invalid_argument', /needs 0 to 1/],
    [() => model.contributions([1, 2], 0, wrong), 'invalid_argument', /ablate/],
    [() => model.contributions(batch, 0), 'shape_mismatch', /^ids/],
    [() => model.unembed({ data: new Float32Array(3), shape: [1, 3] }), 'shape_mismatch', /^x/],
  ])) {
    assert.throws(call, error(code, message));
  }
  model.dispose();
  const bert = await attn.loadModel(filesOf('bert'));
  assert.throws(() => bert.contributions([1, 2], 0), error('unsupported', /outputs do not add up/));
  bert.dispose();
});

test('a_scaling_rule_works_in_either_place_of_the_configuration', async () => {
  const files = filesOf('llama_yarn');
  const older = await attn.loadModel(files);
  const name = 'llama_yarn/config.json';
  const { rope_scaling, rope_theta, ...config } = JSON.parse(new TextDecoder().decode(files[name]));
  const newer = await attn.loadModel({
    ...files,
    [name]: new TextEncoder().encode(
      JSON.stringify({ ...config, rope_parameters: { ...rope_scaling, rope_theta } }),
    ),
  });
  assert.deepEqual(newer.description.layers, older.description.layers);
  assert.deepEqual(newer.rotaryFrequencies(0), older.rotaryFrequencies(0));
  assert.deepEqual(newer.forward([1, 2, 3]), older.forward([1, 2, 3]));
  // In Gemma 3, only layers without a window have a scaling rule and a different base.
  const gemma = await attn.describeModel(filesOf('gemma3'));
  const kinds = new Set(
    gemma.layers.map(({ windowLeft, rotaryBase, rotaryScaling }) =>
      JSON.stringify([windowLeft === undefined, rotaryBase, rotaryScaling ?? null]),
    ),
  );
  assert.deepEqual([...kinds].sort(), ['[false,10000,null]', '[true,1000000,"linear"]']);
});

test('tokens_are_chosen_by_temperature_and_stream', async () => {
  const logits = { data: Float32Array.of(0.5, 2, 2, -1), shape: [4] };
  assert.equal(attn.chooseToken(logits), 1);
  const drawn = Array.from({ length: 400 }, (_, step) =>
    attn.chooseToken(logits, { temperature: 1, topK: 2, seed: 3, step }),
  );
  const ones = drawn.filter((token) => token === 1).length;
  assert.ok(ones > 150 && ones < 250, `${ones}`);
  assert.deepEqual([...new Set(drawn)].sort(), [1, 2]);

  const model = await attn.loadModel(filesOf('qwen3'));
  const options = { temperature: 1.5, seed: 7, maxNewTokens: 12 };
  const said = model.generate([1, 2, 3], options);
  assert.equal(said.length, 12);
  const caches = model.makeCaches();
  let next = [1, 2, 3];
  said.forEach((token, step) => {
    const { logits } = model.forward(next, { caches, numLogits: 1 });
    const row = { data: logits.data, shape: [26] };
    assert.equal(attn.chooseToken(row, { temperature: 1.5, seed: 7, step }), token);
    next = [token];
  });
  const stop = said[3];
  const stopped = model.generate([1, 2, 3], { ...options, stopIds: [stop] });
  assert.deepEqual(stopped, said.slice(0, said.indexOf(stop) + 1));
});

test('unsupported_or_damaged_files_are_rejected_by_name', async () => {
  const refused = (
    /** @type {any} */ files,
    /** @type {string} */ code,
    /** @type {RegExp} */ message,
    options = {},
  ) => assert.rejects(attn.loadModel(files, options), error(code, message));
  const before = attn.memory().bytesInUse;
  const llama = filesOf('llama');
  const [first, second, index] = Object.keys(llama);
  await refused({}, 'not_found', /^files: got none, needs one or more \.safetensors files$/);
  await refused(3, 'invalid_argument', /^files: got 3/);
  await refused(
    { 'a.safetensors': 'text' },
    'invalid_argument',
    /^files\.a\.safetensors: got 'text'/,
  );
  await refused(
    { ...llama, [second]: undefined, [index]: llama[index], 'llama/b.safetensors': llama[first] },
    'invalid_argument',
    /^files\./,
  );
  const part = Object.fromEntries(Object.entries(llama).filter(([name]) => name !== second));
  await refused(part, 'not_found', /^files: model-00002-of-00002\.safetensors is missing/);
  await refused(
    withConfig(filesOf('qwen3'), '"qwen3"', '"mamba2"'),
    'unsupported',
    /^architecture: got "mamba2" with the tensors .*nearest is llama/,
  );
  await refused(
    withConfig(filesOf('qwen3'), '"hidden_size": 18', '"hidden_size": 20'),
    'shape_mismatch',
    /^tensor "model\.embed_tokens\.weight": got shape \(26, 18\)/,
  );
  await refused(
    read('pytorch_encoder/model.safetensors'),
    'invalid_argument',
    /^numHeads: got none/,
  );
  const gpt2 = filesOf('gpt2');
  await refused(gpt2, 'unsupported', /^weights: got 11120 parameters that take 1 MB of memory/, {
    maxMemory: 1000,
  });
  await refused(gpt2, 'invalid_argument', /'heads' is not an option/, { heads: 3 });
  const cut = Object.fromEntries(
    Object.entries(gpt2).map(([name, bytes]) => [
      name,
      name.endsWith('.json') ? bytes : bytes.subarray(0, -100),
    ]),
  );
  await refused(cut, 'invalid_format', /^tensor ".*": got data_offsets/);
  const bytes = gpt2['gpt2/model.safetensors'].slice();
  bytes.set([0, 0, 0xc0, 0x7f], bytes.length - 4 * 37);
  await refused(
    { ...gpt2, 'gpt2/model.safetensors': bytes },
    'invalid_format',
    /^tensor "wte\.weight": got NaN at \(27, 3\)|^tensor ".*": got NaN at \(\d+(, \d+)?\), needs finite/,
  );
  // The module keeps the text of its last error.
  assert.ok(attn.memory().bytesInUse < before + 2000);
});

/**
 * Returns the file with its tensors changed by `change`.
 * @param {Uint8Array} bytes
 * @param {(tensors: Map<string, Tensor>) => void} change
 */
function withTensors(bytes, change) {
  const file = new attn.Safetensors(bytes);
  /** @type {Map<string, Tensor>} */
  const tensors = new Map(
    file.tensors
      .filter(({ dtype }) => dtype !== 'I64')
      .map(({ name }) => [name, /** @type {Tensor} */ (file.read(name))]),
  );
  file.dispose();
  change(tensors);
  return attn.toSafetensors(tensors);
}

/** @param {string} text */
const asBytes = (text) => new TextEncoder().encode(text);

test('an_untied_output_layer_is_found_under_a_prefix', async () => {
  const head = attn.randomNormal({ shape: [29, 20], seed: 5 });
  const files = withConfig(
    filesOf('gpt2'),
    '"vocab_size"',
    '"tie_word_embeddings": false, "vocab_size"',
  );
  const path = 'gpt2/model.safetensors';
  files[path] = withTensors(files[path], (tensors) => {
    for (const [name, tensor] of [...tensors]) {
      tensors.delete(name);
      tensors.set(`module.transformer.${name}`, tensor);
    }
    tensors.set('module.lm_head.weight', head);
  });
  const model = await attn.loadModel(files);
  assert.equal(model.description.tied, false);
  assert.deepEqual(model.description.warnings, []);
  const { logits, hidden } = model.forward([1, 2], { needHidden: true });
  const dot = (/** @type {number} */ i, /** @type {number} */ j) =>
    Array.from({ length: 20 }, (_, c) => hidden.data[i * 20 + c] * head.data[j * 20 + c]).reduce(
      (sum, product) => sum + product,
    );
  logits.data.forEach((value, at) => {
    assert.ok(Math.abs(value - dot(Math.floor(at / 29), at % 29)) < 1e-4);
  });
  model.dispose();
});

test('a_warning_reports_a_missing_output_layer', async () => {
  const files = filesOf('llama');
  for (const path of Object.keys(files).filter((name) => name.endsWith('.safetensors'))) {
    files[path] = withTensors(files[path], (tensors) => tensors.delete('lm_head.weight'));
  }
  const { hasLogits, warnings } = await attn.describeModel(files);
  assert.equal(hasLogits, false);
  assert.deepEqual(warnings, [
    'config.json: tie_word_embeddings is false, but the files have no "lm_head.weight", so the model gives no logits',
  ]);
  assert.ok(Object.isFrozen(warnings));
});

test('ids_may_be_bigints', async () => {
  const model = await attn.loadModel(filesOf('gpt2'));
  const want = model.forward([1, 2]);
  assert.deepEqual(model.forward(new BigInt64Array([1n, 2n])), want);
  assert.deepEqual(model.forward({ data: new BigUint64Array([1n, 2n]), shape: [2] }), want);
  const few = { maxNewTokens: 5 };
  assert.deepEqual(model.generate(new BigInt64Array([1n, 2n]), few), model.generate([1, 2], few));
  assert.throws(
    () => model.forward(new BigInt64Array([1n, 1n << 62n])),
    error('invalid_argument', /^ids\[1\]: got 4611686018427\d+, needs a token/),
  );
  model.dispose();
});

test('a_left_padded_batch_gives_the_same_as_its_texts', async () => {
  const model = await attn.loadModel(filesOf('gpt2'));
  const positions = { data: Float64Array.of(0, 0, 0, 1, 2, 0, 1, 2, 3, 4), shape: [2, 5] };
  const mask = { data: Uint8Array.of(0, 0, 1, 1, 1, 1, 1, 1, 1, 1), shape: [2, 1, 1, 5] };
  const ids = { data: Int32Array.of(0, 0, 5, 3, 7, 1, 2, 8, 4, 6), shape: [2, 5] };
  const { logits } = model.forward(ids, { positions, attention: { mask } });
  const rows = [
    ...model.forward([5, 3, 7]).logits.data,
    ...model.forward([1, 2, 8, 4, 6]).logits.data,
  ];
  rows.forEach((value, at) => assert.ok(Math.abs(logits.data[2 * 29 + at] - value) < 1e-5));
  assert.throws(
    () => model.forward([1], { positions: [19] }),
    error('invalid_argument', /^positions: got 19, needs positions below 19/),
  );
  model.dispose();
});

test('an_overflow_names_its_layer', async () => {
  const files = filesOf('gpt2');
  const path = 'gpt2/model.safetensors';
  files[path] = withTensors(files[path], (tensors) =>
    tensors.get('h.1.mlp.c_fc.weight')?.data.fill(3e38),
  );
  const model = await attn.loadModel(files);
  assert.throws(
    () => model.forward([1, 2]),
    error('unsupported', /^encoder\.layers\.1: got an output that is infinite or NaN/),
  );
  model.dispose();
});

test('an_index_decides_which_of_two_files_provides_a_tensor', async () => {
  const { 'gpt2/config.json': config, 'gpt2/model.safetensors': bytes } = filesOf('gpt2');
  const other = withTensors(bytes, (tensors) => {
    for (const name of tensors.keys()) if (name !== 'ln_f.weight') tensors.delete(name);
    tensors.get('ln_f.weight')?.data.fill(0.5);
  });
  const files = (/** @type {string} */ norm) => ({
    ...{ 'config.json': config, '1.safetensors': bytes, '2.safetensors': other },
    'model.safetensors.index.json': asBytes(
      `{"weight_map": {"wte.weight": "1.safetensors", "x": "2.safetensors", "ln_f.weight": "${norm}"}}`,
    ),
  });
  const first = logitsOf(await attn.loadModel(files('1.safetensors')));
  assert.deepEqual(first, logitsOf(await attn.loadModel(filesOf('gpt2'))));
  assert.notDeepEqual(logitsOf(await attn.loadModel(files('2.safetensors'))), first);
});

test('without_an_index_a_missing_shard_is_named', async () => {
  const files = filesOf('llama');
  const [, second, index] = Object.keys(files);
  const without = (/** @type {string[]} */ ...names) =>
    Object.fromEntries(Object.entries(files).filter(([name]) => !names.includes(name)));
  assert.deepEqual(
    logitsOf(await attn.loadModel(without(index))),
    logitsOf(await attn.loadModel(files)),
  );
  await assert.rejects(
    attn.loadModel(without(index, second)),
    error('not_found', /^files: got no "model-00002-of-00002\.safetensors", needs all 2 parts/),
  );
});

test('the_snapshot_in_a_hugging_face_cache_is_used', async () => {
  const under = (/** @type {string} */ name, /** @type {string} */ folder) =>
    Object.fromEntries(
      Object.entries(filesOf(name)).map(([path, bytes]) => [
        `${folder}/${path.slice(path.indexOf('/') + 1)}`,
        bytes,
      ]),
    );
  const root = 'models--org--name';
  const one = under('gpt2', `${root}/snapshots/0f1e`);
  const blobs = { [`${root}/blobs/4d7a`]: filesOf('gpt2')['gpt2/config.json'] };
  assert.equal((await attn.describeModel({ ...blobs, ...one })).family, 'gpt2');
  const two = { ...blobs, ...one, ...under('qwen3', `${root}/snapshots/ab12`) };
  await assert.rejects(
    attn.describeModel(two),
    error('invalid_argument', /the files of one model/),
  );
  for (const [revision, family] of Object.entries({ '0f1e': 'gpt2', ab12: 'qwen3' })) {
    const main = asBytes(`${revision}\n`);
    const { family: found } = await attn.describeModel({ ...two, [`${root}/refs/main`]: main });
    assert.equal(found, family);
    const inside = Object.entries({ ...two, [`${root}/refs/main`]: main }).map(
      ([path, bytes]) => /** @type {const} */ ([path.slice(root.length + 1), bytes]),
    );
    assert.equal((await attn.describeModel(new Map(inside))).family, family);
  }
});

test('files_that_are_not_models_are_explained', async () => {
  const explained = (/** @type {string[]} */ names, /** @type {RegExp} */ message) =>
    assert.rejects(
      attn.loadModel(Object.fromEntries(names.map((name) => [name, asBytes('x')]))),
      error('not_found', message),
    );
  await explained(
    ['adapter_config.json', 'adapter_model.safetensors'],
    /^files: got an adapter without .*merge_and_unload\(\)/,
  );
  await explained(
    ['config.json', 'pytorch_model.bin'],
    /got a PyTorch checkpoint without.*\n\nfrom transformers/,
  );
  await explained(
    ['model.gguf'],
    /got a GGUF file without.*\n\nfrom transformers .*\n.*gguf_file="name\.gguf".*\n.*gguf_file=/,
  );
  await explained(
    ['config.json', 'pytorch_model-00001-of-00002.bin', 'pytorch_model-00002-of-00002.bin'],
    /got a PyTorch checkpoint without.*\n\nfrom transformers/,
  );
  await explained(['source.spm', 'target.spm'], /got a SentencePiece tokenizer/);
  await explained(['vocab.txt'], /got a tokenizer's vocabulary/);
  await explained(['tokenizer.model'], /got a SentencePiece tokenizer/);

  const pointer = asBytes('version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 9\n');
  const gpt2 = filesOf('gpt2');
  await assert.rejects(
    attn.loadModel({ ...gpt2, 'gpt2/model.safetensors': pointer }),
    error(
      'invalid_format',
      /^model\.safetensors, safetensors: got a Git LFS pointer.*git lfs pull/,
    ),
  );
  await assert.rejects(
    attn.loadModel({ ...gpt2, 'gpt2/config.json': pointer }),
    error('invalid_format', /^config\.json: got a Git LFS pointer/),
  );
  await assert.rejects(
    attn.loadModel({ ...gpt2, 'gpt2/model.safetensors': asBytes('<!DOCTYPE html><p>404') }),
    error('invalid_format', /got a web page/),
  );
});

test('a_byte_order_mark_and_pythons_numbers_are_read', async () => {
  const files = withConfig(filesOf('gpt2'), '"vocab_size"', '"a": [NaN, -Infinity], "vocab_size"');
  const path = 'gpt2/config.json';
  files[path] = new Uint8Array([0xef, 0xbb, 0xbf, ...files[path]]);
  assert.deepEqual(
    logitsOf(await attn.loadModel(files)),
    logitsOf(await attn.loadModel(filesOf('gpt2'))),
  );
});

test('calls_that_a_model_does_not_support_explain_why', async () => {
  const bert = await attn.loadModel(filesOf('bert_plain'));
  assert.throws(
    () => bert.forward([1, 2]),
    error('unsupported', /^logits: .*without an output layer/),
  );
  assert.throws(() => bert.makeCaches(), error('unsupported', /causal/));
  assert.throws(() => bert.forward([27]), error('invalid_argument', /^ids\[0\]: got 27|^ids/));
  assert.throws(
    () => bert.forward([1], { needLogits: false, tokenTypes: [2] }),
    error('invalid_argument', /^tokenTypes/),
  );
  const encoder = await attn.loadModel(filesOf('pytorch_encoder'), { numHeads: 3 });
  assert.throws(() => encoder.forward([1]), error('unsupported', /forwardVectors/));
  const gpt2 = await attn.loadModel(filesOf('gpt2'));
  assert.throws(
    () => gpt2.forward([1, 2], { numLogits: 3 }),
    error('invalid_argument', /^numLogits/),
  );
  assert.throws(
    () => gpt2.generate(new Array(19).fill(1), { maxNewTokens: 2 }),
    error('invalid_argument', /^maxNewTokens: got 2, needs at most 1/),
  );
});

test('other_modules_explain_how_to_load_models', async () => {
  const plain = await load({ variant: 'simd128' });
  assert.throws(
    () => /** @type {any} */ (plain).loadModel({}),
    error('unsupported', /without models.*load\(\{ models: true \}\)/),
  );
  plain.dispose();
});

test('a_model_in_a_worker_has_the_same_methods', async () => {
  const remote = /** @type {any} */ (await loadInWorker({ models: true, variant: 'simd128' }));
  const model = await remote.loadModel(filesOf('gpt2'));
  const { logits } = await model.forward([1, 2, 3, 4]);
  assert.deepEqual(logits, logitsOf(await attn.loadModel(filesOf('gpt2'))));
  assert.equal((await model.description).family, 'gpt2');
  await remote.dispose();
});
