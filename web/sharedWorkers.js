/**
 * Makes workers parts of the one graph of modules, so that what they share with the page and with
 * each other is built, loaded and kept once. Vite would bundle each with copies of its own.
 * @returns {import('vite').Plugin}
 */
export function sharedWorkers() {
  const address = /new URL\(\s*(['"])(?<file>[^'"]+\.js)\1,\s*import\.meta\.url\s*\)/;
  const worker = new RegExp(String.raw`new Worker\(\s*${address.source}`, 'g');
  return {
    name: 'shared-workers',
    apply: 'build',
    enforce: 'pre',
    async transform(code, importer) {
      let result = '';
      let end = 0;
      for (const { 0: match, index, groups } of code.matchAll(worker)) {
        const file = /^\.{0,2}\//.test(groups?.file ?? '') ? groups?.file : `./${groups?.file}`;
        const resolved = await this.resolve(`${file}`, importer);
        if (!resolved) throw new Error(`${importer}: there is no worker ${file}`);
        const reference = this.emitFile({
          type: 'chunk',
          id: resolved.id,
          preserveSignature: 'allow-extension',
        });
        result += code.slice(end, index);
        result += `new Worker(import.meta.ROLLUP_FILE_URL_${reference}`;
        end = index + match.length;
      }
      return end > 0 ? { code: result + code.slice(end), map: null } : undefined;
    },
  };
}
