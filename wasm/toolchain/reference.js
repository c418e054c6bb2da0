// Generates the JavaScript API reference with TypeDoc, from the package's type definitions:
// node wasm/toolchain/reference.js <folder>. A warning counts as an error.

import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Application, LogLevel } from 'typedoc';

import { kBuildFolder, kRoot } from './checkout.js';
import { isMain } from './system.js';
import { buildTypes } from './types.js';

/** The modules of the package and their purpose. */
const kModules = {
  index: ['attn', 'Attention and positional encoding on the thread that calls.'],
  worker: ['attn/worker', 'The same API, asynchronous, off the main thread.'],
  connect: ['attn/worker/connect', 'For pages that start their own worker.'],
  serve: ['attn/worker/serve', 'For workers that run your own tasks.'],
};

const kIntroduction = `
\`\`\`js
import { load } from 'attn';

const attn = await load();
const x = attn.sinusoidalEncoding({ length: 10, dModel: 32 });
const { output } = attn.scaledDotProductAttention(x, x, x, { causal: true });
\`\`\`

All that a loaded module offers are members of {@link "attn".Attn Attn}. In a worker they have the
same names and give promises: {@link "attn/worker".load}.
`;

/**
 * Writes the reference into a folder.
 * @param {string} folder
 * @returns {Promise<boolean>} true if there were no errors or warnings
 */
async function buildReference(folder) {
  const sources = join(kBuildFolder, 'reference');
  rmSync(sources, { recursive: true, force: true });
  mkdirSync(sources, { recursive: true });
  const types = await buildTypes();
  for (const name of readdirSync(types).filter((name) => name.endsWith('.d.ts'))) {
    writeFileSync(join(sources, name), withBlocks(readFileSync(join(types, name), 'utf8')));
  }
  for (const [file, [name, purpose]] of Object.entries(kModules)) {
    const exported = readFileSync(join(types, `${file}.d.ts`), 'utf8');
    writeFileSync(join(sources, `${file}Module.ts`), entryPoint(file, name, purpose, exported));
  }
  const compilerOptions = { strict: true, target: 'esnext', module: 'esnext', skipLibCheck: true };
  const tsconfig = join(sources, 'tsconfig.json');
  writeFileSync(
    tsconfig,
    JSON.stringify({
      compilerOptions: { ...compilerOptions, moduleResolution: 'bundler', types: [] },
      include: ['*.ts'],
    }),
  );

  const introduction = join(sources, 'introduction.md');
  writeFileSync(introduction, kIntroduction);

  const app = await Application.bootstrap({
    name: 'attn in JavaScript',
    entryPoints: Object.keys(kModules).map((file) => join(sources, `${file}Module.ts`)),
    sortEntryPoints: false,
    tsconfig,
    readme: introduction,
    logLevel: LogLevel.Warn,
    // Types that are only parts of other types are not exported.
    validation: { notExported: false, invalidLink: true, rewrittenLink: true },
    excludeInternal: true,
    excludePrivate: true,
    excludeProtected: true,
    disableSources: true,
    hideGenerator: true,
    githubPages: false,
    includeHierarchySummary: false,
    sort: ['source-order'],
    navigationLinks: { 'The page': '../../' },
    customCss: join(kRoot, 'wasm/toolchain/reference.css'),
  });
  const project = await app.convert();
  if (project) {
    app.validate(project);
    await app.generateDocs(project, folder);
  }
  return project !== undefined && !app.logger.hasErrors() && !app.logger.hasWarnings();
}

/**
 * Returns the source of an entry module, which exports everything in the definitions. For each type
 * alias in the definitions, the module exports the original type instead.
 * @param {string} file
 * @param {string} name
 * @param {string} purpose
 * @param {string} definitions
 */
function entryPoint(file, name, purpose, definitions) {
  const aliases = [...definitions.matchAll(/^export type (\w+) = import\("(.+)"\)\.\1;$/gm)];
  return [
    `/**\n * ${purpose}\n * @module ${name}\n */`,
    `export * from './${file}.js';`,
    ...aliases.map(([, type, from]) => `export type { ${type} } from '${from}';`),
  ].join('\n');
}

/**
 * Turns equations into Markdown blocks. In comments, an equation follows a blank line and is indented by two
 * spaces.
 * @param {string} definitions
 */
function withBlocks(definitions) {
  let isBlock = false;
  let wasBlank = false;
  return definitions
    .split('\n')
    .map((line) => {
      const text = line.match(/^\s*\* ?(.*)$/)?.[1];
      isBlock = text !== undefined && text.startsWith('  ') && (wasBlank || isBlock);
      wasBlank = text === '';
      return isBlock ? line.replace(/\* /, '*     ') : line;
    })
    .join('\n');
}

if (isMain(import.meta) && !(await buildReference(process.argv[2]))) process.exitCode = 1;
