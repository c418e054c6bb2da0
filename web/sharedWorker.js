/**
 * The worker as an entry of the page's own build: both share the file of what both need. Vite by itself
 * would build the worker apart, and the core's JavaScript would be there twice.
 * @param {string} worker its module, as the page names it
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
   * The file for a module that several need: one of what the worker needs, too, which is nothing of the
   * document's, and one of all else.
   * @param {string} id
   * @param {{ getModuleInfo(id: string): { importedIds: readonly string[], dynamicallyImportedIds: readonly string[] } | null }} build
   */
  function fileOf(id, build) {
    if (!reached) {
      reached = new Set([entry]);
      for (const each of reached) {
        for (const imported of build.getModuleInfo(each)?.importedIds ?? []) reached.add(imported);
        // What is loaded late has a file of its own, and needs what has no document, too.
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
