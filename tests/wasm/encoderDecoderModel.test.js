// Loads encoder–decoder models of every family from files in their published form, and compares the
// results with PyTorch in double precision; see
// tests/native/models/recorded/record_encoder_decoders.py.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';

import { AttnError, load } from 'attn';

import { kRoot } from '../../wasm/toolchain/checkout.js';
import { everyVariant } from './everyVariant.js';

/** @import { Tensor } from 'attn' */

const kRecorded = join(kRoot, 'tests/native/models/recorded');
const kTolerance = 2e-5;
const kModels = { t5: 't5', t5_gated: 't5', marian: 'marian', marian_table: 'marian' };

/** @param {string} path */
const read = (path) => new Uint8Array(readFileSync(join(kRecorded, path)));

/** @param {string} name @returns {Record<string, Uint8Array>} */
const filesOf = (name) =>
  Object.fromEntries(
    ['config.json', 'model.safetensors'].map((file) => [file, read(`${name}/${file}`)]),
  );

/** @param {Record<string, Uint8Array>} files @param {string} from @param {string} to */
function withConfig(files, from, to) {
  const text = new TextDecoder().decode(files['config.json']);
  assert.ok(text.includes(from), from);
  return { ...files, 'config.json': new TextEncoder().encode(text.replace(from, to)) };
}

/** @param {string} code @param {RegExp} message */
const error = (code, message) => (/** @type {unknown} */ thrown) => {
  assert.ok(thrown instanceof AttnError, `${thrown}`);
  assert.equal(thrown.code, code, thrown.message);
  assert.match(thrown.message, message);
  return true;
};

/** @param {Tensor} got @param {Tensor | undefined} want @param {number} [firstRow] */
function assertRecorded(got, want, firstRow = 0) {
  assert.ok(want);
  const begin = firstRow * got.shape[got.shape.length - 1];
  got.data.forEach((value, i) => {
    const difference = Math.abs(value - want.data[begin + i]);
    assert.ok(difference <= kTolerance, `${i}: ${difference}`);
  });
  assert.deepEqual(got.shape.slice(1), want.shape.slice(1));
}

await everyVariant(
  'encoder–decoder models',
  (attn) => {
    for (const [name, family] of Object.entries(kModels)) {
      test(`${name}_gives_the_same_as_pytorch`, async () => {
        const file = new attn.Safetensors(read(`${name}/expected.safetensors`));
        const want = new Map(file.tensors.map((entry) => [entry.name, file.read(entry.name)]));
        file.dispose();
        const of = (/** @type {string} */ key) => /** @type {Tensor} */ (want.get(key)).data;
        const model = await attn.loadEncoderDecoder(filesOf(name));
        const { description } = model;
        assert.equal(description.family, family);
        assert.equal(description.t5Bias, family === 't5');
        assert.equal(description.startId, of('targets')[0]);
        const encoder = description.encoderLayers.map(
          (_, l) => `encoder.layers.${l}.self_attn.weights`,
        );
        const decoder = description.decoderLayers.flatMap((_, l) => [
          `decoder.layers.${l}.self_attn.weights`,
          `decoder.layers.${l}.multihead_attn.weights`,
        ]);
        const encoded = model.encode(of('ids'), { intermediates: encoder });
        const decoded = model.decode(of('targets'), encoded.memory, {
          needHidden: true,
          intermediates: decoder,
        });
        assertRecorded(encoded.memory, want.get('memory'));
        assertRecorded(decoded.hidden, want.get('hidden'));
        assertRecorded(decoded.logits, want.get('logits'));
        assert.deepEqual(decoded.logits.shape, want.get('logits')?.shape);
        for (const { intermediates } of [encoded, decoded]) {
          for (const [path, values] of Object.entries(intermediates)) {
            const [stack, , layer, attention] = path.split('.');
            const kind = attention === 'multihead_attn' ? 'cross' : 'self';
            const recorded = stack === 'encoder' ? 'encoder' : kind;
            assertRecorded(values, want.get(`${recorded}_weights.${layer}`));
          }
        }

        const state = model.start(encoded.memory);
        const targets = of('targets');
        for (let at = 0; at < targets.length; at = state.length) {
          const next = targets.subarray(at, at + (at === 2 ? 3 : 1));
          const { logits } = model.decode(next, state, { numLogits: 1 });
          assertRecorded(logits, want.get('logits'), at + next.length - 1);
        }
        state.dispose();
        assert.deepEqual(model.generate(of('ids'), { maxNewTokens: 8 }), [...of('greedy')]);
        model.dispose();
      });
    }
  },
  { models: true },
);

const attn = await load({ models: true, variant: 'simd128' });
after(() => attn.dispose());

test('a_padded_batch_gives_the_same_as_its_sentences', async () => {
  const model = await attn.loadEncoderDecoder(filesOf('t5'));
  const [ids, targets] = [
    [4, 9, 2, 7, 5],
    [0, 3, 8],
  ];
  const validLens = [5, 3];
  const { memory } = model.encode(
    { data: [...ids, ...ids], shape: [2, 5] },
    {
      attention: { validLens },
    },
  );
  const { logits } = model.decode({ data: [...targets, ...targets], shape: [2, 3] }, memory, {
    crossAttention: { validLens },
  });
  const alone = model.decode(targets, model.encode(ids.slice(0, 3)).memory);
  assert.deepEqual(logits.data.subarray(3 * 29), alone.logits.data);
  model.dispose();
});

test('results_may_stay_in_memory', async () => {
  const model = await attn.handles.loadEncoderDecoder(filesOf('marian'));
  const { memory } = model.encode([1, 2, 3]);
  const { logits } = model.decode([26, 1], memory, { numLogits: 1 });
  assert.deepEqual(logits.shape, [1, 27]);
  logits.dispose();
  memory.dispose();
  model.dispose();
});

test('a_description_is_frozen_and_reads_no_weights', async () => {
  const description = await attn.describeEncoderDecoder(filesOf('t5_gated'));
  const { encoderLayers, decoderLayers, unusedFields, warnings } = description;
  for (const part of [description, encoderLayers, decoderLayers[0], unusedFields, warnings]) {
    assert.ok(Object.isFrozen(part));
  }
  assert.equal(description.weightType, 'bfloat16');
  assert.equal(description.tied, false);
  assert.equal(decoderLayers.length, 2);
  assert.deepEqual(
    (({ headDim, numHeads, activation, gatedFeedForward, rmsNorm, scale }) => ({
      ...{ headDim, numHeads, activation, gatedFeedForward, rmsNorm, scale },
    }))(encoderLayers[0]),
    {
      ...{ headDim: 6, numHeads: 3, activation: 'geluTanh', gatedFeedForward: true },
      ...{ rmsNorm: true, scale: 1 },
    },
  );
  const floats = await attn.loadEncoderDecoder(filesOf('t5_gated'), { weightType: 'float32' });
  assert.equal(floats.description.weightType, 'float32');
  floats.dispose();
});

test('errors_name_the_argument_and_the_other_function', async () => {
  await assert.rejects(
    attn.loadModel(filesOf('t5')),
    error('unsupported', /"model_type": got "t5".* with loadEncoderDecoder\(\)/),
  );
  await assert.rejects(
    attn.loadEncoderDecoder(filesOf('gpt2')),
    error('unsupported', /"model_type": got "gpt2", needs t5, mt5 or marian;/),
  );
  await assert.rejects(
    attn.loadEncoderDecoder(withConfig(filesOf('t5'), '"t5"', '"umt5"')),
    error('unsupported', /"model_type": got "umt5"/),
  );
  const model = await attn.loadEncoderDecoder(filesOf('marian'));
  const { memory } = model.encode([1, 2, 3]);
  assert.throws(() => model.encode([27]), error('invalid_argument', /^ids.*0 to 26/));
  assert.throws(
    () => model.decode({ data: [26, 26], shape: [2, 1] }, memory),
    error('shape_mismatch', /^memory: .*rank/),
  );
  assert.throws(
    () => model.decode([26], memory, { numLogits: 2 }),
    error('invalid_argument', /^numLogits/),
  );
  const tape = /** @type {any} */ ({ tape: {} });
  const untrainable = error(
    'unsupported',
    /^tape: attn cannot train encoder–decoder models.*; train a language model from loadModel\(\)/,
  );
  assert.throws(() => model.encode([1], tape), untrainable);
  assert.throws(() => model.decode([26], memory, tape), untrainable);
  const other = new attn.TransformerDecoder({ dModel: 21, numHeads: 3, dimFeedforward: 5 });
  const foreign = other.start(memory);
  assert.throws(
    () => model.decode([26], foreign),
    error('invalid_argument', /^memory: got a state of a stack.* encoder–decoder model/),
  );
  const state = model.start(memory);
  model.decode([26, 4], state);
  assert.throws(
    () => model.decode({ data: [1, 2], shape: [2, 1] }, state),
    error('shape_mismatch', /^ids: .*batch/),
  );
  assert.equal(state.length, 2);
  state.truncate(1);
  assert.equal(model.decode([4], state).logits.shape[0], 1);
  for (const object of [state, foreign, other, model]) object.dispose();
});
