import { modelFile } from '../drawing/files.js';
import { pythonFunctions } from './pythonCode.js';
import { indented, snake } from './writers.js';

/**
 * Prints the programs that figures offer as "code for this picture". A figure describes its program
 * once, as a list of calls. Each program is complete, computes one matrix with the figure's current
 * values, and prints it one row per line.
 */

/** @typedef {'python' | 'cpp' | 'javascript'} Language */

/**
 * The lines of a call in each language. A language leaves out a call that has no lines in it.
 * @typedef {Partial<Record<Language, string>>} Call
 */

/**
 * The printed matrix: its name, as written in JavaScript, and its rows and columns for C++. Also
 * the options with which JavaScript loads attn. Without a result, the calls print themselves.
 * @typedef {{ result?: string, rows?: string | number, columns?: string | number, load?: string }}
 *   Printed
 */

/** An empty line. @type {Call} */
export const gap = { python: '', cpp: '', javascript: '' };

/**
 * Prints a program in each language that its calls have lines in.
 * @param {(Call | false | null | undefined)[]} calls
 * @param {Printed} [printed]
 * @returns {Record<Language, string>} without the other languages
 */
export function print(calls, printed = {}) {
  const programs = /** @type {Record<Language, string>} */ ({});
  for (const [language, printer] of Object.entries(printers)) {
    const each = /** @type {Language} */ (language);
    const body = calls.flatMap((call) => (call || {})[each] ?? []).join('\n');
    const text = body.trim().replace(/\n{3,}/g, '\n\n');
    if (text)
      programs[each] = neededFile(text, each === 'python' ? '#' : '//') + printer(text, printed);
  }
  return programs;
}

/** Imports, and what a Python program that needs them contains. @type {[string, RegExp][]} */
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

/** Headers, and what a program that uses them contains. @type {[string, RegExp][]} */
const headers = [
  ['algorithm', /std::(?:copy|count|fill|max|max_element|min|reverse_copy|sort|stable_sort)\(/],
  ['array', /std::array\b/],
  ['chrono', /std::chrono\b/],
  ['cmath', /std::(?:abs|ceil|cos|exp|log|pow|sin)\(/],
  ['cstdint', /std::u?int\d+_t\b/],
  ['cstdio', /std::printf\(/],
  ['initializer_list', /std::initializer_list\b/],
  ['numeric', /std::(?:accumulate|iota)\(/],
  ['string', /std::(?:string|to_string)\b/],
  ['string_view', /std::string_view\b/],
  ['vector', /std::vector\b/],
];

/** @type {Record<Language, (body: string, printed: Printed) => string>} */
const printers = {
  python(body, { result }) {
    const text = result
      ? `${body}\n\nfor row in ${snake(result)}:\n    print(*row.tolist())\n`
      : `${body}\n`;
    const functions = pythonFunctions(text);
    const used = modules.filter(([, use]) => use.test(functions + text));
    const imports = used.map(([line]) => `${line}\n`).join('');
    return [imports, functions, text].filter(Boolean).join('\n');
  },
  cpp(body, { result, rows, columns }) {
    const name = snake(result ?? '');
    const [n, m] = [rows, columns].map((each) => snake(String(each)));
    const end = `
for (std::int64_t i = 0; i < ${n}; ++i) {
  for (std::int64_t j = 0; j < ${m}; ++j) std::printf("%.9g ", ${name}[i * ${m} + j]);
  std::printf("\\n");
}`;
    const text = `int main() {\n${indented(result ? `${body}\n${end}` : body, 2)}\n}\n`;
    const used = headers.filter(([, use]) => use.test(text));
    return `#include <attn/attn.hpp>\n\n${used.map(([name]) => `#include <${name}>\n`).join('')}\n${text}`;
  },
  javascript: (body, { result, load = '' }) => `import { load } from 'attn';

const attn = await load(${load});
${body}
${
  result
    ? `
const [rows, columns] = ${result}.shape;
for (let i = 0; i < rows; i++) {
  console.log(...${result}.data.subarray(i * columns, (i + 1) * columns));
}
`
    : ''
}`,
};

/**
 * A first line that names the file a program needs next to it.
 * @param {string} body
 * @param {string} comment
 */
const neededFile = (body, comment) =>
  /\b(?:loadModel|load_language_model)\(/.test(body)
    ? `${comment} Needs the files of your model beside it: its .safetensors, and config.json.\n`
    : body.includes(modelFile)
      ? `${comment} Needs ${modelFile} beside it: the link above this program saves it.\n`
      : '';
