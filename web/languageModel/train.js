// npm run train: trains the page's language model on novels, the Bible and example sentences, and
// writes the model and its tokenizer to this folder. An interrupted run resumes where it stopped.
//
// --steps 12000   number of steps, each with 16 passages of 128 tokens
// --seed 1        a seed gives bit-identical results on every machine with the same instruction set
// --threads 2     all cores by default; does not affect the results
// --isa avx2      instruction set; by default the best that the machine supports

import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join, relative } from 'node:path';
import { parseArgs } from 'node:util';

import {
  kBuildFolder,
  kLockFile,
  kRoot,
  provideNpmPackages,
} from '../../wasm/toolchain/checkout.js';
import { cmakeBuild } from '../../wasm/toolchain/cmake.js';
import { nativeEnvironment } from '../../wasm/toolchain/env.js';
import { withLock } from '../../wasm/toolchain/lock.js';
import { say } from '../../wasm/toolchain/progress.js';
import { reportSetupError, requireAll, SetupError } from '../../wasm/toolchain/system.js';
import { countWords, learnTokenizer } from './bytePairs.js';
import { everydayWords, exampleWords } from './everydayWords.js';
import { readText } from './text.js';
import { trigramLoss } from './trigramLoss.js';

const kVocabulary = 3840;
/**
 * The tokenizer is learned from counts of words. For everyday words and words of the page's
 * examples that occur at least twice, this is the smallest count.
 */
const kFrequent = 200;
const kFolder = join(kBuildFolder, 'languageModel');

const numbers = /** @type {const} */ (['steps', 'seed', 'threads']);

function parse() {
  const { values } = parseArgs({
    options: {
      steps: { type: 'string', default: '12000' },
      seed: { type: 'string', default: '1' },
      threads: { type: 'string', default: String(availableParallelism()) },
      isa: { type: 'string' },
    },
  });
  for (const name of numbers) {
    if (/^[1-9]\d{0,8}$/.test(values[name])) continue;
    throw new SetupError(`--${name}: got ${values[name]}, needs a whole number of at least 1.`);
  }
  return values;
}

/**
 * Counts the words that the tokenizer is learned from. Everyday words count as often as frequent
 * words of the text, so that each becomes one token. This does not apply to words that the text
 * does not contain at least twice, because the model could learn nothing about them.
 * @param {string} text
 */
function wordsFor(text) {
  const counts = countWords(text);
  for (const word of [...everydayWords, ...exampleWords]) {
    const count = counts.get(` ${word}`) ?? 0;
    if (count >= 2) counts.set(` ${word}`, Math.max(count, kFrequent));
  }
  return counts;
}

/** @import { Tokenizer } from '@huggingface/tokenizers' */

/**
 * Encodes a text.
 * @param {Tokenizer} tokenizer
 * @param {number} newline  the token that separates paragraphs
 * @param {string} text
 */
function tokensOf(tokenizer, newline, text) {
  const paragraphs = text
    .split('\n')
    .map((paragraph) => [...tokenizer.encode(paragraph).ids, newline]);
  return Uint16Array.from(paragraphs.flat());
}

/**
 * @param {string} name
 * @param {Uint16Array} tokens
 */
function writeTokens(name, tokens) {
  const bytes = Buffer.alloc(2 * tokens.length);
  tokens.forEach((token, i) => bytes.writeUInt16LE(token, 2 * i));
  writeFileSync(join(kFolder, `${name}.tokens`), bytes);
}

/** Prepares the text, the tokenizer, the tokens, and the metadata of the model's file. */
async function prepare() {
  const { Tokenizer } = await import('@huggingface/tokenizers');
  mkdirSync(kFolder, { recursive: true });
  const { training, heldOut } = await readText();
  say(`Learning ${kVocabulary} tokens from ${training.length} characters.`);
  const description = learnTokenizer(wordsFor(training), kVocabulary);
  writeFileSync(join(kFolder, 'tokenizer.json'), `${JSON.stringify(description)}\n`);
  const tokenizer = new Tokenizer(description, {});
  const newline = description.model.vocab['Ċ'];
  const [tokens, held] = [training, heldOut].map((text) => tokensOf(tokenizer, newline, text));
  writeTokens('training', tokens);
  writeTokens('heldOut', held);
  const loss = trigramLoss(tokens, held, kVocabulary);
  say(
    `${tokens.length} tokens to learn from and ${held.length} held out, ` +
      `on which a 3-gram model has a loss of ${loss.toFixed(3)}.`,
  );
  return {
    text:
      "Jane Austen's six novels and the World English Bible, in the public domain, and the example " +
      'sentences of WordNet 3.0, as packaged in Debian',
    wordnetLicense: readFileSync(join(import.meta.dirname, 'LICENSE.wordnet'), 'utf8'),
    tokens: tokens.length,
    heldOutTokens: held.length,
    trigramLoss: Number(loss.toFixed(4)),
  };
}

/**
 * @param {ReturnType<typeof parse>} options
 * @param {Awaited<ReturnType<typeof prepare>>} about
 */
function train({ steps, seed, threads, isa }, about) {
  const program = join(kBuildFolder, 'release/web/languageModel/attn_train_language_model');
  const { status, signal } = spawnSync(
    program,
    [kFolder, String(kVocabulary), steps, seed, threads, JSON.stringify(about)],
    { stdio: ['ignore', 2, 2], env: { ...process.env, ...(isa && { ATTN_ISA: isa }) } },
  );
  if (signal) throw new SetupError('The run was stopped. npm run train resumes it.');
  if (status !== 0) throw new SetupError('The training program failed. Its message is above.');
  for (const name of ['model.safetensors', 'tokenizer.json']) {
    copyFileSync(join(kFolder, name), join(import.meta.dirname, name));
  }
  say(`The model is in ${relative(kRoot, import.meta.dirname)}.`);
}

try {
  const options = parse();
  await withLock(kLockFile, async () => {
    await provideNpmPackages();
    await requireAll('to train', ['cmake', 'ninja', 'compiler']);
    const about = await prepare();
    say('Building the training program.');
    await cmakeBuild('release', ['attn_train_language_model'], await nativeEnvironment(), {
      tests: false,
    });
    train(options, about);
  });
} catch (error) {
  reportSetupError(error);
}
