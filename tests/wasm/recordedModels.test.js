// Tests language models on a tape: the module that loads and trains them, the bits of the logits, and
// training compared with the same model built from layers.

import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';

import { AttnError, load } from 'attn';
import { load as loadInWorker } from 'attn/worker';

import { kRoot } from '../../wasm/toolchain/checkout.js';

/** @import { LanguageModel, Tensor } from 'attn' */

const kRecorded = join(kRoot, 'tests/native/models/recorded');
const variant = 'simd128';
const ids = [1, 5, 3, 7, 7, 2];
const targets = [5, 3, 7, 7, 2, 4];

const attn = await load({ models: true, training: true, variant });
after(() => attn.dispose());

/** The files of a recorded model by path. @param {string} name */
function filesOf(name) {
  const own = existsSync(join(kRecorded, name, 'model.safetensors'));
  const weights = own
    ? ['model.safetensors']
    : [
        ...[1, 2].map((part) => `model-0000${part}-of-00002.safetensors`),
        'model.safetensors.index.json',
      ];
  const config = join(name, 'config.json');
  const paths = [
    // attn's own files contain their configuration.
    ...(existsSync(join(kRecorded, config)) ? [['config.json', config]] : []),
    ...weights.map((file) => [file, join(own ? name : 'llama', file)]),
  ];
  return Object.fromEntries(
    paths.map(([file, path]) => [file, new Uint8Array(readFileSync(join(kRecorded, path)))]),
  );
}

/** @param {string} name */
const open = (name) => attn.loadModel(filesOf(name), { weightType: 'float32' });

/** @param {string} code @param {RegExp} message */
const error = (code, message) => (/** @type {unknown} */ thrown) => {
  assert.ok(thrown instanceof AttnError, `${thrown}`);
  assert.equal(thrown.code, code, thrown.message);
  assert.match(thrown.message, message);
  return true;
};

for (const name of ['gpt2', 'llama', 'gemma2', 'gpt_oss_dense', 'bert', 'attn_sinusoidal']) {
  test(`${name}_has_the_same_bits_with_and_without_a_tape`, async () => {
    const model = await open(name);
    const tape = new attn.Tape();
    const batch = { data: ids, shape: [2, 3] };
    for (const tokens of [ids, batch]) {
      const { logits } = model.forward(tokens, { tape });
      assert.deepEqual(logits.value(), model.forward(tokens).logits);
    }
    model.dispose();
  });
}

test('token_types_positions_and_attention_reach_the_layers', async () => {
  const tape = new attn.Tape();
  const causal = { causal: true };
  const bert = await open('bert');
  const tokenTypes = [0, 0, 1, 1, 1, 0];
  for (const options of [{ tokenTypes }, { attention: causal }]) {
    const { logits } = bert.forward(ids, { tape, ...options });
    assert.deepEqual(logits.value(), bert.forward(ids, options).logits);
    assert.notDeepEqual(logits.value(), bert.forward(ids).logits);
  }
  const llama = await open('llama');
  const positions = [0, 1, 2, 0, 1, 2];
  const { logits } = llama.forward(ids, { tape, positions });
  assert.deepEqual(logits.value(), llama.forward(ids, { positions }).logits);
  assert.notDeepEqual(logits.value(), llama.forward(ids).logits);
});

/**
 * Trains for a few steps, and returns the losses and the gradients of the first step by name.
 * @param {import('attn').Model} model
 * @param {Record<string, any>} layers  layers by the path of their parameters
 * @param {(tape: import('attn').Tape) => import('attn').Variable} forward
 */
function train(model, layers, forward) {
  const optimizer = new attn.AdamW(model, { lr: 1e-2 });
  const tape = new attn.Tape();
  /** @type {number[]} */
  const losses = [];
  /** @type {Record<string, Tensor | undefined>} */
  const gradients = {};
  for (let step = 0; step < 4; ++step) {
    tape.clear();
    const loss = attn.crossEntropy(forward(tape), targets);
    tape.backward(loss);
    losses.push(loss.item());
    for (const [path, layer] of step === 0 ? Object.entries(layers) : []) {
      for (const name of layer.parameterNames()) {
        gradients[path + name] = tape.gradient(layer, name);
      }
    }
    attn.clipGradNorm(tape, 1);
    optimizer.step(tape);
  }
  return { losses, gradients };
}

test('llama_trains_with_the_bits_of_the_same_layers', async () => {
  const model = await open('llama_none');
  const { vocabSize, layers } = model.description;
  const { normEps, rotaryDim, rotaryBase, ...sizes } = layers[0];
  const { dModel, numHeads, numKvHeads, headDim, dimFeedforward, activation } = sizes;
  const encoder = new attn.TransformerEncoder({
    ...{ numLayers: layers.length, dModel, numHeads, numKvHeads, headDim, dimFeedforward },
    ...{ activation, gatedFeedForward: true, normFirst: true, finalNorm: true, bias: false },
    ...{ rmsNorm: { eps: normEps }, positions: { rotary: { rotaryDim, base: rotaryBase } } },
  });
  const embedding = new attn.Embedding({ numEmbeddings: vocabSize, embeddingDim: dModel });
  const output = new attn.Linear({ inFeatures: dModel, outFeatures: vocabSize, bias: false });
  /** @type {Record<string, any>} */
  const byHand = { embedding, encoder, output };
  for (const [path, layer] of Object.entries(byHand)) {
    layer.loadStateDict(model.stateDict(), { prefix: `${path}.` });
  }
  const paths = Object.fromEntries(
    Object.entries(byHand).map(([path, layer]) => [`${path}.`, layer]),
  );
  const expected = train(byHand, paths, (tape) => {
    const x = embedding.forward(ids, { tape });
    return output.forward(encoder.forward(x, { attention: { causal: true } }));
  });
  const got = train(model, { '': model }, (tape) => model.forward(ids, { tape }).logits);
  assert.deepEqual(got, expected);
  assert.ok(got.losses[3] < got.losses[0]);
  for (const [path, layer] of Object.entries(paths)) {
    for (const parameter of layer.parameterNames()) {
      assert.deepEqual(model.parameter(path + parameter), layer.parameter(parameter));
    }
  }
  // Calls without a tape use the new weights.
  const [x] = [encoder.forward(embedding.forward(ids), { attention: { causal: true } })];
  assert.deepEqual(model.forward(ids).logits, output.forward(x.output));
});

test('the_loss_of_gpt2_has_the_gradients_of_finite_differences', async () => {
  const model = await open('gpt2');
  const tape = new attn.Tape();
  const loss = attn.crossEntropy(model.forward(ids, { tape }).logits, targets);
  tape.backward(loss);
  const lossOfModel = () => attn.crossEntropy(model.forward(ids).logits, targets).loss;
  assert.equal(lossOfModel(), loss.item());
  let compared = 0;
  for (const name of model.parameterNames()) {
    const { data, shape } = model.parameter(name);
    const gradient = tape.gradient(model, name)?.data ?? assert.fail(name);
    for (const i of [0, data.length >> 1, data.length - 1]) {
      const [up, down] = [0.01, -0.01].map((step) => {
        const changed = data.slice();
        changed[i] += step;
        model.setParameter(name, { data: changed, shape });
        return lossOfModel();
      });
      model.setParameter(name, { data, shape });
      const difference = (up - down) / 0.02 - gradient[i];
      // Finite differences of float32 have an error of about 1e-4.
      assert.ok(Math.abs(difference) < 5e-4, `${name}[${i}]: ${difference}, ${gradient[i]}`);
      if (Math.abs(gradient[i]) > 1e-3) ++compared;
    }
  }
  assert.ok(compared > 30, `${compared} weights`);
  // The embedding of GPT-2 is also the weight of its output layer.
  assert.ok(model.description.tied);
});

test('the_layers_of_a_model_take_variables', async () => {
  const model = await open('gpt2');
  const tape = new attn.Tape();
  const x = attn.randomNormal({ shape: [3, model.description.layers[0].dModel], seed: 1 });
  const variable = model.layers[0].forward(tape.variable(x), { attention: { causal: true } });
  const { output } = model.layers[0].forward(x, { attention: { causal: true } });
  assert.deepEqual(variable.value(), output);
  tape.backward(variable, x);
  assert.ok(tape.gradient(model, 'encoder.layers.0.linear1.weight'));
});

test('handles_give_models_that_train_too', async () => {
  const model = await attn.handles.loadModel(filesOf('gpt2'));
  const tape = new attn.Tape();
  const { logits } = model.forward(ids, { tape });
  assert.deepEqual(logits.value(), model.forward(ids).logits.toTensor());
});

test('what_a_tape_cannot_record_is_an_error_that_names_it', async () => {
  const tape = new attn.Tape();
  /** @type {any} */
  const gpt2 = await open('gpt2');
  const rejects = (/** @type {object} */ options, /** @type {RegExp} */ message) =>
    assert.throws(
      () => gpt2.forward(ids, { tape, ...options }),
      error('invalid_argument', message),
    );
  rejects({ positions: [0, 1, 2, 3, 4, 5] }, /^positions: got a value, needs none when a tape/);
  rejects({ numLogits: 1 }, /^options: 'numLogits' is not an option/);
  rejects({ caches: gpt2.makeCaches() }, /^options: 'caches' is not an option/);
  rejects({ attention: { needWeights: true } }, /^attention: 'needWeights' is not an option/);
  rejects({ tape: {} }, /^tape: .*needs a Tape/);
  assert.throws(
    () => gpt2.forward(ids, { tape, tokenTypes: [0, 0, 0, 0, 0, 0] }),
    error('unsupported', /^tokenTypes/),
  );
  assert.throws(() => gpt2.forward([99], { tape }), error('invalid_argument', /^ids\[0\]: got 99/));

  /** @type {any} */
  const rounded = await attn.loadModel(filesOf('gpt2'), { weightType: 'bfloat16' });
  assert.throws(
    () => rounded.forward(ids, { tape }),
    error('unsupported', /^weightType: .*bfloat16; to train the model, load it with/),
  );
  /** @type {any} */
  const plain = await open('bert_plain');
  assert.throws(
    () => plain.forward(ids, { tape }),
    error('unsupported', /^logits: got a model without an output layer/),
  );
  /** @type {any} */
  const pair = await attn.loadEncoderDecoder(filesOf('marian'));
  assert.throws(
    () => pair.encode([1, 2], { tape }),
    error('unsupported', /^tape: attn cannot train encoder–decoder models/),
  );
  // A failed call leaves the tape as it was.
  tape.backward(attn.crossEntropy(gpt2.forward(ids, { tape }).logits, targets));
});

test('the_module_has_every_member_of_the_modules_that_only_train_or_only_open_models', async () => {
  for (const options of [{ models: true }, { training: true }]) {
    /** @type {any} */
    const other = await load({ ...options, variant });
    const names = [
      ...Object.keys(other),
      ...Object.getOwnPropertyNames(Object.getPrototypeOf(other)),
    ];
    for (const name of names) assert.ok(name in attn, name);
    other.dispose();
  }
  const model = await open('gpt2');
  const { logits } = model.forward(ids, { numLogits: 1 });
  assert.equal(
    attn.chooseToken({ data: logits.data, shape: [29] }),
    model.generate(ids, { maxNewTokens: 1 })[0],
  );
  assert.deepEqual(await attn.describeModel(filesOf('gpt2')), model.description);
  assert.ok((await attn.filesOfModel(filesOf('gpt2'))).has('config.json'));
  const pair = await attn.describeEncoderDecoder(filesOf('marian'));
  assert.equal(pair.family, 'marian');
});

test('a_wasm_that_lacks_models_or_training_is_rejected', async () => {
  for (const flavour of ['attn', 'training', 'models']) {
    const wasm = readFileSync(new URL(import.meta.resolve(`attn/${flavour}-simd128.wasm`)));
    await assert.rejects(load({ models: true, training: true, wasm }), AttnError, flavour);
  }
});

test('a_worker_loads_the_same_module', async () => {
  /** @type {any} */
  const remote = await loadInWorker({ models: true, training: true, variant });
  const model = await remote.loadModel(filesOf('gpt2'));
  const { logits } = await model.forward(ids);
  assert.deepEqual(logits, (await open('gpt2')).forward(ids).logits);
  assert.equal(await (await new remote.Tape()).disposed, false);
  await remote.dispose();
});
