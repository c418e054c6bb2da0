// Makes the package's type definitions from the JSDoc comments in wasm/js.

import { createHash } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

import { kBuildFolder, kRoot } from './checkout.js';
import { command } from './system.js';

const kSources = join(kRoot, 'wasm/js');
/** Folder to which CMake writes Emscripten's definitions of the bindings. */
const kNativeTypes = join(kBuildFolder, 'wasm/wasm/types');
const kTypesFolder = join(kBuildFolder, 'types');

/**
 * Builds the definitions, unless the sources are unchanged since the last build.
 * @returns {Promise<string>} folder of the definitions
 */
export async function buildTypes() {
  const stamp = join(kTypesFolder, '.made-of');
  const hash = createHash('sha256').update(readFileSync(import.meta.filename));
  for (const name of readdirSync(kSources).sort()) {
    hash.update(name).update(readFileSync(join(kSources, name)));
  }
  hash.update(readFileSync(join(kNativeTypes, 'native.d.ts')));
  const wanted = hash.digest('hex');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return kTypesFolder;

  rmSync(kTypesFolder, { recursive: true, force: true });
  mkdirSync(kTypesFolder, { recursive: true });
  const options = {
    compilerOptions: {
      strict: true,
      allowJs: true,
      checkJs: true,
      declaration: true,
      emitDeclarationOnly: true,
      target: 'esnext',
      module: 'esnext',
      moduleResolution: 'bundler',
      lib: ['esnext', 'dom'],
      skipLibCheck: true,
      types: ['node'],
      typeRoots: [join(kRoot, 'node_modules/@types')],
      rootDir: kSources,
      rootDirs: [kSources, kNativeTypes],
      outDir: kTypesFolder,
    },
    files: [
      ...['index.js', 'worker.js', 'connect.js', 'serve.js'],
      ...['static.js', 'staticTraining.js', 'staticModels.js'],
    ].map((name) => join(kSources, name)),
  };
  const config = join(kTypesFolder, 'tsconfig.json');
  writeFileSync(config, JSON.stringify(options));
  await command(process.execPath, [join(kRoot, 'node_modules/typescript/bin/tsc'), '-p', config], {
    cwd: kRoot,
  });
  rmSync(config);
  // A static import would fail, because set-up imports this module before the npm packages are
  // installed.
  const { default: ts } = await import('typescript');
  for (const name of readdirSync(kTypesFolder)) stripInternal(ts, join(kTypesFolder, name));
  copyFileSync(join(kNativeTypes, 'native.d.ts'), join(kTypesFolder, 'native.d.ts'));
  writeFileSync(stamp, wanted);
  return kTypesFolder;
}

/**
 * Removes class members marked `@internal`. TypeScript's own option, `stripInternal`, has no effect on definitions made
 * from JavaScript. Constructors stay, because a class without a constructor would seem to have a public one.
 * @param {import('typescript')} ts
 * @param {string} path
 */
function stripInternal(ts, path) {
  const source = readFileSync(path, 'utf8');
  const file = ts.createSourceFile(path, source, ts.ScriptTarget.ESNext, true);
  const members = file.statements
    .filter(ts.isClassDeclaration)
    .flatMap(({ members }) => [...members]);
  const isInternal = (/** @type {import('typescript').ClassElement} */ member) =>
    !ts.isConstructorDeclaration(member) &&
    ts.getJSDocTags(member).some(({ tagName }) => tagName.text === 'internal');
  let text = source;
  for (const { pos, end } of members.filter(isInternal).reverse()) {
    text = text.slice(0, pos) + text.slice(end);
  }
  if (text !== source) writeFileSync(path, text);
}
