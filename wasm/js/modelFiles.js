// The files of a model among those that were given: which they are, and how parts of them are read.

import { argumentError, invalid } from './errors.js';

/** @import { Runtime } from './runtime.js' */
/** @import { Named } from './safetensors.js' */

/** A file, or the bytes of one. @typedef {Blob | ArrayBuffer | Uint8Array} ModelFile */

/**
 * The files of a model: those that were dropped on a page or chosen there, files by path, or one
 * .safetensors file. The model is what lies in the outermost folder that has `….safetensors`, with the
 * `….safetensors.index.json` and the `config.json` of that folder; all else is left alone.
 * @typedef {ModelFile | Iterable<File> | Named<ModelFile>} ModelFiles
 */

/**
 * A file whose parts can be read.
 * @typedef {object} Source
 * @property {string} name
 * @property {string} folder  '' or what ends with a /
 * @property {number} size
 * @property {(begin: number, end: number) => Promise<Uint8Array>} read
 */

/**
 * @param {string} path
 * @param {unknown} file
 * @returns {Source}
 */
function sourceOf(path, file) {
  const name = path.slice(path.lastIndexOf('/') + 1);
  const folder = path.slice(0, path.length - name.length);
  if (typeof Blob === 'function' && file instanceof Blob) {
    const read = async (/** @type {number} */ begin, /** @type {number} */ end) => {
      try {
        return new Uint8Array(await file.slice(begin, end).arrayBuffer());
      } catch (cause) {
        // A file that has changed, or gone, since it was chosen.
        const got = `${name} (${/** @type {any} */ (cause)?.message ?? cause})`;
        throw argumentError('file_error', 'files', got, 'a file that can be read', { cause });
      }
    };
    return { name, folder, size: file.size, read };
  }
  const bytes = file instanceof ArrayBuffer ? new Uint8Array(file) : file;
  if (!(bytes instanceof Uint8Array)) {
    throw invalid(`files.${name}`, file, 'a File, a Blob, an ArrayBuffer or a Uint8Array');
  }
  const read = async (/** @type {number} */ begin, /** @type {number} */ end) =>
    bytes.subarray(begin, end);
  return { name, folder, size: bytes.length, read };
}

/**
 * @param {ModelFiles} files
 * @returns {Source[]}
 */
export function sourcesOf(files) {
  if (files === null || typeof files !== 'object') {
    throw invalid('files', files, 'files, files by name, or one of them');
  }
  const isBlob = typeof Blob === 'function' && files instanceof Blob;
  if (isBlob || files instanceof ArrayBuffer || files instanceof Uint8Array) {
    return [sourceOf('model.safetensors', files)];
  }
  const isIterable = Symbol.iterator in files;
  const given = isIterable ? [.../** @type {Iterable<any>} */ (files)] : Object.entries(files);
  return given.map((file) => {
    const path = file?.webkitRelativePath || file?.name;
    const [name, content] = Array.isArray(file) ? file : [path, file];
    if (typeof name !== 'string') throw invalid('files', file, 'files with names');
    return sourceOf(name, content);
  });
}

const kWeights = '.safetensors';
const kModelFile = /\.safetensors(\.index\.json)?$|^config\.json$/;

/**
 * Those of the outermost folder that has weights: folders within it hold other things than this model.
 * @param {Source[]} sources
 * @returns {Source[]}
 */
function filesOfModel(sources) {
  const depth = (/** @type {Source} */ { folder }) => folder.split('/').length;
  const [first, ...others] = sources
    .filter(({ name }) => name.endsWith(kWeights))
    .sort((a, b) => depth(a) - depth(b));
  if (!first) {
    const names = sources.map(({ name }) => name).join(', ') || 'none';
    throw argumentError('not_found', 'files', names, 'one or more .safetensors files');
  }
  const refuse = (/** @type {string} */ got) =>
    argumentError('invalid_argument', 'files', got, 'those of one model');
  const other = others.find((file) => file.folder !== first.folder && depth(file) === depth(first));
  if (other) throw refuse(`${first.folder + first.name} and ${other.folder + other.name}`);
  const names = new Set();
  return sources.filter(({ name, folder }) => {
    if (folder !== first.folder || !kModelFile.test(name)) return false;
    if (names.has(name)) throw refuse(`${folder + name} twice`);
    return names.add(name);
  });
}

/**
 * The files with the weights, in the order of their index, and the text of config.json, or none.
 * @param {Runtime} runtime
 * @param {Source[]} given
 * @returns {Promise<{ weights: Source[], config: string }>}
 */
export async function filesOf(runtime, given) {
  const sources = filesOfModel(given);
  const textOf = async (/** @type {Source | undefined} */ file) =>
    file ? new TextDecoder().decode(await file.read(0, file.size)) : '';
  const config = await textOf(sources.find(({ name }) => name === 'config.json'));
  let weights = sources.filter(({ name }) => name.endsWith(kWeights));
  const index = sources.find(({ name }) => name.endsWith('.safetensors.index.json'));
  if (index) {
    const text = await textOf(index);
    const names = runtime.call((call) => {
      call.text('index', text);
      call.run('safetensorsIndexFiles');
      return call.givenTexts();
    });
    weights = names.map((name) => {
      const file = weights.find((other) => other.name === name);
      if (file) return file;
      throw argumentError('not_found', 'files', `no ${name}`, `it, which ${index.name} names`);
    });
  }
  return { weights, config };
}
