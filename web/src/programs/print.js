import { modelFile } from '../drawing/files.js';
import { pythonFunctions } from './pythonFunctions.js';
import { indented, snake } from './writers.js';

/**
 * Prints the programs that figures offer as "code for this picture". A figure describes its program
 * once, as a list of calls. Each program is complete, computes one matrix with the figure's current
 * values, and prints it one row per line.
 */

/** @typedef {'python' | 'cpp' | 'javascript'} Language */

/**
 * The lines of a call in each language. A program leaves out calls that have no lines in its
 * language.
 * @typedef {Partial<Record<Language, string>>} Call
 */

/**
 * Programs for a picture by language.
 * @typedef {Partial<Record<'python' | 'cpp' | 'javascript', string>>} Programs
 */

/**
 * Programs with the current values, from a module that is fetched on demand. If there are several
 * variants, `which` names them.
 * @typedef {{ load: () => Promise<any>, of: (module: any, which: number) => Programs, which?:
 *   readonly string[] }} Code
 *
 * Like `Code`, for a figure that chooses the variant by number.
 * @typedef {{ load: () => Promise<any>, of: (module: any, at: number) => Programs }} CodeAt
 */

/** An empty line. @type {Call} */
export const gap = { python: '', cpp: '', javascript: '' };

/**
 * Prints one program for each language in which at least one of the calls is written.
 * @param {(Call | false | null | undefined)[]} calls
 * @param {string} [load] options with which JavaScript loads attn
 * @returns {Record<Language, string>} the programs, by language
 */
export function print(calls, load = '') {
  const bodies = /** @type {const} */ (['python', 'cpp', 'javascript']).map((language) => {
    const body = calls.flatMap((call) => (call || {})[language] ?? []).join('\n');
    return /** @type {const} */ ([language, body.trim().replace(/\n{3,}/g, '\n\n')]);
  });
  return /** @type {Record<Language, string>} */ (
    Object.fromEntries(
      bodies.flatMap(([language, body]) =>
        body ? [[language, neededFile(body, language) + printers[language](body, load)]] : [],
      ),
    )
  );
}

/**
 * Prints a program that computes a matrix and then prints the matrix, one row per line.
 * @param {string} name as written in JavaScript
 * @param {string | number} rows for C++
 * @param {string | number} columns
 * @param {(Call | false | null | undefined)[]} calls
 * @param {string} [load]
 */
export function printMatrix(name, rows, columns, calls, load) {
  const languages = Object.keys(print(calls));
  const [matrix, n, m] = [name, rows, columns].map((each) => snake(String(each)));
  const end = {
    python: `
for row in ${matrix}:
    print(*row.tolist())`,
    cpp: `
for (std::int64_t i = 0; i < ${n}; ++i) {
  for (std::int64_t j = 0; j < ${m}; ++j) std::printf("%.9g ", ${matrix}[i * ${m} + j]);
  std::printf("\\n");
}`,
    javascript: `
const [rows, columns] = ${name}.shape;
for (let i = 0; i < rows; i++) {
  console.log(...${name}.data.subarray(i * columns, (i + 1) * columns));
}`,
  };
  const offered = Object.entries(end).filter(([language]) => languages.includes(language));
  return print([...calls, Object.fromEntries(offered)], load);
}

/** Imports, and a pattern for the Python programs that need them. @type {[string, RegExp][]} */
const modules = [
  ['import calendar', /\bcalendar\./],
  ['import math', /\bmath\./],
  ['import random', /\brandom\.(?:choice|seed)\(/],
  ['import time', /\btime\./],
  ['import numpy as np', /\bnp\./],
  ['import torch', /\btorch\./],
  ['import torch.nn.functional as F', /\bF\./],
  ['from safetensors.torch import load_file', /\bload_file\(/],
];

/** Headers, and a pattern for the programs that need them. @type {[string, RegExp][]} */
const headers = [
  ['algorithm', /std::(?:copy|count|fill|max|max_element|min|reverse_copy|sort|stable_sort)\(/],
  ['array', /std::array\b/],
  ['chrono', /std::chrono\b/],
  ['cmath', /std::(?:abs|ceil|floor|trunc|sqrt|exp|log(?:2|10)?|pow|atan2|a?(?:sin|cos|tan)h?)\(/],
  ['cstdint', /std::u?int\d+_t\b/],
  ['cstdio', /std::printf\(/],
  ['initializer_list', /std::initializer_list\b/],
  ['numeric', /std::(?:accumulate|iota)\(/],
  ['string', /std::(?:string|to_string)\b/],
  ['string_view', /std::string_view\b/],
  ['vector', /std::vector\b/],
];

/** @type {Record<Language, (body: string, load: string) => string>} */
const printers = {
  python(body) {
    const functions = pythonFunctions(body);
    const used = modules.filter(([, use]) => use.test(functions + body));
    const imports = used.map(([line]) => `${line}\n`).join('');
    return [imports, functions, `${body}\n`].filter(Boolean).join('\n');
  },
  cpp(body) {
    const used = headers.filter(([, use]) => use.test(body));
    const includes = used.map(([name]) => `#include <${name}>\n`).join('');
    return `#include <attn/attn.hpp>\n\n${includes}\nint main() {\n${indented(body, 2)}\n}\n`;
  },
  javascript: (body, load) =>
    `import { load } from 'attn';\n\nconst attn = await load(${load});\n${body}\n`,
};

/**
 * The first line of a program, which names the file that must be next to the program.
 * @param {string} body
 * @param {Language} language
 */
function neededFile(body, language) {
  const comment = language === 'python' ? '#' : '//';
  return /\b(?:loadModel|load_language_model)\(/.test(body)
    ? `${comment} Needs the files of your model in the same folder: .safetensors and config.json.\n`
    : body.includes(modelFile)
      ? `${comment} Needs ${modelFile} in the same folder; the link above this program saves it.\n`
      : '';
}
