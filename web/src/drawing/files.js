/**
 * Writes the numbers of a figure to files.
 * @typedef {object} Numbers
 * @property {Float32Array | Float64Array | Int32Array | readonly number[]} data row-major
 * @property {readonly number[]} shape
 * @property {readonly string[]} [columns] column names of a table; a matrix has numbered columns
 * @property {readonly string[]} [rowNames] the first column of a table
 * @property {readonly string[]} [words] for a matrix: words of its rows, written as a separate
 *   column
 * @property {readonly string[]} [over] for a matrix: words of its columns, written after their
 *   indices
 */

/** The language model's file, the only file that programs for the page's own models read. */
export const modelFile = 'model.safetensors';

/**
 * Describes the data of a figure: a tensor, a matrix with rows and columns, or a table with column
 * names.
 * @param {{ data: Numbers['data'], shape?: readonly number[], rows?: number, columns?: number,
 *   names?: readonly string[], rowNames?: readonly string[], words?: readonly string[], over?:
 *   readonly string[] }} given
 * @returns {Numbers}
 */
export function numbersOf({ data, shape, rows, columns, names, ...others }) {
  return { data, shape: shape ?? [Number(rows), Number(columns)], columns: names, ...others };
}

/**
 * Labels the rows of one or more matrices, and optionally their columns, with words.
 * @template {{ data: Numbers['data'] }} T
 * @param {T | null | undefined} given
 * @param {readonly string[]} words
 * @param {readonly string[]} [over]
 */
export const ofWords = (given, words, over) => given && { ...given, words, over };

/**
 * Comma-separated values. A header line is followed by one line per row, which begins with the
 * row's indices and has a column for each index of the last dimension. Numbers are written with as
 * many digits as it takes to read the same value back. Missing numbers are empty.
 * @param {Numbers} numbers
 */
export function toCsv({ data, shape, columns: names, rowNames, words, over }) {
  const columns = shape.length ? shape[shape.length - 1] : 1;
  const outer = shape.slice(0, -1);
  const single = data instanceof Float32Array;
  const indices = ['row', 'matrix', 'batch'].slice(0, outer.length).reverse();
  const header =
    names ??
    Array.from({ length: columns }, (_, column) =>
      over ? `${column} ${over[column]}` : String(column),
    );
  const counted = words ? [...indices, 'word'] : indices;
  const lines = [[...(names ? [] : counted), ...header].map(quoted).join(',')];
  for (let start = 0; start < data.length; start += columns) {
    let rest = start / columns;
    const at = outer.toReversed().map((size) => {
      const index = rest % size;
      rest = Math.floor(rest / size);
      return index;
    });
    const values = Array.from(data.slice(start, start + columns), (value) =>
      Number.isNaN(value) ? '' : String(single ? Number(value.toPrecision(9)) : value),
    );
    const word = words ? [quoted(words[at[0]])] : [];
    const first = rowNames
      ? [quoted(rowNames[start / columns])]
      : names
        ? []
        : [...at.reverse(), ...word];
    lines.push([...first, ...values].join(','));
  }
  return `${lines.join('\n')}\n`;
}

/**
 * Spreadsheets interpret text that begins with one of these characters as a formula, unless an
 * apostrophe precedes it.
 */
const formula = /^[=+\-@\t\r]/;

/** @param {string} name */
function quoted(name) {
  const text = formula.test(name) ? `'${name}` : name;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/**
 * NumPy's file format, version 1.0, which `numpy.load` reads.
 * @param {Numbers} numbers
 * @returns {Uint8Array<ArrayBuffer>}
 */
export function toNpy({ data, shape }) {
  const values =
    data instanceof Float32Array || data instanceof Int32Array ? data : Float64Array.from(data);
  const type =
    values instanceof Float32Array ? '<f4' : values instanceof Int32Array ? '<i4' : '<f8';
  const sizes = shape.length === 1 ? `${shape[0]},` : shape.join(', ');
  const fields = `{'descr': '${type}', 'fortran_order': False, 'shape': (${sizes}), }`;
  // Magic string, version and length take 10 bytes. The header's total size is a multiple of 64,
  // and the header ends with a line feed.
  const length = Math.ceil((10 + fields.length + 1) / 64) * 64;
  const header = `${fields.padEnd(length - 11)}\n`;
  const bytes = new Uint8Array(length + values.byteLength);
  bytes.set([0x93, ...new TextEncoder().encode('NUMPY'), 1, 0]);
  new DataView(bytes.buffer).setUint16(8, header.length, true);
  bytes.set(new TextEncoder().encode(header), 10);
  const view = new DataView(bytes.buffer, length);
  values.forEach((value, i) => {
    if (type === '<f4') view.setFloat32(4 * i, value, true);
    else if (type === '<i4') view.setInt32(4 * i, value, true);
    else view.setFloat64(8 * i, value, true);
  });
  return bytes;
}

/**
 * Removes the characters that XML 1.0 forbids, such as control characters copied from PDFs.
 * @param {string} text
 */
export const wellFormed = (text) =>
  text.replace(/[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu, '');

/**
 * Offers a file for download.
 * @param {string} name
 * @param {BlobPart} content
 * @param {string} type
 */
export function download(name, content, type) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([content], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
