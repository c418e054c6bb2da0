// Checks that the code that computes the page's data does not depend on how the data is shown.
// Static imports, dynamic imports and modules named in types count as dependencies.

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import test from 'node:test';

const source = import.meta.dirname;

/** Files, and the files that they must not depend on. */
const rules = [
  {
    files: /^(core|host|invention|models|programs|state|work)\/|^training\/(?!equations).*\.js$/,
    others: /^(chapters|controls|elements|figures|frame|story)\/|\.svelte$/,
  },
  {
    files: /^(controls|drawing|figures|measurement|story|training)\//,
    others: /^(chapters|elements)\//,
  },
  // Figures get their selections and the theme from chapters.
  { files: /^figures\/.*\.svelte$/, others: /^state\// },
];

for (const { files, others } of rules) {
  test(`files of ${files.source} depend on none of ${others.source}`, () => {
    const found = readdirSync(source, { recursive: true, encoding: 'utf8' })
      .map((file) => file.replaceAll(sep, '/'))
      .filter((file) => /(?<!\.test)\.(js|svelte|ts)$/.test(file) && files.test(file))
      .flatMap((file) => {
        const text = readFileSync(join(source, file), 'utf8');
        return Array.from(text.matchAll(/\b(?:from|import)[\s(]+'(\.[^']*)'/g), ([, to]) => {
          const path = relative(source, join(source, dirname(file), to));
          return [file, path.replaceAll(sep, '/')];
        });
      });
    assert.ok(found.length > 9);
    assert.deepEqual(
      found.filter(([, to]) => others.test(to)),
      [],
    );
  });
}
