/**
 * The dropped files, and files in dropped folders at any depth. Each file has a path, as if its
 * folder had been chosen in a dialog.
 * @param {DataTransfer} transfer
 * @returns {Promise<File[]>}
 */
export async function filesOfDrop(transfer) {
  // Read all items now, because the list is empty after an await.
  const items = [...transfer.items].filter(({ kind }) => kind === 'file');
  const found = items.map((item) => ({ entry: item.webkitGetAsEntry?.(), file: item.getAsFile() }));
  const files = await Promise.all(
    found.map(({ entry, file }) =>
      entry?.isDirectory ? filesWithin(/** @type {any} */ (entry)) : file ? [file] : [],
    ),
  );
  return files.flat();
}

/** @param {FileSystemDirectoryEntry} folder @returns {Promise<File[]>} */
async function filesWithin(folder) {
  const entries = await entriesOf(folder);
  const files = await Promise.all(
    entries.map((each) =>
      each.isDirectory ? filesWithin(/** @type {any} */ (each)) : fileOf(/** @type {any} */ (each)),
    ),
  );
  return files.flat();
}

/** @param {FileSystemFileEntry} entry @returns {Promise<File>} */
async function fileOf(entry) {
  const file = await new Promise((/** @type {(file: File) => void} */ resolve, reject) =>
    entry.file(resolve, reject),
  );
  // The browser sets this path only for files that are chosen in a dialog.
  return Object.defineProperty(file, 'webkitRelativePath', { value: entry.fullPath.slice(1) });
}

/** @param {FileSystemDirectoryEntry} folder */
async function entriesOf(folder) {
  const reader = folder.createReader();
  /** @type {FileSystemEntry[]} */
  const all = [];
  for (;;) {
    // Entries arrive in batches. An empty batch is the last.
    const some = await new Promise(
      (/** @type {(entries: FileSystemEntry[]) => void} */ resolve, reject) =>
        reader.readEntries(resolve, reject),
    );
    if (!some.length) return all;
    all.push(...some);
  }
}

/** The path of a file. @param {File} file */
export const pathOf = ({ webkitRelativePath, name }) => webkitRelativePath || name;

/** @param {File} file */
const isWeights = ({ name }) => name.endsWith('.safetensors');

/** @param {File} file */
const isShard = ({ name }) => /-\d+-of-\d+\.safetensors$/.test(name);

/**
 * Collects a model's files, which may be given one at a time and in any order. A file replaces an
 * earlier file with the same path, and complete weights replace all earlier weights.
 * @param {readonly File[]} before
 * @param {readonly File[]} chosen
 */
export function collected(before, chosen) {
  const isModel = chosen.some(isWeights) && chosen.some(({ name }) => name === 'config.json');
  if (isModel) return [...chosen];
  const paths = new Set(chosen.map(pathOf));
  const hasWeights = chosen.some((file) => isWeights(file) && !isShard(file));
  const kept = before.filter(
    (file) => !paths.has(pathOf(file)) && !(hasWeights && isWeights(file)),
  );
  return [...kept, ...chosen];
}
