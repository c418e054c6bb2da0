import { modelFile } from '../drawing/files.js';

/**
 * Shells for the programs that figures offer as "code for this picture". Each program is complete,
 * computes one matrix with the figure's current values, and prints it one row per line.
 */

/**
 * A first line that names the file a program needs next to it.
 * @param {string} comment
 * @param {string} body
 */
const neededFile = (comment, body) =>
  /\b(?:loadModel|load_language_model)\(/.test(body)
    ? `${comment} Needs the files of your model beside it: its .safetensors, and config.json.\n`
    : body.includes(modelFile)
      ? `${comment} Needs ${modelFile} beside it: the link above this program saves it.\n`
      : '';

/** @param {{ body: string, result: string }} program result: a tensor (rows, columns) */
export const pythonProgram = ({ body, result }) => `${neededFile('#', body)}import torch

${body.trim()}

for row in ${result}:
    print(*row.tolist())
`;

/**
 * @param {{ body: string, result: string, rows: string, columns: string, includes?: string[] }} program
 *   result: a std::vector<float>
 */
export const cppProgram = ({
  body,
  result,
  rows,
  columns,
  includes = [],
}) => `${neededFile('//', body)}#include <attn/attn.hpp>

${['<cstdint>', '<cstdio>', '<vector>', ...includes]
  .sort()
  .map((header) => `#include ${header}\n`)
  .join('')}
int main() {
${indented(body)}

  for (std::int64_t i = 0; i < ${rows}; ++i) {
    for (std::int64_t j = 0; j < ${columns}; ++j) std::printf("%.9g ", ${result}[i * ${columns} + j]);
    std::printf("\\n");
  }
}
`;

/**
 * @param {{ body: string, result: string, training?: boolean, models?: boolean }} program result:
 *   a tensor
 *   (rows, columns); training, models: additional features to load
 */
export const javascriptProgram = ({
  body,
  result,
  training,
  models,
}) => `${neededFile('//', body)}import { load } from 'attn';

const attn = await load(${training ? '{ training: true }' : models ? '{ models: true }' : ''});
${body.trim()}

const [rows, columns] = ${result}.shape;
for (let i = 0; i < rows; i++) {
  console.log(...${result}.data.subarray(i * columns, (i + 1) * columns));
}
`;

/** @param {string} body */
const indented = (body) => body.trim().replace(/^(?=.)/gm, '  ');

/** Writes a number as a C++ double. @param {number} value */
export const double = (value) =>
  Number.isInteger(value) && value < 1e15 ? `${value}.0` : `${value}`;

/** Writes a text as a literal that is valid in Python, C++ and JavaScript. @param {string} text */
export const literal = (text) => JSON.stringify(text);
