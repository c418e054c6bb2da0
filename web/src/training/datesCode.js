import { double, literal } from '../programs/writers.js';
import { months, ordinals, years } from './dates.js';
import { worlds } from './worlds.js';

/** @typedef {import('../programs/print.js').Call} Call */

const { symbols, written } = worlds.dates;
const alphabet = literal(symbols.slice(0, -1).join(''));
const digits = literal(written?.symbols.slice(0, -1).join('') ?? '');
/** The last symbols: the one that pads the text, and the one before a date's first digit. */
export const [padding, start] = [symbols.length - 1, (written?.symbols.length ?? 0) - 1];

/**
 * Lists texts in lines of at most 100 characters.
 * @param {readonly string[]} texts
 * @param {string} indent
 */
function listed(texts, indent) {
  const lines = [''];
  for (const text of texts.map(literal)) {
    if (lines[lines.length - 1].length + text.length > 88) lines.push('');
    lines[lines.length - 1] += `${text}, `;
  }
  return lines.map((line) => indent + line.trimEnd()).join('\n');
}

/** Makes and reads dates. @type {Call} */
export const dates = {
  python: `alphabet, digits = ${alphabet}, ${digits}
months = [
${listed(months, '    ')}
]
ordinals = [
${listed(ordinals, '    ')}
]

def make_date():
    year, month = random.randrange(${years.first}, ${years.first + years.count}), random.randrange(1, 13)
    day = random.randrange(1, calendar.monthrange(year, month)[1] + 1)
    name, short = months[month - 1], months[month - 1][:3]
    suffix = "th" if 3 < day < 21 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
    text = random.choice([
        f"the {ordinals[day - 1]} of {name} {year}",
        f"{day} {name} {year}",
        f"{name} {day}{suffix}, {year}",
        f"the {day}{suffix} of {name} {year}",
        f"{short} {day}, {year}",
        f"{day}.{month}.{year}" if day > 12 else f"{day} {short} {year}",
    ])
    return text, f"{year}-{month:02}-{day:02}"

def read(text):
    return [alphabet.index(c) for c in text] + [padding] * (length - len(text))


tokens = torch.nn.Embedding(${padding + 1}, d)`,
  cpp: `const std::string alphabet = ${alphabet}, digits = ${digits};
const std::array<std::string, 12> months{
${listed(months, '    ')}
};
const std::array<std::string, 31> ordinals{
${listed(ordinals, '    ')}
};
const auto spelled = [&](const float* u, std::string& date) {
  const int year = ${years.first} + static_cast<int>(${double(years.count)} * u[0]), month = 1 + static_cast<int>(12.0 * u[1]);
  const auto last = std::chrono::year(year) / month / std::chrono::last;
  const int day = 1 + static_cast<int>(static_cast<unsigned>(last.day()) * double{u[2]});
  const auto two = [](int number) { return (number < 10 ? "0" : "") + std::to_string(number); };
  date = std::to_string(year) + "-" + two(month) + "-" + two(day);
  const std::string name = months[month - 1], brief = name.substr(0, 3), n = std::to_string(day);
  const std::string y = std::to_string(year), ends[] = {"th", "st", "nd", "rd"};
  const std::string ordinal = n + ends[(day > 3 && day < 21) || day % 10 > 3 ? 0 : day % 10];
  const std::array<std::string, 6> spellings{
      "the " + ordinals[day - 1] + " of " + name + " " + y, n + " " + name + " " + y,
      name + " " + ordinal + ", " + y, "the " + ordinal + " of " + name + " " + y,
      brief + " " + n + ", " + y,
      day > 12 ? n + "." + std::to_string(month) + "." + y : n + " " + brief + " " + y};
  return spellings[static_cast<int>(6.0 * u[3])];
};
const auto read = [&](const std::string& text, std::int32_t* ids) {
  std::fill(ids, ids + length, padding);
  for (const char c : text) *ids++ = static_cast<std::int32_t>(alphabet.find(c));
};
`,
  javascript: `const [alphabet, digits] = [${alphabet}, ${digits}];
const months = [
${listed(months, '  ')}
];
const ordinals = [
${listed(ordinals, '  ')}
];

function makeDate(u) {
  const year = ${years.first} + Math.floor(${years.count} * u[0]);
  const month = 1 + Math.floor(12 * u[1]);
  const day = 1 + Math.floor(new Date(Date.UTC(year, month, 0)).getUTCDate() * u[2]);
  const [name, short] = [months[month - 1], months[month - 1].slice(0, 3)];
  const suffix = day > 3 && day < 21 ? 'th' : (['th', 'st', 'nd', 'rd'][day % 10] ?? 'th');
  const spellings = [
    \`the \${ordinals[day - 1]} of \${name} \${year}\`,
    \`\${day} \${name} \${year}\`,
    \`\${name} \${day}\${suffix}, \${year}\`,
    \`the \${day}\${suffix} of \${name} \${year}\`,
    \`\${short} \${day}, \${year}\`,
    day > 12 ? \`\${day}.\${month}.\${year}\` : \`\${day} \${short} \${year}\`,
  ];
  const two = (number) => String(number).padStart(2, '0');
  return [spellings[Math.floor(6 * u[3])], \`\${year}-\${two(month)}-\${two(day)}\`];
}
const read = (text) => Array.from({ length }, (_, i) => (i < text.length ? alphabet.indexOf(text[i]) : padding));
`,
};

/** The examples of a step. @param {number} seed @returns {Call} */
export const examples = (seed) => ({
  python: `dates = [make_date() for _ in range(batch)]
ids = torch.tensor([read(text) for text, _ in dates])
targets = torch.tensor([[digits.index(c) for c in date] for _, date in dates])
given = torch.cat((torch.full((batch, 1), first), targets[:, :-1]), 1)`,
  cpp: `std::vector<float> random(batch * 4);
attn::fill_uniform(attn::Tensor(random.data(), {batch, 4}), {.seed = ${seed}, .stream = stream});
std::vector<std::int32_t> all_ids(batch * length), all_lengths(batch);
std::vector<std::int32_t> all_targets(batch * answers), all_given(batch * answers);
for (std::int64_t row = 0; row < batch; ++row) {
  std::string date;
  const std::string text = spelled(random.data() + row * 4, date);
  read(text, all_ids.data() + row * length);
  all_lengths[row] = static_cast<std::int32_t>(text.size());
  for (std::int64_t i = 0; i < answers; ++i) {
    const std::int64_t at = row * answers + i;
    all_targets[at] = static_cast<std::int32_t>(digits.find(date[i]));
    all_given[at] = i == 0 ? first : all_targets[at - 1];
  }
}
const attn::IdView ids(all_ids.data(), {batch, length}), given(all_given.data(), {batch, answers});
const attn::ConstLengths lengths(all_lengths.data(), {batch});`,
  javascript: `const random = attn.randomUniform({ shape: [batch, 4], seed: ${seed}, stream }).data;
const dates = Array.from({ length: batch }, (_, i) => makeDate(random.subarray(4 * i)));
const right = dates.map(([, date]) => [...date].map((c) => digits.indexOf(c)));
const ids = { data: dates.flatMap(([text]) => read(text)), shape: [batch, length] };
const validLens = { data: dates.map(([text]) => text.length), shape: [batch] };
const targets = { data: right.flat(), shape: [batch, answers] };
const given = { data: right.flatMap((row) => [first, ...row.slice(0, -1)]), shape: [batch, answers] };`,
});
