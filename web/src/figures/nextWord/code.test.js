import { ids, testLanguagePrograms } from '../../../../tests/languagePrograms.js';
import { candidates } from '../../models/language/languageModel.js';
import { nextWordCode } from './code.js';

const options = { temperature: 0.7, topK: 12 };

await testLanguagePrograms(
  'what may come next',
  (settings, learned) => nextWordCode(settings, learned, options),
  (model) => {
    const writer = model.writer();
    const next = candidates(writer.next(ids), options);
    writer.dispose();
    return next.slice(0, 10).flatMap(({ id, probability }) => [id, probability]);
  },
);
