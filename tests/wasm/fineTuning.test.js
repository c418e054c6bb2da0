// Runs the example that fine-tunes a Llama model, and compares it with PyTorch's logits and with
// finite differences of the loaded model's loss.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';

import { load } from 'attn';

import { kRoot } from '../../wasm/toolchain/checkout.js';

/** @import { LanguageModel } from 'attn' */

const run = promisify(execFile);
const kExample = join(kRoot, 'tests/package/examples/fineTuning.js');
const kRecorded = join(kRoot, 'tests/native/models/recorded');
const kLearningRate = 1e-3;

const attn = await load({ models: true });
/** @type {string} */
let folder;
/** @type {number[]} */
let ids;
/** Logits that PyTorch computed in double precision, (N, V). @type {Float32Array} */
let recorded;

before(() => {
  folder = mkdtempSync(join(tmpdir(), 'attn-fine-tuning-'));
  // The two recorded models have the same weights. Only one has positions without a scaling rule.
  for (const name of readdirSync(join(kRecorded, 'llama'))) {
    if (!name.startsWith('expected')) {
      cpSync(join(kRecorded, 'llama', name), join(folder, 'model', name));
    }
  }
  cpSync(join(kRecorded, 'llama_none/config.json'), join(folder, 'model/config.json'));
  const expected = new attn.Safetensors(
    new Uint8Array(readFileSync(join(kRecorded, 'llama_none/expected.safetensors'))),
  );
  ids = [...expected.read('ids').data];
  recorded = expected.read('logits').data;
  expected.dispose();
  writeFileSync(join(folder, 'ids.txt'), ids.join(' '));
});
after(() => {
  attn.dispose();
  rmSync(folder, { recursive: true });
});

/** Fine-tunes the model, and returns the losses that the example prints. @param {number} steps */
async function fineTune(steps) {
  const paths = ['model', 'ids.txt', `${steps}`].map((name) => join(folder, name));
  const { stdout } = await run(process.execPath, [kExample, ...paths, `${steps}`]);
  return stdout
    .trim()
    .split('\n')
    .map((line) => Number(line.split(' ')[1]));
}

/** @param {string} name */
const open = (name) =>
  attn.loadModel(
    Object.fromEntries(
      readdirSync(join(folder, name)).map((file) => [
        file,
        new Uint8Array(readFileSync(join(folder, name, file))),
      ]),
    ),
  );

/**
 * The mean loss over all tokens except the first, for which there is no prediction.
 * @param {Float32Array} logits  (N, V)
 */
function lossOf(logits) {
  const size = recorded.length / ids.length;
  let sum = 0;
  for (let n = 1; n < ids.length; ++n) {
    const row = [...logits.subarray((n - 1) * size, n * size)];
    sum += Math.log(row.reduce((total, x) => total + Math.exp(x), 0)) - row[ids[n]];
  }
  return sum / (ids.length - 1);
}

/** @param {LanguageModel} model */
const lossOfModel = (model) => lossOf(model.forward(ids).logits.data);

test('the_first_loss_matches_pytorch_and_each_weight_moves_against_its_gradient', async () => {
  const [loss] = await fineTune(1);
  assert.ok(Math.abs(loss - lossOf(recorded)) < 2e-5, `${loss}, ${lossOf(recorded)}`);
  const [before, after] = [await open('model'), await open('1')];
  assert.deepEqual(after.parameterNames(), before.parameterNames());
  let compared = 0;
  for (const name of before.parameterNames()) {
    const [{ data, shape }, moved] = [before.parameter(name), after.parameter(name)];
    for (const i of [0, data.length >> 1, data.length - 1]) {
      const [up, down] = [0.01, -0.01].map((step) => {
        const changed = data.slice();
        changed[i] += step;
        before.setParameter(name, { data: changed, shape });
        return lossOfModel(before);
      });
      before.setParameter(name, { data, shape });
      const gradient = (up - down) / 0.02;
      // Finite differences of float32 have an error of about 1e-4.
      if (Math.abs(gradient) < 1e-3) continue;
      // The first step of AdamW moves each weight by the learning rate.
      const expected = -kLearningRate * Math.sign(gradient);
      const step = moved.data[i] - data[i];
      assert.ok(Math.abs(step - expected) < 1e-6, `${name}[${i}]: ${step}, ${expected}`);
      compared++;
    }
  }
  assert.ok(compared > 40, `${compared} weights`);
});

test('the_saved_model_opens_again_and_has_learned_the_text', async () => {
  const losses = await fineTune(60);
  const model = await open('60');
  assert.equal(model.description.family, 'llama');
  assert.deepEqual(model.description.unusedTensors, []);
  const saved = new attn.Safetensors(
    new Uint8Array(readFileSync(join(folder, '60/model.safetensors'))),
  );
  const index = readFileSync(join(folder, 'model/model.safetensors.index.json'), 'utf8');
  assert.deepEqual(
    saved.tensors.map(({ name }) => name).sort(),
    Object.keys(JSON.parse(index).weight_map).sort(),
  );
  const loss = lossOfModel(model);
  assert.ok(loss < losses[losses.length - 1] && loss < losses[0] / 4, `${losses}, then ${loss}`);
  const generated = model.generate(ids.slice(0, 2), { maxNewTokens: ids.length - 2 });
  assert.ok(generated.filter((id, i) => id === ids[i + 2]).length > ids.length / 2, `${generated}`);
});
