// Tests the installed package in other runtimes, with bundlers, and in test runners.

import assert from 'node:assert/strict';
import { execFile, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';

import { chromium } from 'playwright-core';
import sirv from 'sirv';

import { kRoot, provideNpmPackages } from '../../wasm/toolchain/checkout.js';
import { findChromium } from '../../wasm/toolchain/system.js';
import { chromiumFlags } from '../browser/site.js';
import { installPackage } from '../package/install.js';

/** @import { Browser } from 'playwright-core' */
/** @import { Project } from '../package/install.js' */

const kModules = join(import.meta.dirname, 'node_modules');
const kBin = join(kModules, '.bin');
/** The response headers that threads require. */
const kIsolation = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
};
const kFound = '2 undefined 4';

/**
 * A program that prints its results or, in a page, writes them into the title.
 * @param {string} entry
 */
const program = (entry) => `
import { load } from '${entry}';
const attn = await load({ threads: 2 });
const x = { data: [1, 2, 3, 4], shape: [2, 2] };
const { output } = await attn.scaledDotProductAttention(x, x, x);
const found = [await attn.numThreads, await attn.fallback, output.data.length].map(String).join(' ');
console.log(found);
if (globalThis.document) document.title = found;
attn.dispose();
`;

/** @param {string} script */
const page = (script) =>
  `<!doctype html><link rel="icon" href="data:," /><script type="module" src="./${script}"></script>`;

/** @type {Project} */
let project;
/** @type {Browser} */
let browser;

before(async () => {
  await provideNpmPackages(import.meta.dirname, 'the clients');
  // npm packages are installed here without running their scripts. Bun needs its install script,
  // which can run only once.
  if (spawnSync(join(kBin, 'bun'), ['--version']).status !== 0) {
    execFileSync(process.execPath, ['install.js'], { cwd: join(kModules, 'bun') });
  }
  // The project is inside `tests/clients`, so that it finds the installed clients.
  project = installPackage(import.meta.dirname);
  // Parcel resolves exports only if its option `packageExports` is set.
  write(
    'package.json',
    '{ "private": true, "type": "module", "@parcel/resolver-default": { "packageExports": true } }',
  );
  // If the project had no tsconfig.json, tools would use the tsconfig.json of the checkout.
  write('tsconfig.json', '{}');
  write('main.js', program('attn'));
  write('inWorker.js', program('attn/worker'));
  write('main.html', page('main.js'));
  write('inWorker.html', page('inWorker.js'));
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM || findChromium(),
    args: chromiumFlags,
  });
});
after(async () => {
  await browser?.close();
  project?.remove();
});

/** @param {string} name @param {string} text */
function write(name, text) {
  const path = join(project.folder, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

/** @param {string} path @param {string[]} args */
const run = (path, ...args) =>
  execFileSync(path, args, { cwd: project.folder, encoding: 'utf8', timeout: 120_000 }).trim();

/** @param {string} name name of the module to import */
const node = (name) => run(process.execPath, name);

/** @param {string} url */
async function titleOf(url) {
  const page = await browser.newPage();
  const failed = new Promise((_, reject) => page.on('pageerror', reject));
  await page.goto(url);
  await Promise.race([page.waitForFunction(() => document.title !== ''), failed]);
  const title = await page.title();
  await page.close();
  return title;
}

/**
 * Returns the titles of pages in a folder of the project.
 * @param {string} folder
 * @param {string[]} names
 */
async function titlesIn(folder, ...names) {
  const setHeaders = (/** @type {import('node:http').ServerResponse} */ response) =>
    Object.entries(kIsolation).forEach(([name, value]) => response.setHeader(name, value));
  const serve = sirv(join(project.folder, folder), { dev: true, setHeaders });
  const server = createServer((request, response) =>
    serve(request, response, () => void response.writeHead(404).end()),
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  try {
    const titles = [];
    for (const name of names) titles.push(await titleOf(`http://127.0.0.1:${port}/${name}`));
    return titles;
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

/** Copies the files that bundlers do not copy, as described in the guide. @param {string} folder */
function copyFiles(folder) {
  const dist = join(project.folder, 'node_modules/attn/wasm/dist');
  for (const name of readdirSync(dist)) {
    if (!/(\.wasm|-threads\.glue\.js)$/.test(name)) continue;
    copyFileSync(join(dist, name), join(project.folder, folder, name));
  }
}

test('deno_runs_threads', () => {
  const found = run(join(kBin, 'deno'), 'run', '--no-prompt', '--allow-read', 'main.js');
  assert.equal(found, kFound);
});

test('bun_runs_threads', () => {
  assert.equal(run(join(kBin, 'bun'), 'main.js'), kFound);
});

test('threads_start_with_glue_minified_by_webpack', () => {
  run(join(kBin, 'webpack'), '--mode', 'production', '--entry', './main.js');
  const output = join(project.folder, 'dist');
  const glue = readdirSync(output).filter(
    (name) =>
      /^[0-9a-f]{20}\.js$/.test(name) &&
      readFileSync(join(output, name), 'utf8').includes('em-pthread'),
  );
  // The bundle contains one file per flavour of the module. File names do not reveal the flavour,
  // but only the glue of the flavour `attn` works with the .wasm file of that flavour.
  cpSync(join(project.folder, 'node_modules/attn'), join(project.folder, 'minified'), {
    recursive: true,
  });
  write('minified.js', program('./minified/wasm/dist/index.js'));
  const found = glue.map((name) => {
    const target = join(project.folder, 'minified/wasm/dist/attn-threads.glue.js');
    copyFileSync(join(output, name), target);
    return node('minified.js');
  });
  assert.equal(glue.length, 3);
  assert.ok(found.includes(kFound), found.join('\n'));
});

test('pages_and_workers_bundled_by_webpack_run_threads', async () => {
  for (const name of ['main', 'inWorker']) {
    run(
      join(kBin, 'webpack'),
      ...['--mode', 'production', '--entry', `./${name}.js`, '-o', `webpack/${name}`],
    );
    write(`webpack/${name}/index.html`, page('main.js'));
    assert.deepEqual(await titlesIn(`webpack/${name}`, 'index.html'), [kFound], name);
  }
});

for (const version of [7, 8]) {
  /** @param {string} name */
  const configuration = (name) => ({
    root: project.folder,
    configFile: /** @type {const} */ (false),
    logLevel: /** @type {const} */ ('error'),
    worker: { format: /** @type {const} */ ('es') },
    optimizeDeps: version === 7 ? { exclude: ['attn'] } : {},
    cacheDir: `vite-${name}-${version}`,
    server: { host: '127.0.0.1', port: 0, headers: kIsolation },
    build: {
      outDir: `vite${version}`,
      rollupOptions: {
        input: ['main.html', 'inWorker.html'].map((file) => join(project.folder, file)),
      },
    },
  });
  /** @returns {Promise<typeof import('vite')>} */
  const vite = () =>
    version === 8
      ? import('vite')
      : import(pathToFileURL(join(kModules, 'vite7/dist/node/index.js')).href);

  test(`pages_and_workers_run_threads_in_the_dev_server_of_vite_${version}`, async () => {
    const server = await (await vite()).createServer(configuration('dev'));
    try {
      await server.listen();
      const [url] = server.resolvedUrls?.local ?? [];
      for (const name of ['main', 'inWorker']) {
        assert.equal(await titleOf(`${url}${name}.html`), kFound, name);
      }
    } finally {
      await server.close();
    }
  });

  if (version === 7) {
    test('the_dev_server_of_vite_7_without_settings_gets_the_setting_in_the_error', async () => {
      const server = await (
        await vite()
      ).createServer({
        ...configuration('plain'),
        optimizeDeps: {},
        // By default, Vite's cache is in `node_modules/.vite`.
        cacheDir: 'node_modules/.vite',
      });
      try {
        await server.listen();
        const [url] = server.resolvedUrls?.local ?? [];
        const hint = /for Vite, set optimizeDeps: { exclude: \['attn'\] }/;
        for (const name of ['main', 'inWorker']) {
          await assert.rejects(titleOf(`${url}${name}.html`), hint, name);
        }
      } finally {
        await server.close();
      }
    });
  }

  test(`pages_and_workers_built_by_vite_${version}_run_threads`, async () => {
    await (await vite()).build(configuration('build'));
    const titles = await titlesIn(`vite${version}`, 'main.html', 'inWorker.html');
    assert.deepEqual(titles, [kFound, kFound]);
  });
}

test('pages_and_workers_bundled_by_rollup_run_threads', async () => {
  write(
    'rollup.config.js',
    `import { nodeResolve } from '@rollup/plugin-node-resolve';
    export default {
      input: ['main.js', 'inWorker.js', 'node_modules/attn/wasm/dist/workerScript.js'],
      output: { dir: 'rollup' },
      plugins: [nodeResolve()],
    };`,
  );
  run(join(kBin, 'rollup'), '-c', '--silent');
  copyFiles('rollup');
  for (const name of ['main', 'inWorker']) write(`rollup/${name}.html`, page(`${name}.js`));
  assert.deepEqual(await titlesIn('rollup', 'main.html', 'inWorker.html'), [kFound, kFound]);
  assert.equal(node('rollup/main.js'), kFound);
});

test('files_that_esbuild_leaves_behind_are_named_and_can_be_copied', async () => {
  const esbuild = join(kRoot, 'node_modules/.bin/esbuild');
  run(esbuild, 'main.js', '--bundle', '--format=esm', '--outdir=esbuild', '--log-level=error');
  write('esbuild/main.html', page('main.js'));
  const copy =
    /; with a bundler, copy \*\.wasm and \*-threads\.glue\.js from attn\/wasm\/dist next to/;
  assert.throws(() => node('esbuild/main.js'), copy);
  await assert.rejects(titlesIn('esbuild', 'main.html'), copy);
  copyFiles('esbuild');
  assert.deepEqual(await titlesIn('esbuild', 'main.html'), [kFound]);
  assert.equal(node('esbuild/main.js'), kFound);
});

test('a_page_bundled_by_parcel_runs_one_thread_and_says_why', async () => {
  const options = ['--no-cache', '--no-autoinstall', '--dist-dir', 'parcel'];
  run(join(kBin, 'parcel'), 'build', 'main.html', ...options);
  const [found] = await titlesIn('parcel', 'main.html');
  // The error message quotes the two lines of code that the guide recommends.
  const lines = /const address = (.+?); const { load } = await import\(address\);/;
  const [recipe] = found.match(lines) ?? [];
  assert.match(found, /^1 .*for Parcel, serve attn\/wasm\/dist as static files.* 4$/);
  assert.ok(recipe, found);
  const guide = readFileSync(join(project.folder, 'node_modules/attn/wasm/README.md'), 'utf8');
  assert.ok(guide.includes(recipe.replace('; ', ';\n')));
  for (const file of ['index.js', 'worker.js']) {
    const name = `parcel-${file}`;
    const text = program('attn').replace(/import .*/, recipe.replace('index.js', file));
    write(name, text);
    write(`${name}.html`, page(name));
    run(join(kBin, 'parcel'), 'build', `${name}.html`, ...options);
    const dist = join(project.folder, 'node_modules/attn/wasm/dist');
    cpSync(dist, join(project.folder, 'parcel/attn'), { recursive: true });
    assert.deepEqual(await titlesIn('parcel', `${name}.html`), [kFound], file);
  }
});

test('next_runs_threads_on_the_server_and_in_a_page', async () => {
  const x = '{ data: [1, 2, 3, 4], shape: [2, 2] }';
  write('next/package.json', '{ "private": true }');
  write(
    'next/app/layout.js',
    'export default ({ children }) => <html lang="en"><body>{children}</body></html>;',
  );
  write(
    'next/app/page.js',
    `import { load } from 'attn';
    export const dynamic = 'force-dynamic';
    export default async function Page() {
      try {
        const attn = await load({ threads: 2 });
        const { output } = attn.scaledDotProductAttention(${x}, ${x}, ${x});
        const found = [attn.numThreads, String(attn.fallback), output.data.length].join(' ');
        attn.dispose();
        return <p>{found}</p>;
      } catch (error) {
        return <p>{error.message}</p>;
      }
    }`,
  );
  for (const entry of ['attn', 'attn/worker']) {
    write(
      `next/app/${entry}/page.js`,
      `'use client';
      import { useEffect } from 'react';
      import { load } from '${entry}';
      export default function Page() {
        useEffect(() => {
          const controller = new AbortController();
          let attn;
          const show = async () => {
            attn = await load({ threads: 2, signal: controller.signal });
            const { output } = await attn.scaledDotProductAttention(${x}, ${x}, ${x});
            const found = [await attn.numThreads, await attn.fallback, output.data.length];
            document.title = found.map(String).join(' ');
          };
          show().catch((error) => {
            if (!controller.signal.aborted) document.title = error.message;
          });
          return () => {
            controller.abort();
            attn?.dispose();
          };
        }, []);
        return <p>attn</p>;
      }`,
    );
  }
  const folder = join(project.folder, 'next');
  const env = { ...process.env, NEXT_TELEMETRY_DISABLED: '1', NODE_ENV: 'production' };
  /** @param {string} setting @param {(url: string) => Promise<void>} body */
  async function built(setting, body) {
    write(
      'next/next.config.mjs',
      `export default {
        ${setting}
        turbopack: { root: ${JSON.stringify(import.meta.dirname)} },
        headers: async () => [{
          source: '/:path*',
          headers: ${JSON.stringify(Object.entries(kIsolation).map(([key, value]) => ({ key, value })))},
        }],
      };`,
    );
    const next = join(kModules, 'next/dist/bin/next');
    await promisify(execFile)(process.execPath, [next, 'build'], { cwd: folder, env });
    const server = spawn(process.execPath, [next, 'start', '-p', '0', '-H', '127.0.0.1'], {
      ...{ cwd: folder, env, stdio: ['ignore', 'pipe', 'inherit'] },
    });
    try {
      let said = '';
      for await (const text of server.stdout) {
        said += text;
        const [url] = said.match(/http:\/\/127\.0\.0\.1:\d+/) ?? [];
        if (!url || !said.includes('Ready')) continue;
        await body(url);
        break;
      }
    } finally {
      server.kill();
    }
  }
  const textOf = async (/** @type {string} */ url) =>
    (await (await fetch(url)).text()).match(/<p>(.*?)<\/p>/)?.[1];
  await built("serverExternalPackages: ['attn'],", async (url) => {
    assert.equal(await textOf(url), kFound);
    assert.equal(await titleOf(`${url}/attn`), kFound);
    assert.equal(await titleOf(`${url}/attn/worker`), kFound);
  });
  await built('', async (url) =>
    assert.match((await textOf(url)) ?? '', /serverExternalPackages: \[&#x27;attn&#x27;\]/),
  );
});

test('react_sets_properties_and_listeners_of_the_elements', async () => {
  write(
    'react/main.js',
    `import { createElement, useState } from 'react';
    import { createRoot } from 'react-dom/client';
    import 'attn/figures';
    function App() {
      const [head, setHead] = useState(0);
      const [selected, setSelected] = useState(null);
      return createElement('div', null,
        createElement('attn-weights', {
          weights: { data: Float32Array.of(1, 0, 0.5, 0.5, 1, 0, 0.25, 0.75), shape: [2, 2, 2] },
          tokens: ['a', 'b'],
          head,
          causal: true,
          label: 'Mine',
          onselect: (event) => setSelected(event.detail),
          onheadchange: (event) => setHead(event.detail.head),
        }),
        createElement('output', null, \`\${head} \${selected?.weight}\`));
    }
    createRoot(document.getElementById('root')).render(createElement(App));`,
  );
  write('react/index.html', '<!doctype html><div id="root"></div><script src="main.js"></script>');
  const esbuild = join(kRoot, 'node_modules/.bin/esbuild');
  run(esbuild, 'react/main.js', '--bundle', '--outfile=react/built/main.js', '--log-level=error');
  copyFileSync(
    join(project.folder, 'react/index.html'),
    join(project.folder, 'react/built/index.html'),
  );
  // The server of a framework imports the module, too.
  write('onServer.js', "console.log(typeof (await import('attn/figures')).render);");
  assert.equal(node('onServer.js'), 'function');
  const serve = sirv(join(project.folder, 'react/built'), { dev: true });
  const server = createServer((request, response) => serve(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const page = await browser.newPage();
  /** @type {string[]} */
  const problems = [];
  page.on('pageerror', ({ message }) => problems.push(message));
  await page.goto(`http://127.0.0.1:${/** @type {any} */ (server.address()).port}/`);
  await page.getByRole('radio', { name: /^head 2/ }).check({ force: true });
  await page.getByRole('application', { name: /head 2/ }).focus();
  for (const key of ['ArrowDown', 'ArrowRight']) await page.keyboard.press(key);
  await page.getByText('1 0.75', { exact: true }).waitFor();
  await page.close();
  server.closeAllConnections();
  server.close();
  assert.deepEqual(problems, []);
});

test('jest_runs_threads_in_jsdom', async () => {
  write(
    'jest/attn.test.js',
    `/** @jest-environment jsdom */
    import { load } from 'attn';
    test("attention of jsdom's typed arrays", async () => {
      const attn = await load({ threads: 2, signal: new AbortController().signal });
      expect([attn.numThreads, attn.fallback]).toEqual([2, undefined]);
      const x = { data: new Float32Array([1, 2, 3, 4]), shape: [2, 2] };
      const mask = { data: Uint8Array.of(1, 0, 1, 1), shape: [2, 2] };
      const { output } = attn.scaledDotProductAttention(x, x, x, { mask });
      const file = new File([attn.toSafetensors({ x })], 'x.safetensors');
      expect([...output.data.slice(0, 2)]).toEqual([1, 2]);
      const signal = AbortSignal.abort();
      await expect(load({ signal })).rejects.toBe(signal.reason);
      attn.dispose();
    });`,
  );
  write('jest.config.js', "export default { transform: {}, roots: ['jest'] };");
  const env = { ...process.env, NODE_OPTIONS: '--experimental-vm-modules' };
  await promisify(execFile)(join(kBin, 'jest'), ['--no-cache'], {
    ...{ cwd: project.folder, env, timeout: 120_000 },
  });
});
