// Downloads packages of another Debian release and unpacks them into a folder, without root and
// without touching the machine's own package lists. Mirror, signing key and options are those of
// the machine's own sources.

import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { osRelease, run, SetupError } from './system.js';

/**
 * @param {string} release  code name of the Debian release that has the packages
 * @param {string[]} packages
 * @param {string} folder  where to unpack to
 * @param {string[]} [exclude]  patterns of files to leave out, as GNU tar takes them
 */
export function unpackDebianPackages(release, packages, folder, exclude = []) {
  const work = mkdtempSync(join(tmpdir(), 'attn-packages-'));
  try {
    mkdirSync(folder, { recursive: true });
    for (const name of ['lists/partial', 'cache/archives/partial', 'none']) {
      mkdirSync(join(work, name), { recursive: true });
    }
    const sources = sourcesFor(release);
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
      // apt's own user for downloads could not write into this folder.
      ...(process.getuid?.() === 0 && { 'APT::Sandbox::User': 'root' }),
    };
    const options = Object.entries(settings).flatMap(([key, value]) => ['-o', `${key}=${value}`]);
    run('apt-get', ['-qq', ...options, 'update'], { cwd: work });
    run('apt-get', ['-qq', ...options, 'download', ...packages], { cwd: work });
    for (const file of readdirSync(work).filter((name) => name.endsWith('.deb'))) {
      unpack(join(work, file), folder, exclude);
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
function unpack(file, folder, exclude) {
  const script = 'dpkg-deb --fsys-tarfile "$0" | tar -x --no-same-owner -C "$@"';
  const args = [folder, ...exclude.map((pattern) => `--exclude=${pattern}`)];
  const { status, stderr } = spawnSync('bash', ['-o', 'pipefail', '-c', script, file, ...args], {
    encoding: 'utf8',
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  if (status !== 0) throw new SetupError(`Could not unpack ${file}: ${stderr.trim()}`);
}

/**
 * The machine's source of its own release, changed to name `release`.
 * @param {string} release
 * @returns {{ format: 'list' | 'sources', text: string }}
 */
function sourcesFor(release) {
  const own = osRelease().VERSION_CODENAME;
  const folder = '/etc/apt/sources.list.d';
  const files = ['/etc/apt/sources.list', ...list(folder).map((name) => join(folder, name))];
  for (const file of files) {
    const text = read(file);
    if (file.endsWith('.list')) {
      for (const line of text.split('\n')) {
        const match = line.match(/^deb\s+(\[.*?\]\s+)?(\S+)\s+(\S+)\s+(.*)$/);
        if (match && match[3] === own && match[4].split(/\s+/).includes('main')) {
          return { format: 'list', text: `deb ${match[1] ?? ''}${match[2]} ${release} main\n` };
        }
      }
    } else if (file.endsWith('.sources')) {
      for (const stanza of text.replace(/^#.*\n/gm, '').split(/\n\s*\n/)) {
        const words = (/** @type {string} */ field) =>
          stanza
            .match(new RegExp(`^${field}:(.*)$`, 'im'))?.[1]
            .trim()
            .split(/\s+/) ?? [];
        if (
          words('Types').includes('deb') &&
          words('Suites').includes(own) &&
          words('Components').includes('main') &&
          !words('Enabled').includes('no')
        ) {
          const changed = stanza
            .replace(/^Types:.*$/im, 'Types: deb')
            .replace(/^Suites:.*$/im, `Suites: ${release}`)
            .replace(/^Components:.*$/im, 'Components: main');
          return { format: 'sources', text: `${changed.trim()}\n` };
        }
      }
    }
  }
  throw new SetupError(
    `No source for the packages of Debian ${own} in /etc/apt, so there is no mirror to ` +
      `download packages of Debian ${release} from.`,
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
