/**
 * Builds the worker as an entry of the page's own build, so that both share common code. Vite alone
 * would build the worker separately and include the core's JavaScript twice.
 * @param {string} worker path of its module, as in the page's import
 */
export function sharedWorker(worker) {
  let entry = worker;
  /** @type {Set<string> | undefined} */
  let reached;
  /** @type {import('vite').Plugin} */
  const plugin = {
    name: 'shared-worker',
    apply: 'build',
    enforce: 'pre',
    async transform(code, id) {
      const address = `new URL('${worker}', import.meta.url)`;
      if (!code.includes(address)) return undefined;
      entry = (await this.resolve(worker, id))?.id ?? worker;
      const file = this.emitFile({ type: 'chunk', id: entry, name: 'worker' });
      return { code: code.replace(address, `import.meta.ROLLUP_FILE_URL_${file}`), map: null };
    },
  };

  /**
   * Chooses the output file for a module that several other modules import. All modules that the
   * worker also needs share one file (none of them uses the document), and all other modules share
   * another.
   * @param {string} id
   * @param {{ getModuleInfo(id: string): { importedIds: readonly string[],
   *   dynamicallyImportedIds: readonly string[] } | null }} build
   */
  function fileOf(id, build) {
    if (!reached) {
      reached = new Set([entry]);
      for (const each of reached) {
        for (const imported of build.getModuleInfo(each)?.importedIds ?? []) reached.add(imported);
        // A module loaded on demand has its own file, but its imports may be shared with the page.
        for (const late of build.getModuleInfo(each)?.dynamicallyImportedIds ?? []) {
          for (const imported of build.getModuleInfo(late)?.importedIds ?? [])
            reached.add(imported);
        }
      }
    }
    return reached.has(id) ? 'core' : 'shared';
  }
  return { plugin, fileOf };
}
