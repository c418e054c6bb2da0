import { ids, testLanguagePrograms } from '../../../../tests/languagePrograms.js';
import { lossCode } from './code.js';

const order = [3, 0, 5, 1, 4, 2];

await testLanguagePrograms(
  'the losses',
  (given, learned) => lossCode({ ...given, order }, learned),
  (model) =>
    [
      model.logProbabilities(ids),
      model.logProbabilities(order.map((i) => ids[i])),
      model.logProbabilities(ids, { positions: false }),
    ].map(
      (logProbabilities) =>
        -logProbabilities.reduce((sum, p) => sum + p, 0) / logProbabilities.length,
    ),
);
