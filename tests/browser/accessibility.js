// Returns the accessibility violations that axe finds on a page.

import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';

/** @import { Page } from 'playwright-core' */

const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** @param {Page} page */
export async function accessibilityProblems(page) {
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(axe);
  const { violations } = await page.evaluate(() =>
    /** @type {any} */ (globalThis).axe.run({ resultTypes: ['violations'] }),
  );
  return violations.map((/** @type {any} */ { id, nodes }) => [
    id,
    ...nodes.map((/** @type {any} */ node) => node.html.slice(0, 120)),
  ]);
}
