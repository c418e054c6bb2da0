/**
 * Three tags for template literals. Each tag writes lists, Booleans and objects of options in the
 * syntax of its language. Long objects of options take several lines. A string in the options is
 * written as an expression. Names are given as in JavaScript, and the tag for C++ turns `dModel`
 * into `d_model`. Options without a value are left out. If no option has a value, the whole
 * argument is left out.
 */

/** @typedef {Record<string, any>} Options */

/** Options whose value is one of several names, and their types in C++. @type {Options} */
const choices = { activation: 'Activation', pairing: 'RotaryPairing' };
const quoted = /^(activation|init|padding|pairing|scoring|type)$/;

/** Options whose type C++ does not infer. @type {Record<string, (options: Options) => string>} */
const types = {
  rotary: () => 'RotaryEmbeddingOptions',
  scaling: ({ type }) => `${capital(type === 'dynamic' ? 'dynamicNtk' : type)}RotaryScaling`,
  t5Bias: () => 'T5BiasOptions',
  window: () => 'Window',
};

/** @param {string} name */
const capital = (name) => name[0].toUpperCase() + name.slice(1);

/** A name in the style of C++ and Python. @param {string} name */
export const snake = (name) =>
  /^[a-z]\w*$/.test(name)
    ? name.replace(/(?<=[a-z\d])[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
    : name;

/** A number as a C++ double. @param {number} value */
export const double = (value) =>
  Number.isInteger(value) && value < 1e15 ? `${value}.0` : `${value}`;

/** A number as a C++ float. @param {number} value */
export const float = (value) => `${Number.isInteger(value) ? value.toFixed(1) : value}F`;

/** A text as a literal that is valid in Python, C++ and JavaScript. @param {string} text */
export const literal = (text) => JSON.stringify(text);

/** Indents lines by a number of spaces. @param {string} text @param {number} by */
export const indented = (text, by) => text.replace(/^(?=.)/gm, ' '.repeat(by));

/** @param {any} value @returns {value is Options} */
const isOptions = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Options that have a value. @param {Options} options @returns {[string, any][]} */
const given = (options) =>
  Object.entries(options).filter(
    ([name, value]) =>
      value !== undefined && (!isOptions(value) || name in types || given(value).length > 0),
  );

const longest = 94;

/** @param {any} value @param {number} column @param {number} indent @returns {string} */
function javascript(value, column, indent) {
  if (Array.isArray(value)) return `[${value.join(', ')}]`;
  if (!isOptions(value)) return String(value);
  const write = (/** @type {number} */ from) =>
    given(value).map(([name, each]) =>
      quoted.test(name)
        ? `${name}: '${each}'`
        : each === name
          ? name
          : `${name}: ${javascript(each, from + name.length + 2, indent + 2)}`,
    );
  const line = write(-Infinity).join(', ');
  if (column + line.length <= longest) return line ? `{ ${line} }` : '{}';
  const start = ' '.repeat(indent + 2);
  return `{\n${write(indent + 2)
    .map((each) => `${start}${each},\n`)
    .join('')}${' '.repeat(indent)}}`;
}

/** @param {any} value @param {number} column @returns {string} */
function cpp(value, column) {
  if (Array.isArray(value)) return `{${value.map((each) => snake(String(each))).join(', ')}}`;
  if (!isOptions(value)) return snake(String(value));
  const write = (/** @type {number} */ from) =>
    given(value)
      .filter(([name]) => name !== 'init' && name !== 'type')
      .map(([name, each]) => {
        if (name in choices) return `.${name} = attn::${choices[name]}::k${capital(each)}`;
        const start = `.${snake(name)} = ${isOptions(each) && name in types ? `attn::${types[name](each)}` : ''}`;
        const isReal = /^(base|factor)$/.test(name) && typeof each === 'number';
        return start + (isReal ? double(each) : cpp(each, from + start.length));
      });
  const line = write(-Infinity).join(', ');
  return column + line.length <= longest
    ? `{${line}}`
    : `{${write(column + 1).join(`,\n${' '.repeat(column + 1)}`)}}`;
}

/** @param {any} value @returns {string} */
const python = (value) =>
  Array.isArray(value)
    ? `[${value.map(python).join(', ')}]`
    : typeof value === 'boolean'
      ? capital(String(value))
      : String(value);

/** The column after the last open parenthesis of a line. @param {string} line */
function openedAt(line) {
  let depth = 0;
  for (let i = line.length - 1; i >= 0; i--) {
    if (line[i] === ')') depth++;
    else if (line[i] === '(' && depth-- === 0) return i + 1;
  }
  return 4;
}

/**
 * True if no line is too long.
 * @param {string} text
 * @param {number} start column at which the first line starts
 */
const isNarrow = (text, start) =>
  text.split('\n').every((line, i) => line.length + (i ? 0 : start) <= longest + 2);

/** @param {(value: any, column: number, indent: number) => string} write */
const tag =
  (write) =>
  (/** @type {TemplateStringsArray} */ texts, /** @type {any[]} */ ...values) =>
    texts.reduce((before, text, i) => {
      const value = values[i - 1];
      if (isOptions(value) && before.endsWith(', ') && given(value).length === 0)
        return before.slice(0, -2) + text;
      const line = before.slice(before.lastIndexOf('\n') + 1);
      const written = write(value, line.length, line.search(/\S|$/));
      const isShort = !written.includes('\n') && isNarrow(written, line.length);
      if (write !== cpp || isShort || !isOptions(value)) return before + written + text;
      // In C++, long options that follow an argument go on a new line. They start below the first
      // argument if they fit there. Otherwise the new line is indented by 4 more columns.
      const next = 4 + line.search(/\S|$/);
      const starts = before.endsWith(', ') ? [openedAt(line), next] : [line.length, next];
      const at = starts.find((start) => isNarrow(write(value, start, 0), start)) ?? next;
      return at === line.length
        ? before + written + text
        : `${before.trimEnd()}\n${' '.repeat(at)}${write(value, at, 0)}${text}`;
    });

/** The template tag for JavaScript. */
export const js = tag(javascript);

/** The template tag for C++. */
export const cxx = tag(cpp);

/** The template tag for Python. */
export const py = tag(python);
