import { svelte } from '@sveltejs/vite-plugin-svelte';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

import { equations } from './equations.js';
import { offline } from './offline.js';
import { outlines } from './outlines.js';
import { rebuildOnChange } from './rebuildOnChange.js';
import { sharedWorker } from './sharedWorker.js';
import { smallFonts } from './smallFonts.js';

const policy = [
  "default-src 'none'",
  "script-src 'self' 'wasm-unsafe-eval'",
  "worker-src 'self'",
  "connect-src 'self'",
  "style-src 'self'",
  "font-src 'self'",
  // Exported pictures are drawn from an address of this kind, made by the page itself.
  "img-src 'self' blob:",
  "base-uri 'none'",
  "form-action 'none'",
].join('; ');

/** The content security policy, in the built page only: the dev server injects inline styles. */
const contentSecurityPolicy = {
  name: 'content-security-policy',
  apply: /** @type {const} */ ('build'),
  transformIndexHtml: () => [
    {
      tag: 'meta',
      attrs: { 'http-equiv': 'Content-Security-Policy', content: policy },
      injectTo: /** @type {const} */ ('head-prepend'),
    },
  ],
};

/** With these headers a page may use threads; without them it works too, on one. */
const crossOriginIsolation = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
};

const worker = sharedWorker('./worker.js');

/** Modules of programs for pictures, which are fetched when somebody asks to see one. */
const programs = /[\\/](code|\w+Code|programs)\.js$/;
/** @param {Parameters<typeof worker.fileOf>} module */
const sharedFileOf = (...module) => (programs.test(module[0]) ? null : worker.fileOf(...module));

export default defineConfig(({ command }) => ({
  root: fileURLToPath(new URL('.', import.meta.url)),
  // Relative addresses, so that the site works from any folder of any static host.
  base: './',
  plugins: [
    svelte({
      configFile: false,
      // Classes of the built page have short names; the dev server's follow the file, for hot updates.
      ...(command === 'build' && {
        compilerOptions: { cssHash: ({ hash, css }) => `s${hash(css).slice(0, 4)}` },
      }),
    }),
    worker.plugin,
    equations(),
    smallFonts(),
    outlines(),
    offline(),
    contentSecurityPolicy,
    rebuildOnChange(),
  ],
  // The package is built beside this folder, in wasm/dist.
  server: { headers: crossOriginIsolation, fs: { allow: ['..'] } },
  preview: { headers: crossOriginIsolation },
  worker: { format: 'es' },
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    target: 'es2023',
    // Inlined files would be data: addresses, which the policy forbids.
    assetsInlineLimit: 0,
    // The polyfill is for browsers without WebAssembly SIMD.
    // What a chapter needs besides is there; and workers, which have no document, load parts late, too.
    modulePreload: {
      polyfill: false,
      resolveDependencies: (_, files, { hostType }) => (hostType === 'html' ? files : []),
    },
    // One file is smaller than ten that resemble each other.
    cssCodeSplit: false,
    rolldownOptions: {
      output: {
        codeSplitting: {
          includeDependenciesRecursively: false,
          groups: [
            { name: sharedFileOf, debugName: 'shared', minShareCount: 2, priority: 1 },
            // Of the page and of its worker, which has no document.
            {
              name: 'tokenizers',
              test: /@huggingface[\\/]tokenizers|model[\\/]tokenizer[\\/]/,
              priority: 2,
            },
            // One file is smaller than thirty, here, too.
            { name: 'programs', test: programs },
            { name: 'outlines', test: /virtual:outlines/ },
          ],
        },
      },
    },
  },
}));
