// npm run coverage: runs the native tests and reports which of the core's lines they reach. The
// line-by-line report is build/coverage/report/index.html.

import { join } from 'node:path';

import { kBuildFolder, kLockFile, kRoot } from '../../wasm/toolchain/checkout.js';
import { cmakeBuild } from '../../wasm/toolchain/cmake.js';
import { nativeEnvironment } from '../../wasm/toolchain/env.js';
import { withLock } from '../../wasm/toolchain/lock.js';
import { say } from '../../wasm/toolchain/progress.js';
import { command, kLlvmFolder, reportSetupError, requireAll } from '../../wasm/toolchain/system.js';

const kFolder = join(kBuildFolder, 'coverage');

async function measure() {
  await requireAll('for measuring coverage', ['cmake', 'ninja', 'clang', 'llvm', 'googletest']);
  say('Building the tests.');
  await cmakeBuild('coverage', ['attn_tests'], await nativeEnvironment());
  say('Running them.');
  const program = join(kFolder, 'tests/native/attn_tests');
  const [raw, profile] = ['raw', 'data'].map((end) => join(kFolder, `coverage.prof${end}`));
  const run = (/** @type {string} */ name, /** @type {string[]} */ ...args) =>
    command(name, args, { cwd: kRoot, env: { LLVM_PROFILE_FILE: raw } });
  await run(program, '--gtest_brief=1');
  await run(join(kLlvmFolder, 'llvm-profdata'), 'merge', '-sparse', raw, '-o', profile);
  const cov = join(kLlvmFolder, 'llvm-cov');
  const what = [program, `-instr-profile=${profile}`, join(kRoot, 'core')];
  const html = join(kFolder, 'report');
  await run(cov, 'show', '-format=html', `-output-dir=${html}`, '-show-regions', ...what);
  console.log(await run(cov, 'report', '-show-branch-summary=false', ...what));
  say(`Line by line: ${join(html, 'index.html')}`);
}

try {
  await withLock(kLockFile, measure);
} catch (error) {
  reportSetupError(error);
}
