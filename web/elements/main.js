import 'attn/figures';

// Shows the code of each example below its drawing, and runs it.
const codes = import.meta.glob('./examples/*.js', { query: '?raw', import: 'default' });
const examples = import.meta.glob('./examples/*.js');

/** @param {string} code */
function listing(code) {
  const pre = document.createElement('pre');
  pre.tabIndex = 0;
  pre.append(code.trim());
  return pre;
}

for (const example of /** @type {NodeListOf<HTMLElement>} */ (
  document.querySelectorAll('[data-example]')
)) {
  const html = example.innerHTML.trim().replace(/=""/g, '').replace(/\n +/g, '\n');
  const path = `./examples/${example.dataset.example}.js`;
  if (!examples[path]) {
    example.append(listing(html));
    continue;
  }
  const code = /** @type {string} */ (await codes[path]());
  example.append(listing(`${html}\n\n${code}`));
  await examples[path]();
}
