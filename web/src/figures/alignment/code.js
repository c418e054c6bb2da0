import { uncased } from '../../core/sentence.js';
import { constants, layer, setParameter } from '../../programs/calls.js';
import { printMatrix } from '../../programs/print.js';
import { cxx, js, literal } from '../../programs/writers.js';
import { numHiddens, shift, wordWidth } from './alignment.js';

/** @typedef {import('../../programs/print.js').Call} Call */
/** @typedef {import('../../state/properties/index.js').Settings} Settings */

/** @param {string[]} words */
const list = (words) => words.map(literal).join(', ');

/**
 * The lines that define queries and keys in Python.
 * @param {string[]} source
 * @param {string[]} target
 * @returns {Call}
 */
const embedded = (source, target) => ({
  python: `keys = torch.stack([embedding(word, d) for word in (${list(source)},)])
queries = torch.stack([embedding(word, d) for word in (${list(target)},)])
`,
});

/** @type {[string, string, string]} */
const printed = ['alignment', 'numQueries', 'numKeys'];

/**
 * Programs that compute the alignment.
 * @param {Settings} settings
 * @param {string[]} sourceTokens
 * @param {string[]} targetTokens
 */
export function alignmentCode(settings, sourceTokens, targetTokens) {
  const [source, target] = [sourceTokens, targetTokens].map(uncased);
  const { alignment, seed, sharpness } = settings;
  if (alignment === 'decoder') return decoderPrograms(seed, source, target);
  const byHand = alignment === 'spelling';
  const hiddens = byHand ? 2 * wordWidth : numHiddens;
  const sizes = { queryDim: byHand ? 'queryDim' : 'd', keyDim: 'd', numHiddens: 'hiddens' };
  return printMatrix(...printed, [
    constants({ d: wordWidth, hiddens }),
    embedded(source, target),
    {
      python: '# AdditiveAttention of D2L 11.3, and its weights.',
      cpp: `const std::vector<std::string_view> source{${list(source)}};
const std::vector<std::string_view> target{${list(target)}};
const std::int64_t num_keys = ${source.length}, num_queries = ${target.length}${byHand ? ', query_dim = d + 1' : ''};
std::vector<float> keys(num_keys * d), queries(num_queries * ${byHand ? 'query_dim, 1.0F' : 'd'});
const attn::Tensor k(keys.data(), {num_keys, d}), q(queries.data(), {num_queries, ${byHand ? 'query_dim' : 'd'}});
attn::ngram_embedding(source, k);
attn::ngram_embedding(target, q${byHand ? '.slice(1, 0, d)' : ''});${byHand ? '  // each query ends in a 1' : ''}
`,
      javascript: `const keys = attn.ngramEmbedding([${list(source)}], { dModel: d });
const ${byHand ? 'words' : 'queries'} = attn.ngramEmbedding([${list(target)}], { dModel: d });`,
    },
    byHand && {
      javascript: `// Each query ends in a 1.
const queryDim = d + 1;
const queries = { data: [], shape: [words.shape[0], queryDim] };
for (let i = 0; i < words.shape[0]; i++) {
  queries.data.push(...words.data.subarray(i * d, (i + 1) * d), 1);
}
`,
    },
    layer('layer', 'AdditiveAttention', { ...sizes, seed: byHand ? undefined : seed }),
    ...(byHand
      ? weightsByHand(sharpness)
      : [
          {
            python: `W_k, W_q = (xavier(hiddens, d, ${seed}, stream) for stream in (0, 1))
w_v = xavier(1, hiddens, ${seed}, 2)[0]`,
          },
        ]),
    {
      python: `scores = torch.tanh((queries @ W_q.T)[:, None] + (keys @ W_k.T)[None, :]) @ w_v
alignment = torch.softmax(scores, dim=1)`,
      cpp: `
std::vector<float> context(num_queries * d), alignment(num_queries * num_keys);
layer.forward(q, k, k, attn::Tensor(context.data(), {num_queries, d}),
              {.weights = attn::Tensor(alignment.data(), {num_queries, num_keys})});`,
      javascript:
        'const { weights: alignment } = layer.forward(queries, keys, keys, { needWeights: true });',
    },
  ]);
}

/** @param {number} sharpness @returns {Call[]} */
const weightsByHand = (sharpness) => [
  {
    python: `queries = torch.cat((queries, torch.ones(len(queries), 1)), 1)  # each query ends in a 1
shift = ${shift}
one = torch.eye(d)
W_q = torch.cat((torch.cat((one, shift * torch.ones(d, 1)), 1), torch.cat((one, -shift * torch.ones(d, 1)), 1)))
W_k = -torch.cat((one, one))
w_v = ${sharpness} * torch.cat((torch.ones(d), -torch.ones(d)))`,
    cpp: `const float shift = ${shift}, sharpness = ${Number(sharpness).toFixed(2)}F;
std::vector<float> W_q(hiddens * query_dim), W_k(hiddens * d), w_v(hiddens);
for (std::int64_t unit = 0; unit < hiddens; ++unit) {
  const float sign = unit < d ? 1.0F : -1.0F;
  W_q[unit * query_dim + unit % d] = 1;
  W_q[unit * query_dim + d] = sign * shift;
  W_k[unit * d + unit % d] = -1;
  w_v[unit] = sign * sharpness;
}`,
    javascript: `const [shift, sharpness] = [${shift}, ${sharpness}];
const zeros = (rows, columns) => ({ data: new Float32Array(rows * columns), shape: [rows, columns] });
const [W_q, W_k, w_v] = [zeros(hiddens, queryDim), zeros(hiddens, d), zeros(1, hiddens)];
for (let unit = 0; unit < hiddens; unit++) {
  const sign = unit < d ? 1 : -1;
  W_q.data[unit * queryDim + (unit % d)] = 1;
  W_q.data[unit * queryDim + d] = sign * shift;
  W_k.data[unit * d + (unit % d)] = -1;
  w_v.data[unit] = sign * sharpness;
}`,
  },
  setParameter('layer', 'W_q.weight', 'W_q', ['hiddens', 'queryDim']),
  setParameter('layer', 'W_k.weight', 'W_k', ['hiddens', 'd']),
  setParameter('layer', 'w_v.weight', 'w_v', [1, 'hiddens']),
];

/**
 * Programs that compute the alignment of Bahdanau's decoder.
 * @param {number} seed
 * @param {string[]} source
 * @param {string[]} target
 */
function decoderPrograms(seed, source, target) {
  const vocabulary = [...new Set(target)];
  const ids = target.map((word) => vocabulary.indexOf(word));
  const [words, n] = [vocabulary.length, ids.length];
  const decoder = { vocabSize: words, embedSize: 'd', numHiddens: 'hiddens' };
  return printMatrix(...printed, [
    constants({ d: wordWidth, hiddens: numHiddens }),
    embedded(source, target),
    {
      python: `# Seq2SeqAttentionDecoder of D2L 11.4, untrained.
encoder = torch.nn.GRU(d, hiddens, batch_first=True)
decoder = torch.nn.GRU(hiddens + d, hiddens, batch_first=True)
W_q, W_k, w_v = (torch.nn.Linear(hiddens, size, bias=False) for size in (hiddens, hiddens, 1))
for first, module in ((0, encoder), (16, W_k), (17, W_q), (18, w_v), (20, decoder)):
    for stream, (name, parameter) in enumerate(module.named_parameters(), first):
        weight = "weight" in name
        parameter.data = xavier(*parameter.shape, ${seed}, stream) if weight else 0 * parameter.data

alignment = []
with torch.no_grad():
    outputs, hidden = encoder(keys[None])
    for word in queries:
        scores = w_v(torch.tanh(W_q(hidden[-1])[:, None] + W_k(outputs)))[..., 0]
        alignment.append(torch.softmax(scores, dim=1)[0])
        context = alignment[-1] @ outputs[0]
        _, hidden = decoder(torch.cat((context, word))[None, None], hidden)`,
      cpp: cxx`const std::vector<std::string_view> source{${list(source)}};
const std::vector<std::string_view> vocabulary{${list(vocabulary)}};
const std::int64_t num_keys = ${source.length}, num_queries = ${n}, words = ${words};
std::vector<std::int32_t> ids${ids};
std::vector<float> read(num_keys * d), embedding(words * d);
attn::ngram_embedding(source, attn::Tensor(read.data(), {num_keys, d}));
attn::ngram_embedding(vocabulary, attn::Tensor(embedding.data(), {words, d}));
`,
      javascript: js`const read = attn.ngramEmbedding([${list(source)}], { dModel: d });
const embedding = attn.ngramEmbedding([${list(vocabulary)}], { dModel: d });
const tokens = { data: ${ids}, shape: [1, ${n}] };
`,
    },
    layer('encoder', 'GRU', { inputSize: 'd', hiddenSize: 'hiddens', seed }),
    layer('decoder', 'BahdanauDecoder', { ...decoder, seed, stream: 16 }),
    setParameter('decoder', 'embedding.weight', 'embedding', [words, 'd']),
    {
      cpp: `
std::vector<float> outputs(num_keys * hiddens), hidden(hiddens);
const attn::Tensor states(outputs.data(), {1, num_keys, hiddens});
const attn::Tensor last(hidden.data(), {1, 1, hiddens});
encoder.forward(attn::Tensor(read.data(), {1, num_keys, d}), states, {.h_n = last});
auto state = decoder.init_state(states, last);
std::vector<float> logits(num_queries * words), alignment(num_queries * num_keys);
decoder.forward({ids.data(), {1, num_queries}}, state,
                attn::Tensor(logits.data(), {1, num_queries, words}),
                attn::Tensor(alignment.data(), {1, num_queries, num_keys}));`,
      javascript: `const { output, hN } = encoder.forward({ ...read, shape: [1, ...read.shape] });
const state = decoder.initState(output, hN);
const result = decoder.forward(tokens, state, { needAlignment: true });
const alignment = { ...result.alignment, shape: result.alignment.shape.slice(1) };`,
    },
  ]);
}
