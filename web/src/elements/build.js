// Builds the entry point `attn/figures` of the package, which defines the elements. It consists of
// one readable file, the types, and the licences of the libraries in that file.

import { readFileSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { svelte } from '@sveltejs/vite-plugin-svelte';
import { build } from 'vite';

const here = fileURLToPath(new URL('.', import.meta.url));
const web = fileURLToPath(new URL('../../', import.meta.url));
const root = fileURLToPath(new URL('../../../', import.meta.url));

/**
 * Folders in web/src from which the elements must not import, because the elements work without the
 * page's state.
 */
const kPage = /[\\/]web[\\/]src[\\/](chapters|frame|host|models|state|story|training|work)[\\/]/;

/** The declarations of custom properties in a rule. @param {string} css @param {string} selector */
function propertiesOf(css, selector) {
  const start = css.indexOf(`\n${selector} {`);
  const rule = css.slice(start, css.indexOf('\n}', start));
  return new Map(
    [...rule.matchAll(/(--[\w-]+): (#[^;]+);/g)].map(([, name, value]) => [name, value]),
  );
}

/** The page's colours, each as a variable that users can set on the element. */
function palette() {
  const css = `\n${readFileSync(join(web, 'src/first.css'), 'utf8')}`;
  const dark = propertiesOf(css, ":root[data-theme='dark']");
  const lines = [...propertiesOf(css, ':root')].map(
    ([name, light]) =>
      `  ${name}: var(--attn-${name.slice(2)}, light-dark(${light}, ${dark.get(name)}));`,
  );
  return `.frame {\n${lines.join('\n')}\n}\n`;
}

/**
 * Puts the style sheet into the script, because each element adds it to its shadow root.
 * @type {import('vite').Plugin}
 */
const stylesInScript = {
  name: 'styles-in-script',
  enforce: 'post',
  generateBundle(_, bundle) {
    let css = palette();
    for (const [name, file] of Object.entries(bundle)) {
      if (file.type !== 'asset') continue;
      css += file.source;
      delete bundle[name];
    }
    // Each rule of the style sheet goes on its own line, so that no line of the module is too long.
    const text = css.replace(/[\\`]|\$\{/g, '\\$&').replace(/\}(?!\n)/g, '}\n');
    for (const file of Object.values(bundle)) {
      if (file.type !== 'chunk') continue;
      const page = Object.keys(file.modules).filter((id) => kPage.test(id));
      if (page.length > 0) this.error(`drawings must not import the page: ${page.join(', ')}`);
      file.code = file.code.replace(/(['"`])ATTN_FIGURES_STYLES\1/, () => `\`${text}\``);
    }
  },
};

/** Libraries in the bundle. @param {readonly string[]} modules */
function librariesOf(modules) {
  const names = modules.map(
    (id) => /[\\/]node_modules[\\/]((?:@[^\\/]+[\\/])?[^\\/]+)/.exec(id)?.[1],
  );
  return [...new Set(names)].filter((name) => name !== undefined).sort();
}

/** The licence of a library. @param {string} name */
function licenceOf(name) {
  const folder = join(root, 'node_modules', name);
  const { version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  for (const file of ['LICENSE', 'LICENSE.md', 'license', 'LICENSE.txt']) {
    try {
      return `${name} ${version}\n\n${readFileSync(join(folder, file), 'utf8').trim()}\n`;
    } catch {
      // Try the next name.
    }
  }
  return `${name} ${version}, licence: ${license}\n`;
}

/**
 * Builds the files into a folder.
 * @param {string} folder
 * @returns {Promise<string>} the folder
 */
export async function buildFigures(folder) {
  const [{ output }] = /** @type {import('vite').Rolldown.RolldownOutput[]} */ (
    await build({
      ...{ root: web, configFile: false, publicDir: false, logLevel: 'warn' },
      define: { 'process.env.NODE_ENV': '"production"' },
      resolve: { alias: { attn: join(root, 'wasm/js/errors.js') } },
      plugins: [
        svelte({
          configFile: false,
          compilerOptions: { cssHash: ({ hash, css }) => `s${hash(css).slice(0, 4)}` },
        }),
        stylesInScript,
      ],
      build: {
        // The first browser versions that support light-dark(), which the colours need.
        cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
        ...{ write: false, target: 'es2023', minify: false, cssCodeSplit: false, cssMinify: true },
        lib: { entry: join(here, 'figures.js'), formats: ['es'], fileName: () => 'figures.js' },
        rolldownOptions: {
          checks: { pluginTimings: false },
          output: {
            codeSplitting: false,
            comments: { annotation: true, jsdoc: false, legal: false },
          },
        },
      },
    })
  );
  const [chunk] = output;
  const licences = librariesOf(Object.keys(chunk.modules)).map(licenceOf);
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const note = '// The licences of the libraries in this file are in figures.licenses.txt.\n';
  await writeFile(join(folder, 'figures.js'), note + chunk.code);
  await writeFile(join(folder, 'figures.d.ts'), readFileSync(join(here, 'figures.d.ts')));
  await writeFile(join(folder, 'figures.licenses.txt'), licences.join('\n----\n\n'));
  return folder;
}
