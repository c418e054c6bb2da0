import { ids, testLanguagePrograms } from '../../../../tests/languagePrograms.js';
import { lossCode } from './code.js';

const order = [3, 0, 5, 1, 4, 2];

await testLanguagePrograms(
  'the losses',
  (settings, learned) => lossCode(settings, learned, order),
  (model) =>
    [
      model.foretold(ids),
      model.foretold(order.map((i) => ids[i])),
      model.foretold(ids, { positions: false }),
    ].map((foretold) => -foretold.reduce((sum, p) => sum + p, 0) / foretold.length),
);
