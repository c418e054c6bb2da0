// Tests the program behind `npm run train` on a small text. The program must be able to resume
// after it was stopped, and the same seed must produce the same bytes.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, it } from 'node:test';

import { kBuildFolder } from '../../wasm/toolchain/checkout.js';
import { CommandError, command } from '../../wasm/toolchain/system.js';

const kProgram = join(kBuildFolder, 'release/web/languageModel/attn_train_language_model');
const temporary = mkdtempSync(join(tmpdir(), 'attn-language-model-'));
after(() => rmSync(temporary, { recursive: true, force: true }));

const kVocabulary = 40;

/** Creates a folder with two texts. @param {string} name */
function folderWithText(name) {
  const folder = join(temporary, name);
  mkdirSync(folder);
  for (const [text, length] of Object.entries({ training: 3000, heldOut: 2100 })) {
    const tokens = Uint16Array.from({ length }, (_, i) => (i * i + 7 * text.length) % kVocabulary);
    writeFileSync(join(folder, `${text}.tokens`), tokens);
  }
  return folder;
}

/** @param {string} folder @param {number} threads */
const argumentsFor = (folder, threads) => [
  ...[folder, kVocabulary, 4, 1, threads].map(String),
  '{"text":"numbers"}',
];

/** @param {string} folder @param {number} threads */
const train = (folder, threads) =>
  command(kProgram, argumentsFor(folder, threads), { cwd: temporary });

/** @param {string} folder */
const model = (folder) => readFileSync(join(folder, 'model.safetensors'));

it('resumes where it was stopped, with bit-identical results', async () => {
  const [whole, stopped] = ['whole', 'stopped'].map(folderWithText);
  await train(whole, 1);

  const child = spawn(kProgram, argumentsFor(stopped, 2), { stdio: ['ignore', 'pipe', 'inherit'] });
  child.stdout.once('data', () => child.kill('SIGKILL'));
  await new Promise((resolve) => child.on('close', resolve));
  assert.match(await train(stopped, 2), /^resuming after step [1-3]$/m);
  assert.ok(model(stopped).equals(model(whole)));
});

it('writes the trained model and its measurements', () => {
  const file = model(join(temporary, 'whole'));
  const header = JSON.parse(file.toString('utf8', 8, 8 + Number(file.readBigUInt64LE())));
  assert.deepEqual(header['embedding.weight'].shape, [kVocabulary, 128]);
  assert.equal(header['embedding.weight'].dtype, 'F16');
  const [config, training, heads] = ['config', 'training', 'heads'].map((name) =>
    JSON.parse(header.__metadata__[name]),
  );
  assert.equal(config.vocabularySize, kVocabulary);
  assert.equal(heads.length, config.numLayers);
  for (const head of heads.flat()) {
    for (const share of Object.values(head)) assert.ok(share >= 0 && share <= 1);
  }
  assert.ok(Math.abs(training.heldOutLoss - training.float16Loss) < 0.01);
  assert.equal(training.about.text, 'numbers');
});

it('names a missing text', async () => {
  await assert.rejects(
    train(join(temporary, 'nowhere'), 1),
    (error) =>
      error instanceof CommandError && /training\.tokens has no tokens/.test(error.message),
  );
});
