/**
 * Code that defines changes to a model's intermediate values, and options that pass the changes to
 * a call. All strings are empty if there are no changes.
 * @param {Required<Pick<import('attn').InterventionOptions, 'knockOut' | 'ablate'>>} changes
 */
export function interventions({ knockOut, ablate }) {
  const cpp = [
    ...knockOut.map(
      ({ attention, head, query, key }) =>
        `changes.knock_out("${attention}", ${head ?? '{}'}, ${query}, ${key});\n`,
    ),
    ...ablate.map(({ name, head, replacement }) => {
      const ablation = `attn::Ablation::k${replacement === 'mean' ? 'Mean' : 'Zero'}`;
      return `changes.ablate("${name}", ${ablation}${head === undefined ? '' : `, {.head = ${head}}`});\n`;
    }),
  ];
  const inHead = (/** @type {number | undefined} */ head) =>
    head === undefined ? '' : `, head: ${head}`;
  const lists = Object.entries({
    knockOut: knockOut.map(
      ({ attention, head, query, key }) =>
        `  { attention: '${attention}'${inHead(head)}, query: ${query}, key: ${key} },\n`,
    ),
    ablate: ablate.map(
      ({ name, head, replacement }) =>
        `  { name: '${name}'${inHead(head)}, replacement: '${replacement}' },\n`,
    ),
  }).filter(([, lines]) => lines.length);
  return {
    cpp: cpp.length ? `attn::Interventions changes;\n${cpp.join('')}` : '',
    cppOption: cpp.length ? ', .interventions = &changes' : '',
    javascript: lists.map(([name, lines]) => `const ${name} = [\n${lines.join('')}];\n`).join(''),
    javascriptOption: lists.map(([name]) => `, ${name}`).join(''),
  };
}
