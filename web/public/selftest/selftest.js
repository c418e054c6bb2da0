// Runs attn-selftest, one variant of WebAssembly after the other, in a worker.

const element = (/** @type {string} */ id) =>
  /** @type {HTMLElement} */ (document.getElementById(id));
const [run, copy, state, report] = ['run', 'copy', 'status', 'report'].map(element);

/** @param {string} line */
function print(line) {
  report.hidden = false;
  report.textContent += `${line}\n`;
}

/**
 * Runs the program that contains one variant, and prints its lines.
 * @param {string} variant
 */
function test(variant) {
  print(`${variant}:`);
  const worker = new Worker(`worker.js?${variant}`, { type: 'module' });
  return new Promise((resolve) => {
    worker.addEventListener('message', ({ data: { line } }) =>
      line === undefined ? resolve(undefined) : print(line),
    );
    worker.addEventListener('error', ({ message }) => {
      print(`could not start: ${message || 'the file is missing. Make it with “npm run build”.'}`);
      resolve(undefined);
    });
  }).finally(() => worker.terminate());
}

run.addEventListener('click', async () => {
  run.toggleAttribute('disabled', true);
  copy.hidden = true;
  report.textContent = '';
  print(`${navigator.userAgent}, ${navigator.hardwareConcurrency} cores`);
  for (const variant of ['simd128', 'relaxed-simd']) {
    state.textContent = `Testing ${variant} …`;
    print('');
    await test(variant);
  }
  state.textContent = 'Done.';
  copy.hidden = false;
  run.toggleAttribute('disabled', false);
});

copy.addEventListener('click', async () => {
  await navigator.clipboard.writeText(report.textContent ?? '');
  state.textContent = 'Copied.';
});

export {};
