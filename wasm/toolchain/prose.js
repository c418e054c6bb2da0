// Prints a random sample of the project's prose without its context, for a reader to judge.
//
//   npm run prose -- --seed 1 --count 100         comments, error messages and documentation
//   npm run prose -- --page                       sentences of the page
//   npm run prose -- --where core README.md       these folders and files only, with file names

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { shuffler } from 'd3-array';
import { randomLcg } from 'd3-random';

import { kRoot } from './checkout.js';
import { command } from './system.js';

const { values: options, positionals: paths } = parseArgs({
  allowPositionals: true,
  options: {
    seed: { type: 'string', default: '1' },
    count: { type: 'string', default: '60' },
    page: { type: 'boolean', default: false },
    where: { type: 'boolean', default: false },
  },
});

const kComments =
  /^[ \t]*\/\/.*(?:\n[ \t]*\/\/.*)*|\/\*[^]*?\*\/|\/\/\/<.*(?:\n[ \t]*\/\/\/<.*)*/gm;
const kMarks = /^[ \t]*(?:\/\/+<?|\/?\*+\/?)|\*\/$/gm;
const kLiterals = /'[^'\n]{3,}'|`[^`]{3,}`|"[^"\n]{3,}"(?:\s*"[^"\n]+")*/g;
const kThrown = /(?:fail\w*|Error|reject\w*|refuse\w*)\(([^]*?)\);/g;

/** @param {string} text  @param {RegExp} pattern */
const all = (text, pattern) => [...text.matchAll(pattern)].map((match) => match[1] ?? match[0]);
/** @param {string} text */
const isProse = (text) => /\p{L}{2,} \S+ \S+/u.test(text) && !/@(typedef|import|type)\b/.test(text);

/** @param {string} file  @returns {string[]} */
function items(file) {
  const text = readFileSync(join(kRoot, file), 'utf8');
  if (file.endsWith('.md')) {
    const prose = text.replace(/^```[^]*?^```/gm, '');
    return prose.split(/\n\s*\n|(?<=[.:?!]) (?=[A-Z`*[])|\n(?=[|#-])/);
  }
  if (options.page) {
    const markup = all(text.replace(/<(script|style)[^]*?<\/\1>/g, ''), />([^<>{}]+)</g);
    const written = file.endsWith('.svelte') ? markup : [];
    const literals = all(text.replace(kComments, ''), kLiterals);
    return [...written, ...literals.filter((literal) => !literal.includes('\\'))];
  }
  const comments = all(text, kComments).map((comment) => comment.replace(kMarks, ''));
  const messages = all(text, kThrown).flatMap((thrown) => all(thrown, kLiterals));
  return [...comments.flatMap((comment) => comment.split(/\n\s*\n/)), ...messages];
}

const patterns = options.page ? ['web/src/**.js', 'web/src/**.svelte'] : ['*.[jhm][spd]*', '*.cpp'];
const files = (await command('git', ['ls-files', '--', ...patterns], { cwd: kRoot }))
  .split('\n')
  .filter((file) => file && !(options.page && file.endsWith('.test.js')))
  .filter((file) => !paths.length || paths.some((path) => file.startsWith(path)));
const prose = files.flatMap((file) => items(file).map((text) => ({ file, text })));
const sample = prose
  .map(({ file, text }) => ({ file, text: text.replace(/(?<=@\w+ )\{[^}]*\}+|\s+/g, ' ').trim() }))
  .filter(({ text }) => isProse(text));
for (const { file, text } of shuffler(randomLcg(Number(options.seed)))(sample).slice(
  0,
  Number(options.count),
)) {
  console.log(`- ${text}${options.where ? `  [${file}]` : ''}`);
}
