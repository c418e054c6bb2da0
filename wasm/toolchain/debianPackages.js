// Downloads packages of another Debian release and unpacks them into a folder, without root and
// without touching the machine's own package lists. Uses the mirror, signing key and options of the
// machine's own sources.

import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { aptGet, command, osRelease, SetupError } from './system.js';

/** @import { Update } from './progress.js' */

/**
 * @param {string} release  code name of the Debian release that has the packages
 * @param {string[]} packages
 * @param {string} folder  target folder
 * @param {Update} update  receives the progress
 * @param {string[]} [exclude]  patterns of files to leave out, in GNU tar's syntax
 */
export async function unpackDebianPackages(release, packages, folder, update, exclude = []) {
  const work = mkdtempSync(join(tmpdir(), 'attn-packages-'));
  try {
    mkdirSync(folder, { recursive: true });
    for (const name of ['lists/partial', 'cache/archives/partial', 'none']) {
      mkdirSync(join(work, name), { recursive: true });
    }
    const sources = sourceFor(release);
    const sourcesFile = join(work, `release.${sources.format}`);
    writeFileSync(sourcesFile, sources.text);
    writeFileSync(join(work, 'status'), '');
    const settings = {
      'Dir::Etc::sourcelist': sourcesFile,
      'Dir::Etc::sourceparts': join(work, 'none'),
      'Dir::Etc::preferences': join(work, 'none/preferences'),
      'Dir::Etc::preferencesparts': join(work, 'none'),
      'Dir::State::Lists': join(work, 'lists'),
      'Dir::State::status': join(work, 'status'),
      'Dir::Cache': join(work, 'cache'),
      'Acquire::Languages': 'none',
      // When root runs apt, apt downloads as another user, who cannot write to this folder.
      ...(process.getuid?.() === 0 && { 'APT::Sandbox::User': 'root' }),
    };
    const options = Object.entries(settings).flatMap(([key, value]) => ['-o', `${key}=${value}`]);
    await aptGet('apt-get', [...options, 'update'], { cwd: work, update });
    await aptGet('apt-get', [...options, 'download', ...packages], { cwd: work, update });
    for (const file of readdirSync(work).filter((name) => name.endsWith('.deb'))) {
      update(`unpacking ${file}`);
      await unpack(join(work, file), folder, exclude);
    }
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/**
 * @param {string} file
 * @param {string} folder
 * @param {string[]} exclude
 */
async function unpack(file, folder, exclude) {
  const script = 'dpkg-deb --fsys-tarfile "$0" | tar -x --no-same-owner -C "$@"';
  const args = [folder, ...exclude.map((pattern) => `--exclude=${pattern}`)];
  await command('bash', ['-o', 'pipefail', '-c', script, file, ...args], { cwd: folder });
}

/**
 * Returns the machine's package source, changed to another release.
 * @param {string} release
 * @param {string} [own]  code name of the machine's release
 * @param {string} [configFolder]
 * @returns {{ format: 'list' | 'sources', text: string }}
 */
export function sourceFor(release, own = osRelease().VERSION_CODENAME, configFolder = '/etc/apt') {
  const folder = join(configFolder, 'sources.list.d');
  const files = list(folder).map((name) => join(folder, name));
  for (const file of [join(configFolder, 'sources.list'), ...files]) {
    if (file.endsWith('.list')) {
      for (const line of read(file).split('\n')) {
        const [, options = '', address, suite, components = ''] =
          line.match(/^\s*deb\s+(\[.*?\]\s+)?(\S+)\s+(\S+)\s+([^#]*)/) ?? [];
        if (suite === own && components.split(/\s+/).includes('main')) {
          return { format: 'list', text: `deb ${options}${address} ${release} main\n` };
        }
      }
    } else if (file.endsWith('.sources')) {
      for (const stanza of read(file)
        .replace(/^#.*\n/gm, '')
        .split(/\n\s*\n/)) {
        const has = (/** @type {string} */ field, /** @type {string} */ word) =>
          stanza
            .match(new RegExp(`^${field}:(.*)$`, 'im'))?.[1]
            .trim()
            .split(/\s+/)
            .includes(word);
        if (!has('Types', 'deb') || !has('Suites', own) || !has('Components', 'main')) continue;
        if (has('Enabled', 'no')) continue;
        const text = stanza
          .replace(/^Types:.*$/im, 'Types: deb')
          .replace(/^Suites:.*$/im, `Suites: ${release}`)
          .replace(/^Components:.*$/im, 'Components: main');
        return { format: 'sources', text: `${text.trim()}\n` };
      }
    }
  }
  throw new SetupError(
    `${configFolder} has no package source for Debian ${own}. Add one: packages of Debian ` +
      `${release} are downloaded from the same mirror.`,
  );
}

/** @param {string} folder */
function list(folder) {
  try {
    return readdirSync(folder).sort();
  } catch {
    return [];
  }
}

/** @param {string} file */
function read(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
