import { svelte } from '@sveltejs/vite-plugin-svelte';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

import { equations } from './equations.js';
import { firstStyles, firstView, hashSource } from './firstView.js';
import { hub } from './hub.js';
import { offline } from './offline.js';
import { onDemand } from './oneFile/onDemand.js';
import { outlines } from './outlines.js';
import { rebuildOnChange } from './rebuildOnChange.js';
import { sharedWorker } from './sharedWorker.js';
import { smallFonts } from './smallFonts.js';

/** @param {string} styles  the source of the styles in `index.html` */
const policyOf = (styles) =>
  [
    "default-src 'none'",
    "script-src 'self' 'wasm-unsafe-eval'",
    "worker-src 'self'",
    ["connect-src 'self'", ...(hub ? [hub.address, ...hub.redirects] : [])].join(' '),
    `style-src 'self' ${styles}`,
    "font-src 'self'",
    // The page draws exported pictures from `blob:` addresses that it creates.
    "img-src 'self' blob:",
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');

/**
 * The content security policy. Only the built page has it, because the dev server injects inline
 * styles.
 */
const contentSecurityPolicy = {
  name: 'content-security-policy',
  apply: /** @type {const} */ ('build'),
  transformIndexHtml: async () => [
    {
      tag: 'meta',
      attrs: {
        'http-equiv': 'Content-Security-Policy',
        content: policyOf(hashSource(await firstStyles())),
      },
      injectTo: /** @type {const} */ ('head-prepend'),
    },
  ],
};

/** These headers allow threads. Without them the page works on one thread. */
const crossOriginIsolation = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
};

/** These headers let the page run in a frame with `sandbox="allow-scripts"`. */
const embedding = {
  'Access-Control-Allow-Origin': '*',
  'Cross-Origin-Resource-Policy': 'cross-origin',
};

const worker = sharedWorker('../work/worker.js');

/** Modules with the programs that figures offer. They are fetched when a reader opens a program. */
const programs = /[\\/](code|\w+Code|\w+Programs|trainingCalls)\.js$|[\\/]src[\\/]programs[\\/]/;
/** @param {Parameters<typeof worker.fileOf>} module */
const sharedFileOf = (...module) => (programs.test(module[0]) ? null : worker.fileOf(...module));

/**
 * Leaves out the files of the package that train models from files. The page never loads them. If they were included,
 * Rolldown would move the code that they share with training and models into files that the page loads first.
 * @type {import('vite').Plugin}
 */
const withoutTrainingModels = {
  name: 'without-training-models',
  apply: 'build',
  enforce: 'pre',
  load: (id) =>
    /[\\/](?:trainingModels\.part|all\.glue)\.js$/.test(id) ? 'export {};' : undefined,
  transform(code, id) {
    if (!/[\\/]wasm[\\/]dist[\\/]/.test(id) || !code.includes('"./all-')) return undefined;
    const addresses = /new URL\("\.\/all-[\w.-]+", import\.meta\.url\)/g;
    return { code: code.replace(addresses, 'undefined'), map: null };
  },
};

/**
 * The plugins that turn the page's sources into JavaScript, styles and fonts.
 * @param {'build' | 'serve'} command
 */
export const sources = (command) => [
  withoutTrainingModels,
  svelte({
    configFile: false,
    // Only libraries with Svelte components need this option, and the page uses none. With it, Vite
    // would prebundle all libraries again at each start.
    prebundleSvelteLibraries: false,
    // The built page has short class names. On the dev server, class names depend on file names
    // instead, for hot updates.
    ...(command === 'build' && {
      compilerOptions: { cssHash: ({ hash, css }) => `s${hash(css).slice(0, 4)}` },
    }),
  }),
  equations(),
  smallFonts(),
  outlines(),
];

export default defineConfig(({ command }) => ({
  root: fileURLToPath(new URL('.', import.meta.url)),
  define: { 'globalThis.__HUB__': JSON.stringify(hub) },
  // Relative addresses let the site work in any folder of any static host.
  base: './',
  plugins: [
    ...sources(command),
    worker.plugin,
    offline(),
    contentSecurityPolicy,
    firstView(),
    rebuildOnChange(),
    onDemand(),
  ],
  // The package is built beside this folder, in wasm/dist.
  server: { headers: crossOriginIsolation, fs: { allow: ['..'] } },
  preview: { headers: { ...crossOriginIsolation, ...embedding } },
  worker: { format: 'es' },
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    target: 'es2023',
    // Inlined files would become `data:` addresses, which the policy forbids.
    assetsInlineLimit: 0,
    // Browsers with WebAssembly SIMD don't need the polyfill. Dynamic imports preload nothing: a
    // chapter's other dependencies are already loaded, and preloading needs a document, which
    // workers lack.
    modulePreload: {
      polyfill: false,
      resolveDependencies: (_, files, { hostType }) => (hostType === 'html' ? files : []),
    },
    // Splitting would produce ten similar style sheets, which are larger in total.
    cssCodeSplit: false,
    rolldownOptions: {
      checks: { pluginTimings: false },
      optimization: { inlineConst: { mode: 'all', pass: 2 } },
      output: {
        codeSplitting: {
          includeDependenciesRecursively: false,
          groups: [
            { name: sharedFileOf, debugName: 'shared', minShareCount: 2, priority: 1 },
            // Code that the page shares with its worker, which has no document.
            {
              name: 'tokenizers',
              test: /@huggingface[\\/]tokenizers|models[\\/]tokenizer[\\/]/,
              priority: 2,
            },
            {
              name: 'own',
              test: /figures[\\/]own[\\/]|models[\\/]own[\\/]\w+\.svelte\.js|Target\.svelte|texts[\\/](?:own|pair)\.js/,
              priority: 2,
            },
            {
              name: 'hub',
              test: /models[\\/]hub[\\/]|OpenByName\.svelte|texts[\\/]hub\.js/,
              priority: 2,
            },
            {
              name: 'invention',
              // Other parts of the page use the excluded modules without loading the formulas.
              test: /src[\\/]invention[\\/](?!examples|parameters|formulaCode)|node_modules[\\/]jsep/,
              priority: 2,
            },
            // As with the styles, one file is smaller than thirty similar files.
            { name: 'programs', test: programs, priority: 1 },
            // The appendix: two chapters that share their readers and much of their code.
            {
              name: 'Appendix',
              test: /src[\\/](?:chapters|figures)[\\/](?:precision|speed)[\\/]|texts[\\/](?:figures[\\/])?(?:precision|speed|engines)\w*\.js/,
            },
            { name: 'outlines', test: /virtual:outlines/ },
          ],
        },
      },
    },
  },
}));
