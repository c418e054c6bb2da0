/**
 * The files that were dropped: those of folders, too, but not of folders in them.
 * @param {DataTransfer} transfer
 * @returns {Promise<File[]>}
 */
export async function filesOfDrop(transfer) {
  // All at once: after an await the list is empty.
  const items = [...transfer.items].filter(({ kind }) => kind === 'file');
  const found = items.map((item) => ({ entry: item.webkitGetAsEntry?.(), file: item.getAsFile() }));
  const files = await Promise.all(
    found.map(async ({ entry, file }) => {
      if (!entry?.isDirectory) return file ? [file] : [];
      const entries = await entriesOf(/** @type {FileSystemDirectoryEntry} */ (entry));
      return Promise.all(
        entries
          .filter(({ isFile }) => isFile)
          .map(
            (each) =>
              new Promise((/** @type {(file: File) => void} */ resolve, reject) =>
                /** @type {FileSystemFileEntry} */ (each).file(resolve, reject),
              ),
          ),
      );
    }),
  );
  return files.flat();
}

/** @param {FileSystemDirectoryEntry} folder */
async function entriesOf(folder) {
  const reader = folder.createReader();
  /** @type {FileSystemEntry[]} */
  const all = [];
  for (;;) {
    // Some at a time, until there are none.
    const some = await new Promise(
      (/** @type {(entries: FileSystemEntry[]) => void} */ resolve, reject) =>
        reader.readEntries(resolve, reject),
    );
    if (!some.length) return all;
    all.push(...some);
  }
}
