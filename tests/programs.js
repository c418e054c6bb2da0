// Runs the programs that the page offers as "code for this picture" and reads their output.

import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

import { kBuildFolder, kRoot } from '../wasm/toolchain/checkout.js';

const execute = promisify(execFile);

/**
 * The native library: the file named by ATTN_LIBRARY, by default the library of the release preset.
 */
const library = process.env.ATTN_LIBRARY ?? join(kBuildFolder, 'release', 'core', 'libattn.a');
const includes = [join(kRoot, 'core', 'include'), join(library, '..', 'include')];
const compiler = process.env.CXX ?? 'c++';
/** A Python interpreter that can import torch. */
const python = process.env.PYTHON ?? 'python3';

/**
 * Explains why programs in a language cannot run here, or returns false if they can. Use the result
 * as a test's `skip`.
 * @param {'python' | 'cpp' | 'javascript'} language
 * @param {string} [torch] the module that a Python program imports
 * @returns {Promise<string | false>}
 */
export async function reasonToSkip(language, torch = 'torch') {
  switch (language) {
    case 'python':
      return execute(python, ['-c', `import torch, ${torch}`]).then(
        () => false,
        () => `${python} has no ${torch}; set PYTHON to a Python that has it`,
      );
    case 'cpp':
      return existsSync(library)
        ? false
        : `${library} does not exist; build the preset release or set ATTN_LIBRARY`;
    default:
      return false;
  }
}

/**
 * @param {'python' | 'cpp' | 'javascript'} language
 * @param {string} text text of the program
 * @param {Record<string, Uint8Array>} [files] files that the program reads, by name
 * @returns {Promise<number[][]>} the printed matrix
 */
export async function run(language, text, files = {}) {
  const known = await knownOutput(language, text, files);
  if (known && existsSync(known)) return matrixOf(await readFile(known, 'utf8'));
  const stdout = await outputOf(language, text, files);
  if (known) {
    await mkdir(dirname(known), { recursive: true });
    const unfinished = `${known}-${process.pid}`;
    await writeFile(unfinished, stdout);
    await rename(unfinished, known);
  }
  return matrixOf(stdout);
}

/** @param {string} text */
const matrixOf = (text) =>
  text
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number));

/** @type {Promise<string> | undefined} */
let hashOfLibrary;

/**
 * Returns the file with the output of a C++ program, which exists if the program has already run
 * with the same library. Compiling the programs takes most of the time of their tests, and most
 * changes affect neither the library nor a program.
 * @param {string} language @param {string} text @param {Record<string, Uint8Array>} files
 */
async function knownOutput(language, text, files) {
  if (language !== 'cpp' || process.env.CI) return undefined;
  const parent = join(kBuildFolder, 'outputs');
  hashOfLibrary ??= (async () => {
    const { stdout } = await execute(compiler, ['--version']);
    const hash = createHash('sha256')
      .update(stdout)
      .update(await readFile(library));
    for (const file of [import.meta.filename, ...headers()]) hash.update(await readFile(file));
    const name = hash.digest('hex').slice(0, 16);
    const others = existsSync(parent) ? readdirSync(parent).filter((each) => each !== name) : [];
    for (const each of others) await rm(join(parent, each), { recursive: true, force: true });
    return name;
  })();
  const hash = createHash('sha256').update(text);
  for (const [name, content] of Object.entries(files)) {
    hash.update(`\0${name}\0${content.length}\0`).update(content);
  }
  return join(parent, await hashOfLibrary, hash.digest('hex'));
}

/** @param {keyof typeof commands} language @param {string} text @param {Record<string, Uint8Array>} files */
async function outputOf(language, text, files) {
  await mkdir(kBuildFolder, { recursive: true });
  const folder = await mkdtemp(
    join(language === 'javascript' ? kBuildFolder : tmpdir(), 'program-'),
  );
  try {
    for (const [name, content] of Object.entries(files))
      await writeFile(join(folder, name), content);
    return await commands[language](folder, text);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** This process's WebAssembly flags, which are passed on to the programs. */
const flags = process.execArgv.filter((flag) => flag.startsWith('--experimental-wasm'));
const options = { maxBuffer: 2 ** 28 };

/** @type {Record<string, (folder: string, text: string) => Promise<string>>} */
const commands = {
  async javascript(folder, text) {
    const file = join(folder, 'program.mjs');
    await writeFile(file, text);
    return (await execute(process.execPath, [...flags, file], { ...options, cwd: folder })).stdout;
  },
  async python(folder, text) {
    const file = join(folder, 'program.py');
    await writeFile(file, text);
    return (await execute(python, [file], { ...options, cwd: folder })).stdout;
  },
  async cpp(folder, text) {
    const [file, program] = [join(folder, 'program.cpp'), join(folder, 'program')];
    await writeFile(file, text);
    parsed ??= parseHeaders();
    await compile(['-I', await parsed, file, library, '-o', program]);
    return (await execute(program, { ...options, cwd: folder })).stdout;
  },
};

/**
 * Runs the compiler. GCC ignores a precompiled header that was compiled with other options, and
 * compiles twice as long; `-Winvalid-pch` reports this as an error.
 * @param {string[]} args
 */
const compile = (args) =>
  execute(compiler, [
    ...['-std=c++20', '-pthread', '-Wall', '-Wextra', '-Werror', '-Winvalid-pch'],
    ...args.slice(0, 2),
    ...includes.flatMap((folder) => ['-I', folder]),
    ...args.slice(2),
  ]);

/** The library's headers. */
const headers = () =>
  includes.flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .sort()
      .filter((path) => path.endsWith('.hpp'))
      .map((path) => join(folder, path)),
  );

/** @type {Promise<string> | undefined} */
let parsed;

/**
 * Precompiles the library's headers for all programs, once for each version of the headers.
 * @returns {Promise<string>} the folder with the precompiled header
 */
async function parseHeaders() {
  const hash = createHash('sha256').update(compiler);
  for (const file of headers()) hash.update(readFileSync(file));
  const parent = join(kBuildFolder, 'programs');
  const name = hash.digest('hex').slice(0, 16);
  const folder = join(parent, name);
  if (existsSync(folder)) return folder;
  await mkdir(parent, { recursive: true });
  for (const other of readdirSync(parent).filter((file) => !file.startsWith(name)))
    await rm(join(parent, other), { recursive: true, force: true });
  const unfinished = await mkdtemp(`${folder}-`);
  await mkdir(join(unfinished, 'attn'));
  const header = join(includes[0], 'attn', 'attn.hpp');
  const output = join(unfinished, 'attn', 'attn.hpp.gch');
  await compile(['-x', 'c++-header', header, '-o', output, '-w']);
  await rename(unfinished, folder).catch(() => rm(unfinished, { recursive: true }));
  return folder;
}
