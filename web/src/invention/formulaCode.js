// Writes formulas in the languages of the programs that figures offer.

import { parse } from './formula.js';
import { namesOf, variables } from './invention.js';

/** @typedef {import('./formula.js').Node} Node */
/** @typedef {import('../programs/print.js').Language} Language */

const languages = /** @type {const} */ (['python', 'cpp', 'javascript']);

/**
 * Functions whose names are not `Math.x`, `std::x` and `math.x`.
 * @type {Partial<Record<Language, Record<string, string>>>}
 */
const renamed = {
  cpp: { abs: 'std::abs', mod: 'mod', random: 'random', sign: 'sign', round: 'round' },
  python: {
    abs: 'abs',
    mod: 'mod',
    random: 'hashed',
    sign: 'sign',
    round: 'rounded',
    min: 'min',
    max: 'max',
  },
  javascript: { mod: 'mod', random: 'random' },
};
const prefix = { cpp: 'std::', python: 'math.', javascript: 'Math.' };
const constants = {
  cpp: { pi: 'std::acos(-1.0)', e: 'std::exp(1.0)' },
  python: { pi: 'math.pi', e: 'math.e' },
  javascript: { pi: 'Math.PI', e: 'Math.E' },
};

/** Definitions of functions that a language lacks. @type {Record<Language, Record<string, string>>} */
const helpers = {
  javascript: {
    mod: 'const mod = (a, b) => a - b * Math.floor(a / b);',
    random: `const random = (a, b) => {
  const whole = (value) => Math.floor(value) | 0;
  let hash = (Math.imul(whole(a), 0x9e3779b1) + Math.imul(whole(b), 0x85ebca77) + 0x165667b1) | 0;
  hash = Math.imul(hash ^ (hash >>> 16), 0x7feb352d);
  hash = Math.imul(hash ^ (hash >>> 15), 0x846ca68b);
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32;
};`,
  },
  cpp: {
    mod: 'const auto mod = [](double a, double b) { return a - b * std::floor(a / b); };',
    sign: 'const auto sign = [](double a) { return a > 0 ? 1.0 : a < 0 ? -1.0 : a; };',
    round: 'const auto round = [](double a) { return std::floor(a + 0.5); };',
    random: `const auto random = [](double a, double b) {
  const auto whole = [](double x) {
    return static_cast<std::uint32_t>(static_cast<std::int64_t>(std::floor(x)));
  };
  std::uint32_t hash = whole(a) * 0x9e3779b1U + whole(b) * 0x85ebca77U + 0x165667b1U;
  hash = (hash ^ hash >> 16) * 0x7feb352dU;
  hash = (hash ^ hash >> 15) * 0x846ca68bU;
  return (hash ^ hash >> 16) / 4294967296.0;
};`,
  },
  python: {
    mod: 'def mod(a, b):\n    return a - b * math.floor(a / b)\n',
    sign: 'def sign(a):\n    return (a > 0) - (a < 0)\n',
    rounded: 'def rounded(a):\n    return math.floor(a + 0.5)\n',
    hashed: `def hashed(a, b):
    low = 0xFFFFFFFF
    h = (math.floor(a) * 0x9E3779B1 + math.floor(b) * 0x85EBCA77 + 0x165667B1) & low
    h = (h ^ h >> 16) * 0x7FEB352D & low
    h = (h ^ h >> 15) * 0x846CA68B & low
    return (h ^ h >> 16) / 2**32
`,
  },
};

/**
 * Writes a formula in a language, with the values of its parameters.
 * @param {Node} tree
 * @param {Language} language
 * @param {readonly import('./invention.js').Parameter[]} parameters
 */
function valueOf(tree, language, parameters) {
  const number = (/** @type {number} */ value) => {
    const text = String(value);
    return language === 'cpp' && /^-?\d+$/.test(text) ? `${text}.0` : text;
  };
  const compares = /^([<>]=?|[!=]=)$/;
  const joins = /^(&&|\|\|)$/;
  const ternary = (
    /** @type {string} */ test,
    /** @type {string} */ yes,
    /** @type {string} */ no,
  ) => (language === 'python' ? `(${yes} if ${test} else ${no})` : `(${test} ? ${yes} : ${no})`);
  const call = (/** @type {string} */ name, /** @type {Node[]} */ nodes) => {
    const values = nodes.map((node) => bare(value(node)));
    const known = /** @type {Record<string, string>} */ (renamed[language] ?? {})[name];
    const isMany = language === 'cpp' && (name === 'min' || name === 'max');
    return `${known ?? prefix[language] + name}(${isMany ? `{${values.join(', ')}}` : values.join(', ')})`;
  };
  /** @param {Node} node @returns {string} a truth value */
  const truth = (node) => {
    if (node.type === 'BinaryExpression' && compares.test(node.operator)) {
      const equals = language === 'javascript' && /^[!=]=$/.test(node.operator) ? '=' : '';
      return `${value(node.left)} ${node.operator}${equals} ${value(node.right)}`;
    }
    if (node.type === 'BinaryExpression' && joins.test(node.operator)) {
      const word = node.operator === '&&' ? 'and' : 'or';
      const operator = language === 'python' ? word : node.operator;
      return `((${truth(node.left)}) ${operator} (${truth(node.right)}))`;
    }
    if (node.type === 'UnaryExpression' && node.operator === '!') {
      return `${language === 'python' ? 'not ' : '!'}(${truth(node.argument)})`;
    }
    return `${value(node)} ${language === 'javascript' ? '!==' : '!='} 0`;
  };
  /** @param {Node} node @returns {string} a number */
  const value = (node) => {
    switch (node.type) {
      case 'Literal':
        return number(node.value);
      case 'Identifier': {
        const parameter = parameters.find(({ name }) => name === node.name);
        const constant = constants[language][/** @type {'pi'} */ (node.name)];
        return parameter ? number(parameter.value) : (constant ?? node.name);
      }
      case 'UnaryExpression':
        if (node.operator === '!') break;
        return node.operator === '-' ? `-(${value(node.argument)})` : value(node.argument);
      case 'BinaryExpression': {
        const { operator, left, right } = node;
        if (compares.test(operator) || joins.test(operator)) break;
        if (operator === '^') return call('pow', [left, right]);
        if (operator === '%') return call('mod', [left, right]);
        return `(${value(left)} ${operator} ${value(right)})`;
      }
      case 'ConditionalExpression':
        return ternary(truth(node.test), value(node.consequent), value(node.alternate));
      default:
        return call(node.callee.name, node.arguments);
    }
    return ternary(truth(node), number(1), number(0));
  };
  return bare(value(tree));
}

/** Removes parentheses around a whole expression. @param {string} text */
const bare = (text) => text.replace(/^\((.*)\)$/, (all, inner) => (isClosed(inner) ? inner : all));

/** True if each parenthesis has its partner within the text. @param {string} text */
function isClosed(text) {
  let depth = 0;
  for (const letter of text) {
    if (letter === '(') depth++;
    if (letter === ')' && --depth < 0) return false;
  }
  return true;
}

/**
 * Defines the formulas as functions of their variables: P for the encoding and b for the bias.
 * Includes the functions that a language lacks.
 * @param {import('./invention.js').Written} written
 * @returns {import('../programs/print.js').Call}
 */
export function formulaFunctions(written) {
  const fields = /** @type {const} */ (['added', 'bias']).filter((field) => written[field].trim());
  return Object.fromEntries(
    languages.map((language) => {
      const functions = fields.map((field) => {
        const tree = parse(written[field], namesOf(field, written));
        return definition(language, field, valueOf(tree, language, written.parameters));
      });
      const isUsed = (/** @type {string} */ name) =>
        functions.some((lines) => new RegExp(`(?<![.:\\w])${name}\\(`).test(lines));
      const needed = Object.entries(helpers[language]).filter(([name]) => isUsed(name));
      return [language, [...needed.map(([, lines]) => lines), ...functions].join('\n')];
    }),
  );
}

/**
 * @param {Language} language
 * @param {import('./invention.js').Field} field
 * @param {string} value
 */
function definition(language, field, value) {
  const name = field === 'added' ? 'P' : 'b';
  const names = variables[field];
  if (language === 'javascript') return `const ${name} = (${names.join(', ')}) => ${value};`;
  if (language === 'python') return `def ${name}(${names.join(', ')}):\n    return ${value}\n`;
  // C++ compilers warn about named parameters that are not used.
  const isUsed = (/** @type {string} */ each) =>
    new RegExp(`(?<![.:\\w])${each}\\b(?!\\()`).test(value);
  const parameters = names.map((each) => (isUsed(each) ? `double ${each}` : 'double')).join(', ');
  return `const auto ${name} = [&](${parameters}) {\n  return ${value};\n};`;
}
