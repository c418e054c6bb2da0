import { ids, testLanguagePrograms } from '../../../../tests/languagePrograms.js';
import { load } from 'attn';
import { finish } from '../../core/finish.js';
import { Pages } from '../../models/language/pages.js';
import { circuitsCode } from './code.js';

const attn = await load({ threads: 1 });
const at = { query: 4, key: 1 };

await testLanguagePrograms(
  'what a head looks for and what it adds',
  (given, learned) => circuitsCode({ ...given, head: 1, ...at }, learned),
  (model) => {
    const pages = new Pages(attn, model, /** @type {any} */ ({ label: String }));
    const { vocabularySize: drawn } = model.config;
    const given = { token: ids[at.query], layer: 1, head: 1, encoding: 'sinusoidal', ...at, drawn };
    const { matches, promotes } = finish(pages.circuits(given));
    const lists = [matches, promotes].map(
      (each) => each?.most.toSorted((a, b) => a.id - b.id) ?? [],
    );
    return lists[0].flatMap(({ value }, id) => [value, lists[1][id].value]);
  },
);
