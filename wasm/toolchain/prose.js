// Prints a random sample of the project's prose without context, for a reader to judge. Leaves out
// equations, commands, examples of code, and rows of numbers.
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
const kThrown =
  /\b(fail(?!_file|_missing|_kept|_row)\w*|refuse|(?!explained|k[A-Z])\w*Error|invalid|mismatch|wrong)\((?:\s*ErrorCode::\w+,|(?<=(?:Attn|argument)Error\()\s*(?:'\w+'|code),)?/g;
const kSentences =
  /\b(?:const sentence =|explainedError\(\s*'\w+',\s*'?\w+'?,)\s*(['"`])((?:(?!\1).)+)\1/g;
/** Attributes that contain no sentence. */
const kAttributes = /\b(?:class|style|d|transform)(?:="[^"]*"|={`[^`]*`})/g;
/** Literals that are code, such as paths, calls and class names. */
const kCode = /\\|=>|[<>]|[\d}]px|\w\(|^[./@#[]|: \w+,$|\?\?|\|\|/;
/** Values in template literals. */
const kInserted = /\$\{(?:[^{}]|\{[^{}]*\})*\}/g;
const kTokens = /(["'`])(?:\\[^]|(?!\1)[^\\])*\1|[\w.:>-]+|\S/g;

/** @param {string} text  @param {RegExp} pattern */
const all = (text, pattern) => [...text.matchAll(pattern)].map((match) => match[1] ?? match[0]);
/**
 * Error messages in a file, with … in place of values.
 * @param {string} file  @param {string} text
 */
function* messages(file, text) {
  const source = text.replace(/(?:validation::)?Name\(("\w+")\)/g, '$1');
  for (const { 0: call, 1: thrower = '', index } of source.matchAll(kThrown)) {
    const parts = [''];
    const open = /** @type {string[]} */ ([]);
    for (const [token, quote] of source.slice(index + call.length).matchAll(kTokens)) {
      if (token === '?') parts.length = 0; // a choice between texts is not a message
      if (token === '?' || (token === ')' && !open.length)) break;
      if ('({['.includes(token)) open.push(token);
      else if (')}]'.includes(token)) open.pop();
      else if (token === ',' && !open.length) parts.push('');
      else if (!open.includes('(') && (quote || /^-?\w/.test(token))) {
        const part = quote
          ? token.slice(1, -1).replaceAll('\\n', ' ').replace(kInserted, '…')
          : '…';
        parts.push((parts.pop() + part.replaceAll('\\', '')).replace('……', '…'));
      }
    }
    if (!parts.at(-1)) parts.pop();
    if (thrower === 'refuse') parts.splice(1, 0, '…');
    if (!/\p{L}{2}.* /u.test(parts.slice(-2).join(' '))) continue;
    const [name, got, needs] = thrower === 'argumentError' ? parts : ['…', '…', ...parts].slice(-3);
    // The functions of the custom elements take the name of the argument and a whole sentence.
    const isNamed = parts.length === 2 && /^(?:mismatch|wrong)$/.test(thrower);
    const isWhole = parts.length < (/Error$|^failure$/.test(thrower) ? 3 : 2);
    if (isNamed) yield parts.join(': ');
    else if (!isWhole) yield `${name}: got ${got}, needs ${needs}`;
    else if (file.endsWith('.js')) yield parts[0];
  }
  for (const [, , sentence] of source.matchAll(kSentences)) {
    yield `…: ${sentence.replace(kInserted, '…')}`;
  }
}

/** Types in JSDoc, with up to two levels of braces. */
const kTypes = /(?<=@\w+ )\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}/g;
/** Tags of JSDoc that contain a type, and perhaps a name, but no text. */
const kBareTags = /@(?:(?:param|template) \[?[\w$.]+(?:=[^\]]*)?\]?|\w+) ?(?=@|$)/g;
/** @param {string} text */
const withoutTypes = (text) =>
  text.replace(/\s+/g, ' ').replace(kTypes, '').replace(/ +/g, ' ').replace(kBareTags, '').trim();

/** Tags, names, code and placeholders. */
const kNotWords = /@(?:param|property|template) \S+|@\w+|`[^`]*`|\{[^}]*\}/g;
/** True for a row of a table in which almost all cells contain a number. @param {string} text */
function isRowOfNumbers(text) {
  const cells = text.split(/(?<!\\)\|/).slice(1, -1);
  const numbers = cells.filter((cell) => /(?<![\w-])\d/.test(cell)).length;
  return cells.length > 2 && 3 * numbers > 2 * cells.length;
}

/**
 * True if a text contains two words next to each other, and is neither code nor a row of numbers.
 * @param {string} text
 */
function isProse(text) {
  const words = text.replace(kNotWords, 'x');
  if (words.startsWith('|') && isRowOfNumbers(words)) return false;
  return (
    /\p{L}{2,} \p{L}+.* ./u.test(words) &&
    !/@(typedef|import|type)\b|^(<reference|eslint|global|-{4}|@ts-\S+) /.test(text)
  );
}

/** @param {string} file  @returns {string[]} */
function items(file) {
  const text = readFileSync(join(kRoot, file), 'utf8');
  if (file.endsWith('.md')) {
    const prose = text.replace(/^ *```[^]*?^ *```/gm, '');
    // Code and rows of tables are not split into sentences.
    const unbroken = prose.replace(/`[^`]*`|^\|.*/gm, (part) => part.replace(/\s/g, '\u00a0'));
    return unbroken.split(/\n\s*\n|(?<=[.:?!])[ \n](?=[A-Z`*[])|\n(?=[|#-]|\d+\. )/);
  }
  if (options.page) {
    const markup = all(text.replace(/<(script|style)[^]*?<\/\1>/g, ''), />([^<>{}]+)</g);
    const written = file.endsWith('.svelte') ? markup : [];
    const literals = all(text.replace(kComments, '').replace(kAttributes, ''), kLiterals);
    const sentences = literals.filter((literal) => !kCode.test(literal));
    return [...written, ...sentences.map((text) => text.slice(1, -1).replace(kInserted, '…'))];
  }
  // A pattern of paths may look like the beginning of a comment.
  const comments = all(text.replaceAll("'**/", "'"), kComments).map((comment) =>
    comment.replace(kMarks, '').replace(/```[^]*?```/g, ''),
  );
  const paragraphs = comments.flatMap((comment) => comment.split(/\n\s*\n/));
  // Equations and commands are indented.
  const sentences = paragraphs.filter((text) => !/^(?:\n? {3}.*)+\s*$/.test(text));
  return [...sentences, ...(/^tests\/wasm|\.test\.js$/.test(file) ? [] : messages(file, text))];
}

// The page's sentences are in the text modules, and in components until they are moved there.
const patterns = options.page
  ? ['web/src/texts/*.js', 'web/src/**.svelte']
  : ['*.[jhm][spd]*', '*.cpp'];
const files = (await command('git', ['ls-files', '--', ...patterns], { cwd: kRoot }))
  .split('\n')
  .filter((file) => file && !(options.page && file.endsWith('.test.js')))
  .filter((file) => !paths.length || paths.some((path) => file.startsWith(path)));
const prose = files.flatMap((file) => items(file).map((text) => ({ file, text })));
const sample = prose
  .map(({ file, text }) => ({ file, text: withoutTypes(text) }))
  .filter(({ text }) => isProse(text));
for (const { file, text } of shuffler(randomLcg(Number(options.seed)))(sample).slice(
  0,
  Number(options.count),
)) {
  console.log(`- ${text}${options.where ? `  [${file}]` : ''}`);
}
