import { layer, sentence, setParameter } from '../../programs/calls.js';
import { gap, printMatrix } from '../../programs/print.js';

/** @typedef {import('../../invention/formula.js').Node} Node */
/** @typedef {import('../../programs/print.js').Language} Language */

/**
 * Functions whose names are not `Math.x`, `std::x` and `math.x`.
 * @type {Partial<Record<Language, Record<string, string>>>}
 */
const renamed = {
  cpp: { abs: 'std::abs', mod: 'mod', random: 'random', sign: 'sign', round: 'round' },
  python: {
    abs: 'abs',
    mod: 'mod',
    random: 'random',
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
    random: `def random(a, b):
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
 * @param {readonly import('../../invention/invention.js').Parameter[]} parameters
 */
export function written(tree, language, parameters) {
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
  const call = (/** @type {string} */ name, /** @type {string[]} */ values) => {
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
        const isVariable = ['i', 'j', 'k', 'h', 'n', 'd'].includes(node.name);
        if (isVariable) return language === 'python' && node.name === 'd' ? 'd_model' : node.name;
        return parameter
          ? number(parameter.value)
          : constants[language][/** @type {'pi'} */ (node.name)];
      }
      case 'UnaryExpression':
        if (node.operator === '!') break;
        return node.operator === '-' ? `-(${value(node.argument)})` : value(node.argument);
      case 'BinaryExpression': {
        const { operator, left, right } = node;
        if (compares.test(operator) || joins.test(operator)) break;
        if (operator === '^') return call('pow', [value(left), value(right)]);
        if (operator === '%') return call('mod', [value(left), value(right)]);
        return `(${value(left)} ${operator} ${value(right)})`;
      }
      case 'ConditionalExpression':
        return ternary(truth(node.test), value(node.consequent), value(node.alternate));
      default:
        return call(node.callee.name, node.arguments.map(value));
    }
    return ternary(truth(node), number(1), number(0));
  };
  return value(tree).replace(/^\((.*)\)$/, (all, inner) => (isClosed(inner) ? inner : all));
}

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
 * Programs that add a reader's encoding to the words and a reader's bias to the scores, and print
 * the weights of attention among the words themselves, without projections.
 * @param {import('../../chapters/encoding/Schemes.svelte').Yours} yours
 * @param {{ tokens: string[], dModel: number, causal: boolean }} settings
 */
export function inventedPrograms({ trees, written: { parameters } }, { tokens, dModel, causal }) {
  const { added, bias } = trees;
  const languages = /** @type {const} */ (['python', 'cpp', 'javascript']);
  const of = (/** @type {Node | null} */ tree) =>
    Object.fromEntries(
      languages.map((language) => [language, tree ? written(tree, language, parameters) : '']),
    );
  const [P, b] = [of(added), of(bias)];
  const needed = (/** @type {Language} */ language) =>
    Object.entries(helpers[language])
      .filter(([name]) => new RegExp(`(?<![.:\\w])${name}\\(`).test(P[language] + b[language]))
      .map(([, lines]) => lines)
      .join('\n');
  const uses = (/** @type {string} */ name, /** @type {string} */ text) =>
    new RegExp(`(?<![.:\\w])${name}\\b(?!\\()`).test(text);
  /** @param {string} text @param {Record<string, string>} values */
  const locals = (text, values) => {
    const used = Object.entries(values).filter(([name]) => uses(name, text));
    const list = used.map(([name, from]) => `${name} = static_cast<double>(${from})`).join(', ');
    return list && `const double ${list};`;
  };
  return printMatrix('weights', 'n', 'n', [
    Object.fromEntries(languages.map((each) => [each, needed(each)])),
    ...sentence({ dModel, encoding: 'none', base: 10000 }, tokens),
    gap,
    added && {
      python: `P = torch.tensor([[${P.python} for k in range(d_model)] for i in range(n)])
encoded = x + P`,
      cpp: `std::vector<float> table(n * d_model);
for (std::int64_t row = 0; row < n; ++row) {
  for (std::int64_t column = 0; column < d_model; ++column) {
    ${locals(P.cpp, { i: 'row', k: 'column', n: 'tokens.size()', d: 'd_model' })}
    table[row * d_model + column] = static_cast<float>(${P.cpp});
  }
}`.replace(/\n {4}\n/, '\n'),
      javascript: `const d = dModel;
const table = { data: new Float32Array(n * d), shape: [n, d] };
for (let i = 0; i < n; i++) {
  for (let k = 0; k < d; k++) table.data[i * d + k] = ${P.javascript};
}`,
    },
    added && layer('positions', 'LearnedPositionalEncoding', { maxLength: 'n', dModel: 'dModel' }),
    added && setParameter('positions', 'weight', 'table', ['n', 'dModel']),
    added
      ? {
          cpp: 'positions.forward(view(x), view(x));',
          javascript: 'const encoded = positions.forward(x);',
        }
      : { python: 'encoded = x', javascript: 'const encoded = x;' },
    bias && {
      // For the first head, as on the page.
      python: `h = 0
bias = torch.tensor([[float(${b.python}) for j in range(n)] for i in range(n)])`,
      cpp: `std::vector<float> bias(n * n);
for (std::int64_t row = 0; row < n; ++row) {
  for (std::int64_t column = 0; column < n; ++column) {
    ${locals(b.cpp, { i: 'row', j: 'column', h: '0', n: 'tokens.size()', d: 'd_model' })}
    bias[row * n + column] = static_cast<float>(${b.cpp});
  }
}`.replace(/\n {4}\n/, '\n'),
      javascript: `${added ? '' : 'const d = dModel;\n'}const h = 0;
const bias = { data: new Float32Array(n * n), shape: [n, n] };
for (let i = 0; i < n; i++) {
  for (let j = 0; j < n; j++) bias.data[i * n + j] = ${b.javascript};
}`,
    },
    {
      python: `scores = encoded @ encoded.T / d_model**0.5${bias ? ' + bias' : ''}${
        causal ? '\nscores = scores.masked_fill(torch.ones(n, n).triu(1) > 0, -math.inf)' : ''
      }
weights = scores.softmax(1)`,
      cpp: `
std::vector<float> output(n * d_model), weights(n * n);
const attn::Tensor words(x.data(), {1, 1, n, d_model});
attn::scaled_dot_product_attention(
    words, words, words, attn::Tensor(output.data(), {1, 1, n, d_model}),
    {${bias ? '.bias = attn::Tensor(bias.data(), {n, n}),\n     ' : ''}${causal ? '.causal = true, ' : ''}.weights = attn::Tensor(weights.data(), {1, 1, n, n})});`,
      javascript: `
const { weights } = attn.scaledDotProductAttention(encoded, encoded, encoded, {
  ${causal ? 'causal: true,\n  ' : ''}${bias ? 'bias,\n  ' : ''}needWeights: true,
});`,
    },
  ]);
}
