// Returns the accessibility violations that axe finds on a page, or in parts of it.

import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';

/** @import { Page } from 'playwright-core' */

const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/**
 * Checking the whole page takes seconds. If only parts of the page differ from what another check
 * has seen, name these parts.
 * @param {Page} page
 * @param {string[]} [parts] selectors of the parts to check; by default the whole page. Rules about
 *   the page, such as its landmarks, apply only to the whole page
 */
export async function accessibilityProblems(page, parts) {
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(axe);
  const { violations } = await page.evaluate(
    (parts) =>
      /** @type {any} */ (globalThis).axe.run(parts ? { include: parts } : document, {
        resultTypes: ['violations'],
      }),
    parts,
  );
  return violations.map((/** @type {any} */ { id, nodes }) => [
    id,
    ...nodes.map((/** @type {any} */ node) => node.html.slice(0, 120)),
  ]);
}
