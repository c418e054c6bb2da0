import { indented } from '../programs/writers.js';

/** @typedef {import('../programs/print.js').Call} Call */

/**
 * Lines of a program that make an example of a task with n given symbols. In C++ and JavaScript,
 * they use uniform random numbers u. In Python, they make a whole batch from PyTorch's random
 * numbers. `length` is the example's length, and `numbers` is how many random numbers it takes.
 * @typedef {Record<'python' | 'cpp' | 'javascript' | 'length' | 'numbers', string>} Filling
 */

/** @param {Record<'python' | 'cpp' | 'javascript', string>} answer @returns {Filling} */
const rearranged = (answer) => ({
  ...{ length: '2 * n', numbers: 'n' },
  python: `ids[:, :n] = torch.randint(20, (batch, n))
ids[:, n:] = 20
targets[:, n:] = ${answer.python}`,
  cpp: `for (int i = 0; i < n; ++i) ids[i] = static_cast<std::int32_t>(20.0 * u[i]);
std::fill(ids + n, ids + 2 * n, 20);
std::fill(targets, targets + n, -100);
${answer.cpp}`,
  javascript: `for (let i = 0; i < n; i++) ids[i] = Math.floor(20 * u[i]);
ids.fill(20, n);
targets.fill(-100, 0, n);
targets.set(ids.slice(0, n)${answer.javascript}, n);`,
});

/** @type {Record<Exclude<import('./worlds.js').WorldName, 'dates'>, Filling>} */
export const fillings = {
  copy: rearranged({
    python: 'ids[:, :n]',
    cpp: 'std::copy(ids, ids + n, targets + n);',
    javascript: '',
  }),
  reverse: rearranged({
    python: 'ids[:, :n].flip(1)',
    cpp: 'std::reverse_copy(ids, ids + n, targets + n);',
    javascript: '.reverse()',
  }),
  sort: rearranged({
    python: 'ids[:, :n].sort(1).values',
    cpp: 'std::copy(ids, ids + n, targets + n);\nstd::sort(targets + n, targets + 2 * n);',
    javascript: '.sort()',
  }),
  repeat: {
    ...{ length: 'n', numbers: 'n + 3' },
    python: `ids[:] = torch.randint(26, (batch, n))
for row in range(batch):
    run = int(torch.randint(4, 13, ()))
    gap = int(torch.randint(n + 1 - 2 * run, ()))
    first = int(torch.randint(n + 1 - 2 * run - gap, ()))
    second = first + run + gap
    ids[row, second:second + run] = ids[row, first:first + run].clone()
    targets[row, second:second + run - 1] = ids[row, second + 1:second + run]`,
    cpp: `for (int i = 0; i < n; ++i) ids[i] = static_cast<std::int32_t>(26.0 * u[i]);
const int run = 4 + static_cast<int>(9.0 * u[n]);
const int gap = static_cast<int>((n + 1.0 - 2 * run) * u[n + 1]);
const int first = static_cast<int>((n + 1.0 - 2 * run - gap) * u[n + 2]);
const int second = first + run + gap;
std::copy(ids + first, ids + first + run, ids + second);
std::fill(targets, targets + n, -100);
std::copy(ids + second + 1, ids + second + run, targets + second);`,
    javascript: `for (let i = 0; i < n; i++) ids[i] = Math.floor(26 * u[i]);
const run = 4 + Math.floor(9 * u[n]);
const gap = Math.floor((n + 1 - 2 * run) * u[n + 1]);
const first = Math.floor((n + 1 - 2 * run - gap) * u[n + 2]);
const second = first + run + gap;
ids.copyWithin(second, first, first + run);
targets.fill(-100);
targets.set(ids.slice(second + 1, second + run), second);`,
  },
  add: {
    ...{ length: '3 * n + 3', numbers: '2 * n' },
    python: `digits, carry = torch.randint(10, (2, batch, n)), 0
ids[:, :n], ids[:, n], ids[:, n + 1:2 * n + 1] = digits[0], 10, digits[1]
ids[:, 2 * n + 1], ids[:, 2 * n + 2:] = 11, 12
for i in range(n - 1, -1, -1):
    total = digits[0, :, i] + digits[1, :, i] + carry
    targets[:, 2 * n + 3 + i], carry = total % 10, total // 10
targets[:, 2 * n + 2] = carry`,
    cpp: `for (int i = 0; i < 2 * n; ++i) ids[i + i / n] = static_cast<std::int32_t>(10.0 * u[i]);
ids[n] = 10;          // +
ids[2 * n + 1] = 11;  // =
std::fill(ids + 2 * n + 2, ids + 3 * n + 3, 12);
std::fill(targets, targets + 2 * n + 2, -100);
int carry = 0;
for (int i = n - 1; i >= 0; --i) {
  const int sum = ids[i] + ids[n + 1 + i] + carry;
  targets[2 * n + 3 + i] = sum % 10;
  carry = sum / 10;
}
targets[2 * n + 2] = carry;`,
    javascript: `for (let i = 0; i < 2 * n; i++) ids[i + (i < n ? 0 : 1)] = Math.floor(10 * u[i]);
ids[n] = 10; // +
ids[2 * n + 1] = 11; // =
ids.fill(12, 2 * n + 2);
targets.fill(-100);
let carry = 0;
for (let i = n - 1; i >= 0; i--) {
  const sum = ids[i] + ids[n + 1 + i] + carry;
  targets[2 * n + 3 + i] = sum % 10;
  carry = Math.floor(sum / 10);
}
targets[2 * n + 2] = carry;`,
  },
  count: {
    ...{ length: 'n', numbers: 'n' },
    python: `ids[:] = torch.randint(5, (batch, n))
same = (ids[:, :, None] == ids[:, None]).sum(2)
targets[:] = torch.where(same > 10, -100, 4 + same)`,
    cpp: `for (int i = 0; i < n; ++i) ids[i] = static_cast<std::int32_t>(5.0 * u[i]);
for (int i = 0; i < n; ++i) {
  const auto same = static_cast<std::int32_t>(std::count(ids, ids + n, ids[i]));
  targets[i] = same > 10 ? -100 : 4 + same;
}`,
    javascript: `for (let i = 0; i < n; i++) ids[i] = Math.floor(5 * u[i]);
const same = ids.map((id) => ids.filter((other) => other === id).length);
targets.set(same.map((count) => (count > 10 ? -100 : 4 + count)));`,
  },
};

/** Defines the examples. @param {Filling} filling @param {number} seed @returns {Call} */
export const examples = (filling, seed) => ({
  cpp: `const auto length_of = [](std::int64_t n) { return ${filling.length}; };
const std::int64_t length = length_of(size);
std::vector<std::int32_t> all_ids, all_targets;
/// Makes examples of size n from a stream of random numbers.
const auto make_examples = [&](int n, std::int64_t count, std::uint64_t stream) {
  const std::int64_t numbers = ${filling.numbers};
  std::vector<float> random(count * numbers);
  attn::fill_uniform(attn::Tensor(random.data(), {count, numbers}), {.seed = ${seed}, .stream = stream});
  all_ids.resize(count * length_of(n));
  all_targets.resize(count * length_of(n));
  for (std::int64_t row = 0; row < count; ++row) {
    const float* const u = random.data() + row * numbers;
    std::int32_t* const ids = all_ids.data() + row * length_of(n);
    std::int32_t* const targets = all_targets.data() + row * length_of(n);
${indented(filling.cpp, 4)}
  }
};
`,
  javascript: `const lengthOf = (n) => ${filling.length};
const length = lengthOf(size);

function fill(u, ids, targets, n) {
${indented(filling.javascript, 2)}
}
/** Makes examples of size n from a stream of random numbers. */
function makeExamples(n, count, stream) {
  const [length, numbers] = [lengthOf(n), ${filling.numbers}];
  const random = attn.randomUniform({ shape: [count, numbers], seed: ${seed}, stream }).data;
  const ids = { data: new Int32Array(count * length), shape: [count, length] };
  const targets = { data: new Int32Array(count * length), shape: [count, length] };
  for (let row = 0; row < count; row++) {
    const part = (data, width) => data.subarray(row * width, (row + 1) * width);
    fill(part(random, numbers), part(ids.data, length), part(targets.data, length), n);
  }
  return { ids, targets };
}
`,
});
