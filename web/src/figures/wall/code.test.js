import { ids, testLanguagePrograms } from '../../../../tests/languagePrograms.js';
import { wall } from '../../models/wall/wall.js';
import { here } from '../../work/tasks/language.js';
import { wallCode } from './code.js';

/** The page's shares for each head of each layer. @param {any} given @param {any} model */
function sharesOnPage(given, model) {
  here.model = model;
  return [...wall({ ...given, ids })].flatMap((progress) =>
    progress && 'layer' in progress
      ? progress.found.shares.flatMap(
          ({ previousToken, firstToken, sameToken, induction, place }) =>
            [previousToken, firstToken, sameToken, induction, place].map(Number),
        )
      : [],
  );
}

for (const [what, masks] of /** @type {const} */ ([
  ['what every head does', {}],
  ['what every head does without a mask', { causal: false }],
  ['what every head does within a window', { causal: false, window: 2, validLen: 5 }],
])) {
  /** @type {import('../../core/sentence.js').SentenceSettings} */
  let given;
  await testLanguagePrograms(
    what,
    (settings, learned) => wallCode((given = { ...settings, ...masks }), learned),
    (model) => sharesOnPage(given, model),
  );
}
