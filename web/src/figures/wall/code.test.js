import { ids, testLanguagePrograms } from '../../../../tests/languagePrograms.js';
import { Pages } from '../../models/language/pages.js';
import { wall } from '../../models/wall/wall.js';
import { wallCode } from './code.js';

/**
 * The shares of attention that the page computes for each head of each layer.
 * @param {any} given
 * @param {any} model
 */
function sharesOnPage(given, model) {
  const reader = new Pages(/** @type {any} */ (null), model).reader(given);
  return [...wall([reader], { ...given, ids })].flatMap((progress) =>
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
  /** @type {import('../../core/sentence.js').Given} */
  let given;
  await testLanguagePrograms(
    what,
    (settings, learned) => wallCode((given = { ...settings, ...masks }), learned),
    (model) => sharesOnPage(given, model),
  );
}
