// Compiles Svelte components and modules with runes, so that tests in Node can import and render
// them. Import this file first, and import components with `await import()`.

import { readFileSync } from 'node:fs';
import { register } from 'node:module';
import { isMainThread } from 'node:worker_threads';
import { fileURLToPath } from 'node:url';

import { compile, compileModule } from 'svelte/compiler';

/** @type {import('node:module').LoadHook} */
export async function load(url, context, next) {
  if (!/\.svelte(\.js)?$/.test(url)) return next(url, context);
  const filename = fileURLToPath(url);
  const source = readFileSync(filename, 'utf8');
  const options = /** @type {const} */ ({ filename, generate: 'server' });
  const { js } = url.endsWith('.js') ? compileModule(source, options) : compile(source, options);
  return { format: 'module', source: js.code, shortCircuit: true };
}

// Node imports this file again on the thread that runs the hook.
if (isMainThread) register(import.meta.url);
