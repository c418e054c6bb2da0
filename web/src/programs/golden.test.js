// Compares the programs that figures offer with recorded programs. After an intended change to the
// programs, record them again with RECORD=1 and review the difference:
//
//   RECORD=1 node --test web/src/programs/golden.test.js

import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import test from 'node:test';

import { lanes } from '../../../tests/lanes.js';
import { alignmentCode } from '../figures/alignment/code.js';
import { attentionCode } from '../figures/attention/code.js';
import { circuitsCode } from '../figures/circuits/code.js';
import { compareCode } from '../figures/compare/code.js';
import { costsPrograms } from '../figures/costs/code.js';
import { decoderCacheCode } from '../figures/decoderCache/code.js';
import { editCode } from '../figures/edit/code.js';
import { encoderBlockCode } from '../figures/encoderBlock/code.js';
import { encodingPrograms } from '../figures/encoding/code.js';
import { contributionsCode, lensCode } from '../figures/lens/code.js';
import { nextWordCode } from '../figures/nextWord/code.js';
import { lossCode } from '../figures/orderLoss/code.js';
import { pathsPrograms } from '../figures/paths/code.js';
import { poolingPrograms } from '../figures/pooling/code.js';
import { bytesPrograms, driftPrograms, errorPrograms } from '../figures/precision/code.js';
import { rotaryPrograms, rotationPrograms, sinePrograms } from '../figures/rotation/code.js';
import { scaleCode } from '../figures/scale/code.js';
import { schemePrograms } from '../figures/schemes/code.js';
import { schemeNames } from '../figures/schemes/schemes.js';
import { shuffleCode } from '../figures/shuffle/code.js';
import { similarityPrograms } from '../figures/similarity/code.js';
import { speedPrograms } from '../figures/speed/code.js';
import { stagesCode } from '../figures/stages/code.js';
import { timingsPrograms } from '../figures/timings/code.js';
import { wallCode } from '../figures/wall/code.js';
import * as languagePrograms from '../models/language/languagePrograms.js';
import * as ownPrograms from '../models/own/ownPrograms.js';
import { lossPrograms, reachPrograms, tableProgram, trainingPrograms } from '../training/code.js';

/** @typedef {Partial<Record<'python' | 'cpp' | 'javascript', string>>} Programs */

const golden = new URL('../../../tests/golden/', import.meta.url);
const isRecording = Boolean(process.env.RECORD);

/** Smallest number of repeated lines to replace with a reference. */
const shortest = 4;

/**
 * Shortens a program. A reference replaces each run of lines that also occurs in an earlier
 * program.
 * @param {string[]} lines
 * @param {{ settings: string, lines: string[] }[]} earlier
 */
function shortened(lines, earlier) {
  const short = [];
  for (let at = 0; at < lines.length;) {
    let longest = { of: '', begin: 0, length: 0 };
    for (const program of earlier) {
      for (let begin = 0; begin < program.lines.length; begin++) {
        let length = 0;
        while (at + length < lines.length && lines[at + length] === program.lines[begin + length]) {
          length++;
        }
        if (length > longest.length) longest = { of: program.settings, begin, length };
      }
    }
    const { of, begin, length } = longest;
    if (length >= shortest) short.push(`[lines ${begin + 1} to ${begin + length} of ${of}]`);
    else short.push(lines[at]);
    at += length >= shortest ? length : 1;
  }
  return short;
}

/**
 * The programs of a figure, by language. Lines that also occur in an earlier program are recorded
 * only once.
 * @param {string} figure
 * @param {Record<string, Programs>} programs programs by their settings
 */
const compare = (figure, programs) =>
  test(`the programs of ${figure} match the recorded programs`, () => {
    const parts = [];
    for (const language of /** @type {const} */ (['cpp', 'javascript', 'python'])) {
      /** @type {{ settings: string, lines: string[] }[]} */
      const earlier = [];
      for (const [settings, { [language]: program }] of Object.entries(programs)) {
        if (program === undefined) continue;
        const lines = program.split('\n');
        parts.push(`======== ${language}: ${settings}`, '', ...shortened(lines, earlier));
        earlier.push({ settings, lines });
      }
    }
    const text = parts.join('\n');
    const file = new URL(`${figure}.txt`, golden);
    if (isRecording) {
      mkdirSync(golden, { recursive: true });
      writeFileSync(file, text);
    } else {
      assert.equal(text, readFileSync(file, 'utf8'));
    }
  });

const tokens = ['The', 'cat', 'said', '"', '\\n', 'the'];
const words = [...tokens.slice(0, 5), 'café'];
const order = [3, 0, 5, 1, 4, 2];
const head = 1;

const plain = { causal: false, window: 0, validLen: 0, blocked: [] };
const ids = [3, 20, 7, 7, 0, 3];
const shared = {
  ids,
  tokens,
  order,
  head,
  dModel: 16,
  heads: 2,
  seed: 3,
  base: 100.5,
  editMatrix: 'k',
  norm: 'post',
};
const masked = {
  ...{ causal: true, window: 2, validLen: 5 },
  blocked: [
    { row: 1, column: 0 },
    { row: 7, column: 0 },
    { row: 4, column: 4 },
  ],
};
const edit = { row: 9, column: 2, value: 1.75 };
/** @param {object} settings @returns {any} */
const layer = (settings) => ({ ...shared, ...plain, edit, ...settings });
const layers = {
  'identity, masked': layer({ weights: 'identity', encoding: 'sinusoidal', ...masked }),
  'xavier, without positions': layer({
    ...{ weights: 'xavier', encoding: 'none', editMatrix: 'o', base: 10000, norm: 'pre' },
  }),
};

const config = {
  ...{ vocabularySize: 24, dModel: 16, numHeads: 2, numLayers: 2, dimFeedforward: 40 },
  ...{ activation: 'gelu', base: 1000, scaleBySqrtDim: true, maxLength: 32 },
};
/** @param {'rotary' | 'sinusoidal'} positions @returns {any} */
const learned = (positions) => ({
  ...languagePrograms,
  config: { ...config, positions },
});
const languages = {
  'language model': learned('rotary'),
  'language model with sinusoidal positions': learned('sinusoidal'),
};
const ofLanguage = {
  'language model': layer({
    ...{ weights: 'learned', encoding: 'sinusoidal', causal: true, layer: 1 },
    tokens: words,
    blocked: [{ row: 3, column: 1 }],
  }),
  'language model without positions': layer({
    ...{ weights: 'learned', encoding: 'none', causal: true, layer: 0, window: 3 },
    tokens: words,
  }),
};

/** @param {(settings: any, learned: any) => Programs} programs */
const everyLayer = (programs) =>
  Object.fromEntries([
    ...Object.entries(layers).map(([name, given]) => [name, programs(given, null)]),
    ...Object.entries(ofLanguage).map(([name, given]) => [
      name,
      programs(given, learned('rotary')),
    ]),
    ['sinusoidal language model', programs(ofLanguage['language model'], learned('sinusoidal'))],
  ]);

compare('attention', everyLayer(attentionCode));
compare('edit', everyLayer(editCode));
compare('stages', everyLayer(stagesCode));
compare('shuffle', everyLayer(shuffleCode));
compare('encoderBlock', everyLayer(encoderBlockCode));
compare('decoderCache', everyLayer(decoderCacheCode));

/** @param {(settings: any, learned: any) => Programs} programs */
const everyLanguage = (programs) =>
  Object.fromEntries(
    Object.entries(languages).map(([name, model]) => [
      name,
      programs(ofLanguage['language model'], model),
    ]),
  );
const ofModel = ofLanguage['language model'];
/** @param {object} options */
const nextOf = (options) => nextWordCode({ ...ofModel, ...options }, learned('rotary'));
const cuts = [
  { layer: 0, head: 1, query: 5, key: 2 },
  { layer: null, head: null, query: 4, key: 1 },
];
const silenced = [
  { layer: 1, part: 0 },
  { layer: 0, part: 'mlp' },
  { layer: 1, part: 'layer' },
];
compare('nextWord', {
  ...everyLanguage((given, model) => nextWordCode({ ...given, temperature: 0.7, topK: 12 }, model)),
  'few candidates': nextOf({ temperature: 1, topK: 4 }),
  'all candidates': nextOf({ temperature: 1, topK: 0 }),
  cuts: nextOf({ temperature: 1, topK: 0, cuts }),
  'silenced parts': nextOf({ temperature: 1, topK: 0, silenced }),
  'a feed-forward network that gives zeros': nextOf({
    ...{ temperature: 1, topK: 0, silenced: silenced.slice(1, 2), silenceBy: 'zero' },
  }),
});
compare('lens', everyLanguage(lensCode));
const other = [3, 5, 7, 7, 0, 3];
compare(
  'compare',
  Object.fromEntries(
    /** @type {const} */ (['residual', 'attention', 'mlp', 'head']).map((stage) => [
      stage,
      compareCode({ ...ofModel, other, target: 5, stage }, learned('rotary')),
    ]),
  ),
);
compare(
  'contributions',
  everyLanguage((given, model) => contributionsCode({ ...given, target: 5 }, model)),
);
compare(
  'circuits',
  everyLanguage((given, model) => circuitsCode({ ...given, query: 2, key: 1 }, model)),
);
compare('orderLoss', everyLanguage(lossCode));
compare('wall', {
  ...everyLanguage(wallCode),
  masked: wallCode({ ...ofModel, ...masked, causal: false }, learned('rotary')),
});

const positions = { length: 6, width: 8, base: 10000, start: 0, step: 1 };
const farPositions = { length: 3, width: 5, base: 123.5, start: 1_000_000, step: 250 };
compare('encoding', {
  positions: encodingPrograms(positions),
  'far positions': encodingPrograms(farPositions),
});
compare('similarity', {
  positions: similarityPrograms(positions),
  'far positions': similarityPrograms(farPositions),
});
const shift = { length: 9, width: 7, base: 10000, delta: 2.5 };
compare('rotation', {
  rotation: rotationPrograms(shift),
  sines: sinePrograms({ ...shift, delta: 3 }, 1),
  rotary: rotaryPrograms(['cat', '"'], { length: 9, base: 100.5 }),
});
compare('precision', {
  error: errorPrograms({ width: 32, base: 10000, position: 8_388_607 }),
  drift: driftPrograms({ width: 32, base: 10000, start: 8_388_607 }),
  ...Object.fromEntries(
    [null, tokens].flatMap((each) =>
      /** @type {const} */ (['float16', 'bfloat16', 'int8']).map((type) => [
        `${type} of ${each ? 'a sentence' : 'positions'}`,
        bytesPrograms({ ...farPositions, dModel: 16 }, each, type),
      ]),
    ),
  ),
});
compare('scale', { scale: scaleCode() });

/** @type {any} */
const schemes = {
  ...{ heads: 4, head: 2, weights: /** @type {const} */ ('xavier'), seed: 3, base: 100 },
  ...{ factor: 4, trained: 8, clip: 2, causal: false, tokens, dModel: 32 },
};
compare('schemes', {
  ...Object.fromEntries(
    schemeNames.map((scheme) => [scheme, schemePrograms({ ...schemes, scheme }, null)]),
  ),
  'none, language model': schemePrograms(
    { ...ofModel, heads: 4, head: 2, scheme: 'none' },
    learned('rotary'),
  ),
});

const sizes = { n: 64, d: 16, k: 4 };
compare('costs', { costs: costsPrograms(sizes) });
compare('paths', { paths: pathsPrograms({ n: 11, k: 3, first: 9, second: 1 }) });
compare('timings', { timings: timingsPrograms(sizes) });
compare('speed', { speed: speedPrograms(64) });

const points = Array.from({ length: 12 }, (_, i) => ({ x: i * 0.375, y: i % 5 }));
/** @param {any} scoring @param {object} changes */
const pooled = (scoring, changes = {}) =>
  poolingPrograms(scoring, points, {
    ...{ kernelWidth: 0.7, dotInput: 'encoding', additiveWeights: 'byHand', additiveSeed: 3 },
    ...changes,
  });
compare('pooling', {
  ...Object.fromEntries(
    ['gaussian', 'hard', 'boxcar', 'epanechnikov', 'average', 'scaledDot', 'additive'].map(
      (scoring) => [scoring, pooled(scoring)],
    ),
  ),
  'gaussian of width 1': pooled('gaussian', { kernelWidth: 1 }),
  'scaledDot of numbers': pooled('scaledDot', { dotInput: 'number' }),
  'additive with random weights': pooled('additive', { additiveWeights: 'random' }),
});

const target = ['Signé', 'en', 'août', '"', 'en'];
compare(
  'alignment',
  Object.fromEntries(
    ['spelling', 'xavier', 'decoder'].map((alignment) => [
      alignment,
      alignmentCode(
        /** @type {any} */ ({ alignment, seed: 3, sharpness: 0.2 }),
        ['signed', 'in', 'August', '"'],
        target,
      ),
    ]),
  ),
);

/** @type {any} */
const own = {
  ...{ ...plain, ids, tokens: words, layer: 1, head, heads: 2, causal: true, order, edit },
};
const pair = { ...own, types: [0, 0, 0, 1, 1, 1], ...masked };
const joined = { headDim: 8, numHeads: 2, numKvHeads: 1, dModel: 16, joined: true };
/** @type {any} */
const facts = {
  ...{ dModel: 16, numHeads: 2, numLayers: 3 },
  description: { vocabSize: 24, layers: [joined, joined] },
};
compare('own', {
  attention: ownPrograms.attentionCode(own),
  'attention, masked pair': ownPrograms.attentionCode(pair),
  stages: ownPrograms.stagesCode(own, facts),
  block: ownPrograms.encoderBlockCode(own, facts),
  'block, pair': ownPrograms.encoderBlockCode(pair, facts),
  cache: ownPrograms.decoderCacheCode(own, facts),
  ...Object.fromEntries(
    ['q', 'v', 'o'].map((editMatrix) => [
      `edit ${editMatrix}`,
      ownPrograms.editCode({ ...own, editMatrix }, facts),
    ]),
  ),
  loss: ownPrograms.lossCode(own, facts),
  next: ownPrograms.nextWordCode({ ...own, at: 3, temperature: 0.7, topK: 12 }, facts),
  'next, all': ownPrograms.nextWordCode({ ...own, at: 5, temperature: 1, topK: 0 }, facts),
  'next, changed': ownPrograms.nextWordCode(
    { ...own, temperature: 1, topK: 0, cuts, silenced },
    facts,
  ),
  ...Object.fromEntries(
    /** @type {const} */ (['residual', 'head']).map((stage) => [
      `compare, ${stage}`,
      ownPrograms.compareCode({ ...own, other, target: 5, stage }, facts),
    ]),
  ),
  wall: ownPrograms.wallCode({ ...own, wallOrder: 'layer' }, facts),
  'wall, pair': ownPrograms.wallCode({ ...pair, wallOrder: 'induction' }, facts),
  'wall, first': ownPrograms.wallCode({ ...own, wallOrder: 'firstToken' }, facts),
  'wall, same': ownPrograms.wallCode({ ...own, wallOrder: 'sameToken' }, facts),
});

compare(
  'training',
  Object.fromEntries(
    lanes.flatMap((options) => {
      const { world, positions: scheme, decoder = '' } = options;
      const name = `${world}, ${scheme} ${decoder}`.trim();
      const [at, of] = decoder === 'recurrent' ? [0, 0] : [options.layers - 1, options.heads - 1];
      const example = world === 'dates' ? [1, 2, 3, 4, 40, 40] : ids;
      const shown = { ids: Int32Array.from(example), steps: 30, layer: at, head: of };
      const isExample = ['copy, learned', 'dates, none recurrent'].includes(name);
      return [
        [`attention of ${name}`, trainingPrograms(options, shown)],
        ...(isExample ? [[`losses of ${name}`, lossPrograms(options, 30)]] : []),
        ...(scheme === 'learned' && decoder !== 'recurrent'
          ? [[`table of ${name}`, tableProgram(options, 30)]]
          : []),
        ...(world === 'copy' || world === 'repeat'
          ? [[`reach of ${name}`, reachPrograms(/** @type {any} */ (options), 30)]]
          : []),
      ];
    }),
  ),
);
