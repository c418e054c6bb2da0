// The language model's training text: Jane Austen's six novels, which are in the public domain, as
// packaged in Debian's r-cran-janeaustenr (the package itself has the MIT licence).

import { execFileSync } from 'node:child_process';

import { requireAll } from '../../wasm/toolchain/system.js';

/** Number of paragraphs in a passage. Every twentieth passage is held out. */
const kPassage = 40;
const kHeldOut = 20;

/** True if a line is a title rather than prose. */
const isHeading = (/** @type {string} */ line) =>
  /^(chapter|volume|by jane austen|the end)\b/i.test(line) || !/\p{Ll}/u.test(line);

/**
 * Reads the paragraphs of the novels, and removes headings, italics markers and line breaks.
 * @returns {Promise<string[]>}
 */
async function paragraphs() {
  await requireAll('to read the novels', ['novels']);
  const program = 'writeLines(enc2utf8(janeaustenr::austen_books()$text), useBytes = TRUE)';
  return execFileSync('Rscript', ['-e', program], { encoding: 'utf8', maxBuffer: 2 ** 26 })
    .split(/\n\s*\n/)
    .map((paragraph) => paragraph.replaceAll('_', '').replace(/\s+/g, ' ').trim())
    .filter((paragraph) => !isHeading(paragraph));
}

/** @returns {Promise<{ training: string, heldOut: string }>} paragraphs, one per line */
export async function readText() {
  const [training, heldOut] = [/** @type {string[]} */ ([]), /** @type {string[]} */ ([])];
  (await paragraphs()).forEach((paragraph, i) => {
    const passage = Math.floor(i / kPassage);
    (passage % kHeldOut === kHeldOut - 1 ? heldOut : training).push(paragraph);
  });
  return { training: training.join('\n'), heldOut: heldOut.join('\n') };
}
