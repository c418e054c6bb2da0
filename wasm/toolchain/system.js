// Finds programs and system packages on the machine, and lets Debian's package manager install the rest.
// Imports only Node's own modules, because it runs before node_modules exists.

import { spawn, spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync, readFileSync, realpathSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline';

import { say, step } from './progress.js';

/** Thrown if the user must install something. The message says what is missing. */
export class SetupError extends Error {
  name = 'SetupError';
}

/**
 * True for the error that parseArgs() of node:util throws for an unknown option.
 * @param {unknown} error
 * @returns {error is Error}
 */
const isUnknownOption = (error) =>
  error instanceof Error && 'code' in error && `${error.code}`.startsWith('ERR_PARSE_ARGS_');

/**
 * Prints why a command could not be set up or was called wrongly, and makes the command fail. Any
 * other error is a bug; this function throws it again.
 * @param {unknown} error
 */
export function reportSetupError(error) {
  if (!(error instanceof SetupError || isUnknownOption(error))) throw error;
  say(error.message);
  process.exitCode = 1;
}

/**
 * True if node was started with this module as its script.
 * @param {ImportMeta} meta
 */
export const isMain = (meta) =>
  process.argv[1] !== undefined && meta.filename === realpathSync(process.argv[1]);

/**
 * @param {string} name
 * @returns {string | undefined} the path of a program on PATH
 */
export function findProgram(name) {
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    const path = join(folder, name);
    try {
      accessSync(path, constants.X_OK);
      return path;
    } catch {
      // The folder does not contain the program.
    }
  }
}

const kMaxLine = 200;

/** A program failed; the message ends with the program's output. */
export class CommandError extends SetupError {
  name = 'CommandError';

  /**
   * @param {string} message
   * @param {number} [code]  exit code, if the program ended on its own
   */
  constructor(message, code) {
    super(message);
    this.code = code;
  }
}

/**
 * Runs a program to its end and collects its output.
 * @param {string} program
 * @param {string[]} args
 * @param {object} options
 * @param {string} options.cwd
 * @param {Record<string, string>} [options.env]  added to this process's environment
 * @param {number} [options.timeoutMs]
 * @param {(line: string) => void} [options.onLine]  called with each line as it is printed
 * @param {boolean} [options.shell]  whether to run the program in a shell, which scripts need on
 *   Windows
 * @returns {Promise<string>} its output, including stderr
 * @throws {CommandError} if it cannot be started, fails or takes too long
 */
export function command(program, args, options) {
  const { cwd, env = {}, timeoutMs = 30 * 60 * 1000, onLine, shell = false } = options;
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      cwd,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      shell,
    });
    const timeout = setTimeout(() => child.kill(), timeoutMs);
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text) => (output += text));
      if (onLine) createInterface({ input: stream }).on('line', onLine);
    }
    /**
     * @param {string} reason
     * @param {number | null} [code]
     */
    const fail = (reason, code) => {
      clearTimeout(timeout);
      const line = [program, ...args].join(' ');
      const start = line.length > kMaxLine ? `${line.slice(0, kMaxLine)} …` : line;
      reject(new CommandError(`${start}: ${reason}\n${output}`, code ?? undefined));
    };
    child.on('error', (error) => fail(error.message));
    child.on('close', (code, signal) => {
      clearTimeout(timeout);
      if (code === 0) resolve(output);
      else fail(signal ? `ended by ${signal}` : `exit code ${code}`, code);
    });
  });
}

/**
 * @param {string} program
 * @param {string[]} args
 * @returns {string | undefined} the output of the program; undefined if it cannot run or fails
 */
export function outputOf(program, args) {
  const { status, stdout } = spawnSync(program, args, {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  return status === 0 ? stdout.trim() : undefined;
}

/** The fields of /etc/os-release; empty on systems without that file. */
export function osRelease() {
  if (!existsSync('/etc/os-release')) return {};
  const lines = readFileSync('/etc/os-release', 'utf8').matchAll(/^(\w+)="?(.*?)"?$/gm);
  return Object.fromEntries([...lines].map(([, key, value]) => [key, value]));
}

export const isDebian = () => osRelease().ID === 'debian' && findProgram('apt-get') !== undefined;

/**
 * @typedef {object} Requirement
 * @property {() => boolean} isThere
 * @property {string[]} packages  Debian packages that provide it
 * @property {string} description  what users of other systems must install
 */

/** @typedef {keyof typeof kRequirements} RequirementName */

/** @param {...string} names */
const programs =
  (...names) =>
  () =>
    names.every((name) => findProgram(name) !== undefined);

export const kLlvmFolder = '/usr/lib/llvm-19/bin';
export const kWordNetFolder = '/usr/share/wordnet';

/** @satisfies {Record<string, Requirement>} */
const kRequirements = {
  cmake: { isThere: programs('cmake'), packages: ['cmake'], description: 'CMake 3.25 or newer' },
  ninja: { isThere: programs('ninja'), packages: ['ninja-build'], description: 'Ninja' },
  compiler: {
    isThere: programs('c++'),
    packages: ['g++'],
    description: 'a C++20 compiler, callable as c++',
  },
  compilerCache: { isThere: programs('ccache'), packages: ['ccache'], description: 'ccache' },
  googletest: {
    isThere: () => existsSync('/usr/src/googletest/CMakeLists.txt'),
    packages: ['googletest'],
    description: 'the sources of GoogleTest in /usr/src/googletest',
  },
  googlebenchmark: {
    isThere: () =>
      ['/usr', '/usr/local', '/opt/homebrew'].some((prefix) =>
        existsSync(join(prefix, 'include/benchmark/benchmark.h')),
      ),
    packages: ['libbenchmark-dev'],
    description: 'Google Benchmark',
  },
  novels: {
    isThere: () => outputOf('Rscript', ['-e', 'library(janeaustenr)']) !== undefined,
    packages: ['r-base-core', 'r-cran-janeaustenr'],
    description: 'R with the package janeaustenr, callable as Rscript',
  },
  bible: {
    isThere: () =>
      findProgram('mod2imp') !== undefined &&
      existsSync('/usr/share/sword/mods.d/engWEB2015eb.conf'),
    packages: ['libsword-utils', 'sword-text-web'],
    description: 'the World English Bible for SWORD, and mod2imp',
  },
  wordnet: {
    isThere: () => existsSync(kWordNetFolder),
    packages: ['wordnet-base'],
    description: `WordNet 3.0 in ${kWordNetFolder}`,
  },
  // Debian's python3-minimal, which some Node packages install, lacks asyncio and is not enough for
  // Emscripten.
  python: {
    isThere: () => outputOf('python3', ['-c', 'import asyncio']) !== undefined,
    packages: ['python3'],
    description: 'Python 3',
  },
  llvm: {
    isThere: () =>
      ['clang++', 'wasm-ld', 'llvm-ar'].every((name) => existsSync(join(kLlvmFolder, name))),
    packages: ['clang-19', 'lld-19', 'llvm-19'],
    description: `LLVM 19 in ${kLlvmFolder}`,
  },
  clang: {
    isThere: () =>
      findProgram('clang++-19') !== undefined &&
      existsSync(join(kLlvmFolder, '../lib/clang/19/lib')),
    packages: ['clang-19', 'libclang-rt-19-dev'],
    description: 'Clang 19 with its sanitizers, callable as clang++-19',
  },
  clangFormat: {
    isThere: programs('clang-format-19'),
    packages: ['clang-format-19'],
    description: 'clang-format of LLVM 19, callable as clang-format-19',
  },
  clangTidy: {
    isThere: programs('clang-tidy-19'),
    packages: ['clang-tidy-19'],
    description: 'clang-tidy of LLVM 19, callable as clang-tidy-19',
  },
  cppcheck: { isThere: programs('cppcheck'), packages: ['cppcheck'], description: 'cppcheck' },
  valgrind: { isThere: programs('valgrind'), packages: ['valgrind'], description: 'valgrind' },
  mpi: {
    isThere: programs('mpicxx', 'mpiexec'),
    packages: ['libopenmpi-dev', 'openmpi-bin'],
    description: 'MPI, with its programs mpicxx and mpiexec',
  },
  doxygen: { isThere: programs('doxygen'), packages: ['doxygen'], description: 'Doxygen' },
  chromium: {
    isThere: () => findChromium() !== undefined,
    packages: ['chromium'],
    description: 'Chromium or Chrome, named by CHROMIUM if it is not on PATH',
  },
  firefox: {
    isThere: () => findFirefox() !== undefined,
    packages: ['firefox-esr'],
    description: 'Firefox, named by FIREFOX if it is not on PATH',
  },
  aarch64: {
    isThere: programs('aarch64-linux-gnu-g++', 'qemu-aarch64'),
    packages: ['g++-aarch64-linux-gnu', 'qemu-user'],
    description: 'the cross compiler aarch64-linux-gnu-g++ and qemu-aarch64',
  },
  clang14: {
    isThere: programs('clang++-14'),
    packages: ['clang-14'],
    description: 'Clang 14, callable as clang++-14',
  },
  riscv64: {
    isThere: programs('riscv64-linux-gnu-g++', 'qemu-riscv64'),
    packages: ['g++-riscv64-linux-gnu', 'qemu-user'],
    description: 'the cross compiler riscv64-linux-gnu-g++ and qemu-riscv64',
  },
  i686: {
    isThere: programs('i686-linux-gnu-g++'),
    packages: ['g++-i686-linux-gnu'],
    description: 'the cross compiler i686-linux-gnu-g++',
  },
  mingw: {
    isThere: () =>
      findProgram('x86_64-w64-mingw32-g++-posix') !== undefined &&
      existsSync('/usr/lib/wine/wine64'),
    packages: ['g++-mingw-w64-x86-64-posix', 'wine64'],
    description: 'MinGW-w64, callable as x86_64-w64-mingw32-g++-posix, and /usr/lib/wine/wine64',
  },
};

/** @returns {string | undefined} */
export const findChromium = () =>
  findBrowser('CHROMIUM', 'chromium', 'chromium-browser', 'google-chrome');

/** @returns {string | undefined} */
export const findFirefox = () => findBrowser('FIREFOX', 'firefox-esr', 'firefox');

/**
 * @param {string} variable  environment variable, which takes precedence
 * @param {...string} names  names of programs
 */
const findBrowser = (variable, ...names) =>
  process.env[variable] || names.map(findProgram).find((path) => path !== undefined);

/**
 * Makes sure that the machine meets the requirements `names`. Installs packages on Debian. On other
 * systems the error says what is missing.
 * @param {string} purpose  completes the sentence "Installing … with apt-get, …"
 * @param {RequirementName[]} names
 * @throws {SetupError}
 */
export async function requireAll(purpose, names) {
  const missing = [...new Set(names)]
    .map((name) => kRequirements[name])
    .filter(({ isThere }) => !isThere());
  if (missing.length === 0) return;
  const descriptions = missing.map(({ description }) => description).join('; ');
  const packages = missing.flatMap((requirement) => requirement.packages);
  if (!isDebian()) {
    throw new SetupError(
      `Missing ${purpose}: ${descriptions}. Install it with your system's package manager ` +
        `(Debian calls it ${packages.join(' ')}).`,
    );
  }
  await installPackages(purpose, packages);
  const stillMissing = missing
    .filter(({ isThere }) => !isThere())
    .map(({ description }) => description);
  if (stillMissing.length > 0) {
    throw new SetupError(
      `Still missing after installing ${packages.join(' ')}: ` + `${stillMissing.join('; ')}.`,
    );
  }
}

/**
 * @param {string} purpose
 * @param {string[]} packages
 */
async function installPackages(purpose, packages) {
  /** @type {string[]} */
  let prefix = [];
  if (process.getuid?.() !== 0) {
    prefix = ['sudo', '-n'];
    if (!findProgram('sudo') || outputOf('sudo', ['-n', 'true']) === undefined) {
      throw new SetupError(
        `Debian packages are missing ${purpose}; install them as root: ` +
          `apt-get install --no-install-recommends ${packages.join(' ')}`,
      );
    }
  }
  const options = ['-o', 'DPkg::Lock::Timeout=900', '-o', 'Dpkg::Use-Pty=0'];
  await step(`Installing Debian packages ${purpose} (${packages.join(' ')})`, async (update) => {
    const apt = (/** @type {string[]} */ ...args) => {
      const [program, ...rest] = [...prefix, 'env', 'DEBIAN_FRONTEND=noninteractive', 'apt-get'];
      return aptGet(program, [...rest, ...options, ...args], { cwd: '/', update });
    };
    const install = () => apt('install', '-y', '--no-install-recommends', ...packages);
    try {
      await install();
    } catch (error) {
      // Package lists are fetched only when they are missing or too old to install from.
      if (!(error instanceof CommandError)) throw error;
      await apt('update');
      await install();
    }
  });
}

/**
 * Runs apt-get and reports its progress.
 * @param {string} program  apt-get, or a program that runs it
 * @param {string[]} args
 * @param {{ cwd: string, update: import('./progress.js').Update }} options
 */
export const aptGet = (program, args, { cwd, update }) =>
  // apt-get closes the status descriptor in the programs that it runs. If the descriptor were 1, package
  // scripts could not print and would fail.
  command('sh', ['-c', 'exec "$0" "$@" -qq -o APT::Status-Fd=3 3>&1', program, ...args], {
    cwd,
    // A status line looks like "dlstatus:1:42.5:Retrieving file 1 of 3".
    onLine(line) {
      const [, percent, text] = line.match(/^(?:dl|pm)status:[^:]*:([\d.]+):(.*)/) ?? [];
      if (percent) update(`${Math.floor(Number(percent))} %, ${text}`);
    },
  });

/**
 * @param {string} version
 * @param {string} minimum
 */
export function atLeast(version, minimum) {
  const parts = version.split('.').map(Number);
  for (const [i, part] of minimum.split('.').map(Number).entries()) {
    if ((parts[i] ?? 0) !== part) return (parts[i] ?? 0) > part;
  }
  return true;
}
