/**
 * Leaves out of the built page what never runs: Svelte's code for pages that a server has drawn, and
 * of D3 what nobody imports, though it is made by a call when the module is loaded.
 * @returns {import('vite').Plugin}
 */
export function smallModules() {
  return {
    name: 'small-modules',
    apply: 'build',
    enforce: 'pre',
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
