// npm run release: writes all files of a release to build/release-files.
//
//   npm run release -- --dry-run   skips the tests and accepts a checkout that is not ready

import { createHash } from 'node:crypto';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

import { buildAll, setUp } from './build.js';
import { kBuildFolder, kLockFile, kRoot } from './checkout.js';
import { cmakeBuild } from './cmake.js';
import { withLock } from './lock.js';
import { say, step } from './progress.js';
import { command, isMain, reportSetupError, SetupError } from './system.js';

const kFolder = join(kBuildFolder, 'release-files');

/**
 * Sentences that say why a checkout is not ready for a release.
 * @param {object} checkout
 * @param {Record<string, unknown>} checkout.packageJson
 * @param {string} checkout.cmakeLists
 * @param {string} checkout.changelog
 * @param {string} checkout.status  output of git status --porcelain
 */
export function obstacles({ packageJson, cmakeLists, changelog, status }) {
  const { version } = packageJson;
  const missing = ['repository', 'homepage', 'bugs'].filter((field) => !packageJson[field]);
  const native = /project\(attn VERSION (\S+)/.exec(cmakeLists)?.[1];
  const heading = /^## (.*)$/m.exec(changelog)?.[1] ?? '';
  const [newest, date] = heading.split(', ');
  const sentences = [];
  if (missing.length > 0) {
    sentences.push(`package.json lacks ${missing.join(', ')}: add the public address.`);
  }
  if (native !== version) {
    sentences.push(`CMakeLists.txt says version ${native} and package.json ${version}.`);
  }
  if (newest !== version || !/^\d{4}-\d\d-\d\d$/.test(date ?? '')) {
    sentences.push(
      `CHANGELOG.md begins with "${heading}": give version ${version} its date, as in "${version}, 2026-12-31".`,
    );
  }
  if (status) sentences.push('The checkout has changes that are not committed.');
  return sentences;
}

/** @param {string} program @param {...string} args */
const run = (program, ...args) => command(program, args, { cwd: kRoot });
const read = (/** @type {string} */ file) => readFileSync(join(kRoot, file), 'utf8');

/**
 * Returns the required files that a package lacks. A package requires a license, a README and the
 * files that its `exports` name.
 * @param {string[]} files  files of the packed package
 * @param {Record<string, string | Record<string, string>>} exports
 */
export function missingFiles(files, exports) {
  const targets = Object.values(exports)
    .flatMap((entry) => (typeof entry === 'string' ? [entry] : Object.values(entry)))
    .filter((target) => !target.includes('*'))
    .map((target) => target.replace('./', ''));
  return ['LICENSE', 'README.md', ...targets].filter((file) => !files.includes(file));
}

async function makeRelease() {
  const { 'dry-run': isDryRun } = parseArgs({ options: { 'dry-run': { type: 'boolean' } } }).values;
  const packageJson = JSON.parse(read('package.json'));
  const sentences = obstacles({
    packageJson,
    cmakeLists: read('CMakeLists.txt'),
    changelog: read('CHANGELOG.md'),
    status: await run('git', 'status', '--porcelain'),
  });
  if (sentences.length > 0 && !isDryRun) throw new SetupError(sentences.join('\n'));
  for (const sentence of sentences) say(`Not ready: ${sentence}`);
  if (!isDryRun) {
    for (const script of ['test', 'test:all']) {
      await step(`Running npm run ${script}`, () => run('npm', 'run', script));
    }
  }

  const env = await setUp();
  rmSync(kFolder, { recursive: true, force: true });
  mkdirSync(kFolder, { recursive: true });
  await withLock(kLockFile, async () => {
    await buildAll(env);
    await step('Building the library', () =>
      cmakeBuild('release', ['attn', 'attn_selftest'], env, { tests: false }),
    );
  });
  const name = `attn-${packageJson.version}`;
  const packed = ['pack', '--json', '--loglevel=error', '--pack-destination', kFolder];
  const [{ files }] = JSON.parse(await run('npm', ...packed));
  const paths = files.map((/** @type {{ path: string }} */ { path }) => path);
  const missing = missingFiles(paths, packageJson.exports);
  if (missing.length > 0) throw new SetupError(`The package lacks ${missing.join(', ')}.`);
  const source = [
    '--format=tar.gz',
    `--prefix=${name}/`,
    '-o',
    join(kFolder, `${name}-source.tar.gz`),
  ];
  await run('git', 'archive', ...source, 'HEAD');
  await run('cpack', '--config', join(kBuildFolder, 'release/CPackConfig.cmake'), '-B', kFolder);
  rmSync(join(kFolder, '_CPack_Packages'), { recursive: true, force: true });
  const page = ['-E', 'tar', 'cf', join(kFolder, `${name}-page.zip`), '--format=zip', '.'];
  await command('cmake', page, { cwd: join(kRoot, 'web/dist') });
  copyFileSync(join(kRoot, 'web/dist/attn.html'), join(kFolder, `${name}.html`));

  const sums = readdirSync(kFolder).map((file) => {
    const sum = createHash('sha256').update(readFileSync(join(kFolder, file)));
    return `${sum.digest('hex')}  ${file}\n`;
  });
  writeFileSync(join(kFolder, 'SHA256SUMS'), sums.join(''));
  say(`The files are in ${kFolder}:\n${sums.join('')}`);
}

if (isMain(import.meta)) {
  try {
    await makeRelease();
  } catch (error) {
    reportSetupError(error);
  }
}
