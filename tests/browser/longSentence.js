// Helpers for sentences that take longer than a frame to compute.

/** @import { Page } from 'playwright-core' */

const words = ['the', 'cat', 'sat', 'on', 'the', 'mat', 'because', 'it', 'was', 'tired'];
/** @param {number} length */
export const sentence = (length) =>
  Array.from({ length }, (_, i) => words[(i + (i >> 4)) % words.length]).join(' ');

/**
 * Waits until the page shows a sentence of the given length. It does not poll, because polling
 * would take time on the measured thread.
 * @param {Page} page @param {number} length
 */
export const shows = (page, length) =>
  page.evaluate(
    (length) =>
      new Promise((resolve, reject) => {
        const name = `${length} queries by ${length} keys`;
        const check = () => {
          if (document.querySelector('[aria-busy]')) return;
          if (!document.querySelector(`#weights [aria-label$="${name}"]`)) return;
          observer.disconnect();
          resolve(undefined);
        };
        const observer = new MutationObserver(check);
        observer.observe(document.body, {
          ...{ subtree: true, childList: true, attributes: true },
          attributeFilter: ['aria-busy', 'aria-label'],
        });
        setTimeout(() => reject(new Error(`no heatmap of ${name} appeared`)), 120_000);
        check();
      }),
    length,
  );

/** @param {Page} page @param {string} text */
export const write = (page, text) => page.getByRole('textbox').first().fill(text);

/** @param {Page} page */
export const forbidWorkers = (page) =>
  page.evaluate(() => {
    globalThis.Worker = /** @type {any} */ (
      class {
        constructor() {
          throw new Error('workers are forbidden on this page');
        }
      }
    );
  });
