/**
 * Numbers of a figure as files.
 *
 * @typedef {object} Numbers
 * @property {Float32Array | Float64Array | Int32Array | readonly number[]} data row-major
 * @property {readonly number[]} shape
 */

/**
 * What figures offer: a tensor, or a matrix with rows and columns.
 * @param {{ data: Numbers['data'], shape?: readonly number[], rows?: number, columns?: number }} given
 * @returns {Numbers}
 */
export function numbersOf({ data, shape, rows, columns }) {
  return { data, shape: shape ?? [Number(rows), Number(columns)] };
}

/**
 * Comma-separated values: a line per row, an empty line between matrices. Every number is written
 * with all the digits that it takes to read the same one back.
 * @param {Numbers} numbers
 */
export function toCsv({ data, shape }) {
  const columns = shape.length ? shape[shape.length - 1] : 1;
  const rows = shape.length > 1 ? shape[shape.length - 2] : 1;
  const single = data instanceof Float32Array;
  const lines = [];
  for (let start = 0; start < data.length; start += columns) {
    if (start > 0 && (start / columns) % rows === 0) lines.push('');
    lines.push(
      Array.from(data.slice(start, start + columns), (value) =>
        single ? String(Number(value.toPrecision(9))) : String(value),
      ).join(','),
    );
  }
  return `${lines.join('\n')}\n`;
}

/**
 * NumPy's file format, version 1.0: `numpy.load` reads it.
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
  // Magic string, version and length take 10 bytes; all of it is a multiple of 64, ending in a line feed.
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
 * Hands a file to the reader.
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
