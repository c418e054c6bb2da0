// Selects a model's files from the files that the caller passes, and reads parts of them.

import { explainedError, invalid } from './errors.js';
import { bytesOf, isA, TextDecoder } from './realm.js';

/** @import { Runtime } from './runtime.js' */
/** @import { Named } from './safetensors.js' */

/** A file or its bytes. @typedef {Blob | ArrayBuffer | Uint8Array} ModelFile */

/**
 * The files of a model: files dropped on or chosen in a page, files by path, or one .safetensors
 * file. The model is read from the outermost folder that has a `….safetensors` file, and includes
 * the `….safetensors.index.json` and the `config.json` in that folder. A file without a folder also
 * belongs to that folder, unless the folder has a file with the same name. All other files are
 * ignored, including files with names that begin with a dot. If the folder is from the Hugging Face
 * cache and has several snapshots, `refs/main` selects one.
 * @typedef {ModelFile | Iterable<File> | Named<ModelFile>} ModelFiles
 */

/**
 * A file that can be read in parts.
 * @typedef {object} Source
 * @property {string} name
 * @property {string} folder  '', or a path that ends with a /
 * @property {ModelFile} file
 * @property {number} size
 * @property {(begin: number, end: number) => Promise<Uint8Array>} read
 */

/**
 * @param {unknown} value
 * @returns {value is Blob}
 */
const isBlob = (value) => isA(value, 'Blob') || isA(value, 'File');

/**
 * @param {string} path
 * @param {unknown} file
 * @returns {Source}
 */
function sourceOf(path, file) {
  const name = path.slice(path.lastIndexOf('/') + 1);
  const folder = path.slice(0, path.length - name.length);
  if (isBlob(file)) {
    const read = async (/** @type {number} */ begin, /** @type {number} */ end) => {
      try {
        return new Uint8Array(await file.slice(begin, end).arrayBuffer());
      } catch (cause) {
        // The file may have been changed or deleted since it was chosen.
        const why = /** @type {any} */ (cause)?.message ?? cause;
        const sentence = `${name} cannot be read (${why}); choose it again`;
        throw explainedError('file_error', 'files', sentence, { cause });
      }
    };
    return { name, folder, file, size: file.size, read };
  }
  const bytes = bytesOf(file);
  if (!bytes) {
    throw invalid(`files.${name}`, file, 'a File, a Blob, an ArrayBuffer or a Uint8Array');
  }
  const read = async (/** @type {number} */ begin, /** @type {number} */ end) =>
    bytes.subarray(begin, end);
  return { name, folder, file: bytes, size: bytes.length, read };
}

/**
 * @param {ModelFiles} files
 * @returns {Source[]}
 */
export function sourcesOf(files) {
  if (files === null || typeof files !== 'object') {
    throw invalid('files', files, 'a file, several files, or files by name');
  }
  if (isBlob(files) || isA(files, 'ArrayBuffer') || isA(files, 'Uint8Array')) {
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
const kSnapshot = /^(.*\/)?snapshots\/[^/]+\/$/;

/** @param {Source} source */
const isWeights = ({ name }) =>
  name.endsWith(kWeights) && !name.endsWith(`adapter_model${kWeights}`) && !name.startsWith('.');

/**
 * Returns the text of a file, or '' if `file` is undefined.
 * @param {Source | undefined} file
 */
async function textOf(file) {
  return file ? new TextDecoder().decode(await file.read(0, file.size)) : '';
}

/**
 * Given all files of a folder that has no index, returns the names of the files that contain weights.
 * @param {Runtime} runtime
 * @param {Source[]} sources
 */
function chooseWeights(runtime, sources) {
  const names = sources.map(({ name }) => name);
  return runtime.memory.enter((native) => native.chooseWeightFiles(names));
}

/**
 * Returns the folder of the main revision in a Hugging Face cache. Returns undefined if the cache
 * has no main revision, or if `folder` is not a snapshot in such a cache.
 * @param {Source[]} sources
 * @param {string} folder
 */
async function mainSnapshot(sources, folder) {
  const [isSnapshot, root = ''] = kSnapshot.exec(folder) ?? [];
  if (!isSnapshot) return undefined;
  const main = sources.find((file) => file.folder === `${root}refs/` && file.name === 'main');
  const snapshot = `${root}snapshots/${(await textOf(main)).trim()}/`;
  return sources.some((file) => file.folder === snapshot) ? snapshot : undefined;
}

/**
 * Returns the files of one model. They are in the outermost folder that has weights; files in other folders are
 * ignored.
 * @param {Runtime} runtime
 * @param {Source[]} sources
 * @returns {Promise<Source[]>}
 */
async function filesOfModel(runtime, sources) {
  const depth = (/** @type {Source} */ { folder }) => folder.split('/').length;
  const [first, ...others] = sources.filter(isWeights).sort((a, b) => depth(a) - depth(b));
  if (!first) {
    chooseWeights(runtime, sources);
    return [];
  }
  const reject = (/** @type {string} */ sentence) =>
    explainedError('invalid_argument', 'files', sentence);
  const snapshot = await mainSnapshot(sources, first.folder);
  const other = others.find((file) => file.folder !== first.folder && depth(file) === depth(first));
  if (other && !snapshot) {
    throw reject(
      `${first.folder + first.name} and ${other.folder + other.name} are in different folders; pass the files of one model`,
    );
  }
  /** @type {Map<string, Source>} */
  const found = new Map();
  const visible = sources.filter(({ name }) => !name.startsWith('.'));
  for (const file of visible) {
    const { name, folder } = file;
    if (folder !== (snapshot ?? first.folder)) continue;
    if (found.has(name) && kModelFile.test(name)) {
      throw reject(`"${folder + name}" appears twice; pass each file once`);
    }
    found.set(name, file);
  }
  for (const file of visible) {
    if (file.folder === '' && !found.has(file.name)) found.set(file.name, file);
  }
  return [...found.values()];
}

/**
 * Implements `ModelsAttn.filesOfModel`.
 * @param {Runtime} runtime
 * @param {ModelFiles} files
 * @returns {Promise<Map<string, ModelFile>>}
 */
export async function chooseFiles(runtime, files) {
  const found = await filesOfModel(runtime, sourcesOf(files));
  return new Map(found.map(({ name, file }) => [name, file]));
}

/**
 * Returns the weight files in the order in which the index lists them, and the texts of config.json
 * and of the index. A missing text is ''.
 * @param {Runtime} runtime
 * @param {Source[]} given
 * @returns {Promise<{ weights: Source[], config: string, index: string }>}
 */
export async function filesOf(runtime, given) {
  const sources = (await filesOfModel(runtime, given)).filter(({ name }) => kModelFile.test(name));
  const config = await textOf(sources.find(({ name }) => name === 'config.json'));
  const isWhole = sources.some(({ name }) => name === `model${kWeights}`);
  const indexFile = sources.find(({ name }) => name.endsWith('.safetensors.index.json'));
  const index = isWhole ? '' : await textOf(indexFile);
  const find = (/** @type {string} */ name) => sources.find((file) => file.name === name);
  if (!index) {
    const weights = chooseWeights(runtime, sources).map(find);
    return { weights: /** @type {Source[]} */ (weights), config, index };
  }
  const names = runtime.invoke((call) => {
    const text = call.text('index', index);
    return call.run((native) => native.safetensorsIndexFiles(text.native));
  });
  const weights = names.map((name) => {
    const file = find(name);
    if (file) return file;
    const sentence = `${name} is missing; pass it too, because ${indexFile?.name} lists it`;
    throw explainedError('not_found', 'files', sentence);
  });
  return { weights, config, index };
}
