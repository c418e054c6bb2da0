// The language model's training text, from packages of Debian: Jane Austen's six novels
// (r-cran-janeaustenr, public domain), the World English Bible (sword-text-web, public domain), and
// the example sentences of WordNet 3.0 (wordnet-base, licence in LICENSE.wordnet).

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { kWordNetFolder, requireAll } from '../../wasm/toolchain/system.js';

/** Number of paragraphs in a passage. Every twentieth passage is held out. */
const kPassage = 40;
const kHeldOut = 20;

/** @param {string} program @param {string[]} options */
const outputOf = (program, options) =>
  execFileSync(program, options, { encoding: 'utf8', maxBuffer: 2 ** 26 });

/** True if a line is a title rather than prose. */
const isHeading = (/** @type {string} */ line) =>
  /^(chapter|volume|by jane austen|the end)\b/i.test(line) || !/\p{Ll}/u.test(line);

/** The paragraphs of the novels, without headings and italics markers. */
function novels() {
  const program = 'writeLines(enc2utf8(janeaustenr::austen_books()$text), useBytes = TRUE)';
  return outputOf('Rscript', ['-e', program])
    .split(/\n\s*\n/)
    .map((paragraph) => paragraph.replaceAll('_', ''))
    .filter((paragraph) => !isHeading(paragraph.trim()));
}

/** The sentences of the Bible. Each consists of one or more verses. */
function bible() {
  // Every verse begins with a line such as "$$$Genesis 1:1". Verse 0 is an introduction.
  const text = outputOf('mod2imp', ['engWEB2015eb', '-s']);
  return [...text.matchAll(/^\$\$\$.* \d+:[1-9]\d*\n([^$]*)/gm)]
    .map(([, verse]) => verse.trim())
    .filter((verse) => verse)
    .join('\n')
    .split(/(?<=[.?!][’”)\]]*)\n/);
}

/** The examples in the explanations of WordNet. Most are sentences, and some are only phrases. */
function examples() {
  return ['noun', 'verb', 'adj', 'adv'].flatMap((kind) =>
    readFileSync(join(kWordNetFolder, `data.${kind}`), 'latin1')
      .split('\n')
      .flatMap((line) => [...line.matchAll(/(?<=[|;] *)"([^"]+)"/g)].map(([, text]) => text)),
  );
}

/** @returns {Promise<{ training: string, heldOut: string }>} paragraphs, one per line */
export async function readText() {
  await requireAll('to read the texts', ['novels', 'bible', 'wordnet']);
  const [training, heldOut] = [/** @type {string[]} */ ([]), /** @type {string[]} */ ([])];
  for (const paragraphs of [novels(), bible(), examples()]) {
    paragraphs.forEach((paragraph, i) => {
      const text = paragraph.replace(/[‘’]/g, "'").replace(/[“”]/g, '"').replace(/\s+/g, ' ');
      const passage = Math.floor(i / kPassage);
      (passage % kHeldOut === kHeldOut - 1 ? heldOut : training).push(text.trim());
    });
  }
  return { training: training.join('\n'), heldOut: heldOut.join('\n') };
}
