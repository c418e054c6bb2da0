import { ids, testLanguagePrograms } from '../../../../tests/languagePrograms.js';
import { knockOutOf } from '../../core/cuts.js';
import { ablateOf } from '../../core/silence.js';
import { candidates } from '../../models/language/languageModel.js';
import { cutCode, nextWordCode, silenceCode } from './code.js';

const cuts = [
  { layer: 0, head: 1, query: 5, key: 2 },
  { layer: null, head: null, query: 4, key: 1 },
  // This cut leaves the first query without any key.
  { layer: null, head: null, query: 0, key: 0 },
];
const options = { temperature: 0.7, topK: 12 };

await testLanguagePrograms(
  'what may come next',
  (given, learned) => nextWordCode({ ...given, ...options }, learned),
  (model) => {
    const writer = model.writer();
    const next = candidates(writer.next(ids), options);
    writer.dispose();
    return next.slice(0, 10).flatMap(({ id, probability }) => [id, probability]);
  },
);

await testLanguagePrograms(
  'what may come next with cuts',
  (given, learned) => cutCode({ ...given, temperature: 1, topK: 0, cuts }, learned),
  (model) => {
    const { logits } = model.changed(
      ids,
      { knockOut: knockOutOf(cuts, model.config.numLayers) },
      { layer: 0, positions: true },
    );
    const next = candidates(logits, { temperature: 1, topK: 0 });
    return next.slice(0, 10).flatMap(({ id, probability }) => [id, probability]);
  },
);

/** @type {import('../../core/silence.js').Part[]} */
const silenced = [
  { layer: 0, part: 1 },
  { layer: 0, part: 'mlp' },
  { layer: 1, part: 0 },
];
for (const [silenceBy, parts] of /** @type {const} */ ([
  ['mean', silenced],
  ['zero', [...silenced, { layer: 1, part: /** @type {const} */ ('layer') }]],
])) {
  await testLanguagePrograms(
    `what may come next with silenced parts (${silenceBy})`,
    (given, learned) =>
      silenceCode({ ...given, temperature: 1, topK: 0, silenced: parts, silenceBy }, learned),
    (model) => {
      const options = { layer: null, positions: true };
      const { logits } = model.changed(ids, { ablate: ablateOf(parts, silenceBy) }, options);
      const next = candidates(logits, { temperature: 1, topK: 0 });
      return next.slice(0, 10).flatMap(({ id, probability }) => [id, probability]);
    },
  );
}
