const inLine = (/** @type {string} */ tex) => String.raw`\textstyle ${tex}`;

/** What each layer costs: multiply-adds, steps in sequence, longest path. */
export const costs = {
  convolution: {
    operations: inLine('n k d^2'),
    sequential: inLine('1'),
    path: inLine(String.raw`\lceil (n-1)/(k-1) \rceil`),
  },
  dilated: {
    operations: inLine('n k d^2'),
    sequential: inLine('1'),
    path: inLine(String.raw`\lceil\log_k n\rceil`),
  },
  recurrence: {
    operations: inLine('2 n d^2'),
    sequential: inLine('n'),
    path: inLine('n'),
  },
  attention: {
    operations: inLine('2 n^2 d'),
    sequential: inLine('1'),
    path: inLine('1'),
  },
  projections: {
    operations: inLine('2 n^2 d + 4 n d^2'),
    sequential: inLine('1'),
    path: inLine('1'),
  },
  window: {
    operations: inLine(String.raw`\approx 2 n\,(2w + 1)\,d,\; w = @`),
    sequential: inLine('1'),
    path: inLine(String.raw`\lceil (n-1)/2w \rceil`),
  },
};
