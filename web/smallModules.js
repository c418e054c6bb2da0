import { readFile } from 'node:fs/promises';

/**
 * Leaves out of the built page what is there twice, and what never runs: a variant's glue, where it
 * differs from another's in names of files alone, which the package's loader does not take from it;
 * Svelte's code for pages that a server has drawn; and of D3 what nobody imports, though it is made
 * by a call when the module is loaded.
 * @returns {import('vite').Plugin}
 */
export function smallModules() {
  return {
    name: 'small-modules',
    apply: 'build',
    enforce: 'pre',
    async resolveId(source, importer) {
      if (!/[\\/]attn-relaxed-simd(?:-threads)?\.js$/.test(source)) return undefined;
      const [own, other] = await Promise.all(
        [source, source.replace('relaxed-simd', 'simd128')].map((file) =>
          this.resolve(file, importer, { skipSelf: true }),
        ),
      );
      if (!own || !other) return undefined;
      const [ours, others] = await Promise.all([own, other].map(({ id }) => readFile(id, 'utf8')));
      return ours.replaceAll('attn-relaxed-simd', 'attn-simd128') === others ? other : own;
    },
    transform(code, id) {
      if (/[\\/]dist[\\/]d3-\w+\.mjs$/.test(id)) {
        const made = /^((?:var|const) [\w$]+ = )(?=\(function|[\w$]+\()/gm;
        return { code: code.replace(made, '$1/* @__PURE__ */ '), map: null };
      }
      if (!/svelte[\\/]src[\\/]internal[\\/]client[\\/]dom[\\/]hydration\.js$/.test(id)) return;
      const small = code
        .replace('export let hydrating = false;', 'export const hydrating = false;')
        .replace(/(?<=function set_hydrating\(value\) \{\s*)hydrating = value;/, '');
      if (small.split('hydrating = ').length !== 2) this.error('Svelte hydrates in another way');
      return { code: small, map: null };
    },
  };
}
