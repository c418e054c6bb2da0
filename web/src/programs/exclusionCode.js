/** @typedef {Parameters<import('../core/exclusion.js').exclusionOf>[0]} Masks */

/**
 * The masks in the settings as lines of programs: the lines before a call with n queries and keys,
 * and the options of the call. `n` is already defined; in Python, `attends` (n, n) is true where a
 * query may attend.
 * @param {Masks} masks
 * @param {number} length length of the sentence
 * @returns {Record<'python' | 'cpp' | 'javascript', { before: string, options: string[] }>}
 */
export function exclusionCode({ causal, window, validLen, blocked }, length) {
  const keys = Math.min(validLen, length);
  const cells = blocked.filter(({ row, column }) => row < length && column < length);
  const pairs = cells.map(({ row, column }) => [row, column]);
  const given = (/** @type {unknown} */ value, /** @type {string} */ text) => (value ? [text] : []);
  return {
    javascript: {
      before: cells.length
        ? `const mask = { data: new Uint8Array(n * n).fill(1), shape: [n, n] };
for (const [query, key] of ${JSON.stringify(pairs)}) mask.data[query * n + key] = 0;`
        : '',
      options: [
        ...given(causal, 'causal: true'),
        ...given(window, `window: { left: ${window}, right: ${window} }`),
        ...given(validLen, `validLens: [${keys}]`),
        ...given(cells.length, 'mask'),
      ],
    },
    python: {
      before: [
        'query, key = torch.arange(n)[:, None], torch.arange(n)[None, :]',
        'attends = torch.ones(n, n, dtype=torch.bool)',
        ...given(causal, 'attends &= key <= query'),
        ...given(window, `attends &= (key - query).abs() <= ${window}`),
        ...given(validLen, `attends &= key < ${keys}`),
        ...pairs.map(([row, column]) => `attends[${row}, ${column}] = False`),
      ].join('\n'),
      options: ['~attends'],
    },
    cpp: {
      before: [
        ...given(cells.length, 'std::vector<std::uint8_t> mask(n * n, 1);'),
        ...pairs.map(([row, column]) => `mask[${row} * n + ${column}] = 0;`),
        ...given(validLen, `const std::int32_t valid_len = ${keys};`),
      ].join('\n'),
      options: [
        ...given(cells.length, '.mask = attn::ConstMask(mask.data(), {n, n})'),
        ...given(causal, '.causal = true'),
        ...given(window, `.window = attn::Window{.left = ${window}, .right = ${window}}`),
        ...given(validLen, '.valid_lens = attn::ConstLengths(&valid_len, {1})'),
      ],
    },
  };
}
