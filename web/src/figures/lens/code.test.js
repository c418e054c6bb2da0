import { ids, testLanguagePrograms } from '../../../../tests/languagePrograms.js';
import { partsOf } from '../../core/contributions.js';
import { candidates } from '../../models/language/languageModel.js';
import { contributionsCode, lensCode } from './code.js';

await testLanguagePrograms(
  'the probabilities of the most probable tokens after each layer',
  lensCode,
  (model) => {
    const { vocabularySize: width, numLayers } = model.config;
    const reading = model.read(model.embed(ids));
    const after = Array.from(
      { length: numLayers + 1 },
      (_, layer) => model.unembed(reading.stream(layer)).data,
    );
    return ids.flatMap((_, i) =>
      after.map((logits) => {
        const row = logits.subarray(i * width, (i + 1) * width);
        return candidates(row, { temperature: 1, topK: 0 })[0].probability;
      }),
    );
  },
);

await testLanguagePrograms(
  'the contributions to a logit',
  (given, learned) => contributionsCode({ ...given, target: 5 }, learned),
  (model) => partsOf(model.contributions(ids, 5, { positions: true })).map(({ value }) => value),
);
