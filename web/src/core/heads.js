/**
 * Joins the outputs of all heads into one matrix, with the heads' columns side by side.
 * @param {import('attn').Tensor} tensor (H, n, D), or (1, H, n, D)
 * @returns {import('attn').Tensor} (n, H·D)
 */
export function joinHeads({ data, shape }) {
  const [heads, length, depth] = shape.slice(-3);
  const joined = new Float32Array(data.length);
  for (let head = 0; head < heads; head++) {
    for (let i = 0; i < length; i++) {
      const from = (head * length + i) * depth;
      joined.set(data.subarray(from, from + depth), (i * heads + head) * depth);
    }
  }
  return { data: joined, shape: [length, heads * depth] };
}

/**
 * Splits a tensor into one matrix per head.
 * @param {import('attn').Tensor} tensor (H, n, columns)
 * @returns {import('attn').Tensor[]} (n, columns) for each head
 */
export function splitHeads({ data, shape: [heads, rows, columns] }) {
  const size = rows * columns;
  return Array.from({ length: heads }, (_, head) => ({
    data: data.subarray(head * size, (head + 1) * size),
    shape: [rows, columns],
  }));
}
