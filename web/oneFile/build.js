// Builds the page as a single file, attn.html, in web/dist or the folder that the command names. The
// file works like the page in web/dist, but opens from the disk and makes no request. figure.html is
// the same file without the language model. The package must already be built.
//
// The files are also templates, from which the page saves itself and its figures. The element
// <meta name="attn-fragment"> contains the settings to open with, as in a link, and each part of the
// page is in its own element. The hashes in the content security policy cover none of these
// elements. Therefore, other settings can be filled in, and parts that these settings do not need
// can be left out.

import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

import { build } from 'vite';

import { firstStyles, hashSource, withFirstView } from '../firstView.js';
import { sources } from '../vite.config.js';
import { withoutModel } from './parts.js';

/** @typedef {string | Uint8Array} Content */

const web = new URL('../', import.meta.url);
const root = fileURLToPath(web);
const read = (/** @type {string} */ file) => readFile(new URL(file, web));

/** @type {import('vite').Plugin} */
const hostInFile = {
  name: 'host-in-file',
  enforce: 'pre',
  resolveId: (id) =>
    id.endsWith('/host/host.js') ? fileURLToPath(new URL('host.js', import.meta.url)) : undefined,
};

/**
 * Bundles a module, with everything that it imports on demand, as a classic script.
 * @param {string} entry
 */
async function bundle(entry) {
  const result = await build({
    ...{ root, base: './', configFile: false, publicDir: false, logLevel: 'warn' },
    plugins: [hostInFile, ...sources('build')],
    build: {
      ...{ write: false, target: 'es2023', assetsInlineLimit: 0, cssCodeSplit: false },
      modulePreload: false,
      rolldownOptions: {
        // Classic scripts have no import.meta. attn's loader uses it only to find files.
        transform: { define: { 'import.meta': JSON.stringify({ url: '' }) } },
        input: fileURLToPath(new URL(entry, web)),
        output: { format: 'iife', codeSplitting: false },
      },
    },
  });
  const [{ code }, ...files] = /** @type {import('vite').Rolldown.RolldownOutput} */ (result)
    .output;
  const assets = files.filter((file) => file.type === 'asset');
  const css = String(assets.find(({ fileName }) => fileName.endsWith('.css'))?.source ?? '');
  return { script: code, styles: withFonts(css, assets) };
}

/**
 * Embeds the fonts of a style sheet in the style sheet itself.
 * @param {string} css
 * @param {{ fileName: string, source: Content }[]} assets
 */
const withFonts = (css, assets) =>
  css.replace(/url\(([^)]*\.woff2)\)/g, (_, address) => {
    const font = assets.find(({ fileName }) => address.endsWith(fileName.replace(/.*\//, '')));
    return `url(${dataAddress('font/woff2', font?.source ?? '')})`;
  });

/** @param {string} type @param {Content} content */
const dataAddress = (type, content) =>
  `data:${type};base64,${Buffer.from(content).toString('base64')}`;

/** @param {[name: string, content: Content]} part */
function elementOf([name, content]) {
  const packed = gzipSync(content, { level: 9 }).toString('base64');
  return `<script type="application/gzip" id="part:${name}">${packed}</script>`;
}

async function makeFile() {
  const start = await bundle('oneFile/start.js');
  const page = await bundle('src/main.js');
  const worker = await bundle('src/work/worker.js');
  const policy = [
    "default-src 'none'",
    `script-src ${hashSource(start.script)} ${hashSource(page.script)} 'wasm-unsafe-eval'`,
    // Workers are started from `blob:` addresses, and exported pictures are drawn from them.
    'worker-src blob:',
    `style-src ${hashSource(await firstStyles())} ${hashSource(page.styles)}`,
    'font-src data:',
    'img-src blob: data:',
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');
  const parts = /** @type {[string, Content][]} */ ([
    ['page.css', page.styles],
    ['page.js', page.script],
    ['worker.js', worker.script],
    ['attn.wasm', await read('../wasm/dist/attn-simd128.wasm')],
    ['training.wasm', await read('../wasm/dist/training-simd128.wasm')],
    ['models.wasm', await read('../wasm/dist/models-simd128.wasm')],
    ['tokenizer.json', await read('languageModel/tokenizer.json')],
    ['model.safetensors', await read('languageModel/model.safetensors')],
  ]);
  const icon = dataAddress('image/svg+xml', await read('public/icon.svg'));
  const html = `${await read('index.html')}`
    .replace(/\n *<script [^]*?<\/script>/g, '')
    .replace('./icon.svg', icon)
    .replace(
      '<head>',
      `<head>
    <meta http-equiv="Content-Security-Policy" content="${policy}" />
    <meta name="attn-fragment" content="" />`,
    );
  const view = await withFirstView(html, ['unpack', 'wasm']);
  return view.replace(
    '</body>',
    () => `${parts.map(elementOf).join('\n')}\n<script>${start.script}</script>\n</body>`,
  );
}

const folder = process.argv[2] ?? fileURLToPath(new URL('dist', web));
const file = await makeFile();
await mkdir(folder, { recursive: true });
await writeFile(join(folder, 'attn.html'), file);
await writeFile(join(folder, 'figure.html'), withoutModel(file));
