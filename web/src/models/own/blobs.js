// In Hugging Face's cache, the files are in the folder `blobs` and are named by their hashes. Their
// real names are symbolic links in `snapshots`. Chromium omits these links if the reader chooses or
// drops a folder. This module recovers the names from the contents of the blobs.

import { pathOf } from './dropped.js';
import { headerOf } from './torchModule.js';

const isBlob = (/** @type {File} */ file) => /(^|\/)blobs\/[0-9a-f]{40,64}$/.test(pathOf(file));

/** Largest JSON file to read, in bytes. */
const mostJson = 100e6;

const severalModels = () =>
  new Error(
    'The folder contains files of several models or revisions, and the browser leaves out the links that show which files belong together. Download the model into its own folder with "hf download owner/name --local-dir folder"',
  );

/** @param {File} blob */
async function jsonOf(blob) {
  if (blob.size > mostJson || (await blob.slice(0, 1).text()) !== '{') return undefined;
  try {
    return JSON.parse(await blob.text());
  } catch {
    return undefined;
  }
}

/** @param {any} json */
function nameOfJson(json) {
  if (json?.weight_map) return 'model.safetensors.index.json';
  if (json?.model_type) return 'config.json';
  return json?.model?.vocab ? 'tokenizer.json' : undefined;
}

/**
 * Returns the files with their names. If the files are from a cache and the browser omitted their
 * real names, restores the names of the model's files.
 * @param {File[]} files
 * @returns {Promise<File[]>}
 */
export async function withNames(files) {
  const blobs = files.filter(isBlob);
  if (!blobs.length || files.some(({ name }) => name.endsWith('.safetensors'))) return files;
  /** @type {Map<string, File>} */
  const found = new Map();
  const add = (/** @type {File} */ blob, /** @type {string} */ name) => {
    if (found.has(name)) throw severalModels();
    found.set(name, new File([blob], name));
  };
  /** @type {{ blob: File, tensor: string }[]} */
  const weights = [];
  /** @type {Record<string, string> | undefined} */
  let shards;
  for (const blob of blobs) {
    const header = await headerOf(blob);
    if (header) {
      weights.push({ blob, tensor: Object.keys(header)[0] });
      continue;
    }
    const json = await jsonOf(blob);
    const name = nameOfJson(json);
    if (name) add(blob, name);
    shards ??= json?.weight_map;
  }
  for (const { blob, tensor } of weights) {
    const name = weights.length > 1 ? shards?.[tensor] : 'model.safetensors';
    if (!name) throw severalModels();
    add(blob, name);
  }
  return [...found.values()];
}
