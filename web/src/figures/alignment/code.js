import { uncased } from '../../core/sentence.js';
import { cppProgram, javascriptProgram, literal, pythonProgram } from '../../programs/programs.js';
import { pythonCode } from '../../programs/pythonCode.js';
import { numHiddens, shift, wordWidth } from './alignment.js';

/** @typedef {import('../../state/properties/index.js').Settings} Settings */

/** @param {string[]} words */
const list = (words) => words.map(literal).join(', ');

/**
 * Programs that compute the alignment.
 * @param {Settings} settings
 * @param {string[]} sourceTokens
 * @param {string[]} targetTokens
 */
export function alignmentCode(settings, sourceTokens, targetTokens) {
  const [source, target] = [sourceTokens, targetTokens].map(uncased);
  if (settings.alignment === 'decoder') return decoderPrograms(settings, source, target);
  const byHand = settings.alignment === 'spelling';
  const hiddens = byHand ? 2 * wordWidth : numHiddens;
  const queryDim = byHand ? wordWidth + 1 : wordWidth;
  const { seed, sharpness } = settings;
  return {
    python: pythonProgram({
      body: `${pythonCode('embedding', !byHand && 'xavier')}
d = ${wordWidth}
keys = torch.stack([embedding(word, d) for word in (${list(source)},)])
queries = torch.stack([embedding(word, d) for word in (${list(target)},)])

# AdditiveAttention of D2L 11.3, and its weights.
${
  byHand
    ? `queries = torch.cat((queries, torch.ones(len(queries), 1)), 1)  # each ends in a 1
shift = ${shift}
one = torch.eye(d)
W_q = torch.cat((torch.cat((one, shift * torch.ones(d, 1)), 1), torch.cat((one, -shift * torch.ones(d, 1)), 1)))
W_k = -torch.cat((one, one))
w_v = ${sharpness} * torch.cat((torch.ones(d), -torch.ones(d)))`
    : `W_k, W_q = (xavier(${hiddens}, d, ${seed}, stream) for stream in (0, 1))
w_v = xavier(1, ${hiddens}, ${seed}, 2)[0]`
}
scores = torch.tanh((queries @ W_q.T)[:, None] + (keys @ W_k.T)[None, :]) @ w_v
alignment = torch.softmax(scores, dim=1)`,
      result: 'alignment',
    }),
    cpp: cppProgram({
      body: `const std::vector<std::string_view> source{${list(source)}};
const std::vector<std::string_view> target{${list(target)}};
const std::int64_t num_keys = ${source.length}, num_queries = ${target.length}, d = ${wordWidth};
const std::int64_t query_dim = ${queryDim}, num_hiddens = ${hiddens};
std::vector<float> keys(num_keys * d), queries(num_queries * query_dim, 1.0F);
const attn::Tensor k(keys.data(), {num_keys, d}), q(queries.data(), {num_queries, query_dim});
attn::ngram_embedding(source, k);
attn::ngram_embedding(target, q.slice(1, 0, d));${byHand ? '  // each ends in a 1' : ''}

attn::AdditiveAttention layer(query_dim, d, num_hiddens);
${
  byHand
    ? `const float shift = ${shift}, sharpness = ${Number(sharpness).toFixed(2)}F;
std::vector<float> W_q(num_hiddens * query_dim), W_k(num_hiddens * d), w_v(num_hiddens);
for (std::int64_t unit = 0; unit < num_hiddens; ++unit) {
  const float sign = unit < d ? 1.0F : -1.0F;
  W_q[unit * query_dim + unit % d] = 1;
  W_q[unit * query_dim + d] = sign * shift;
  W_k[unit * d + unit % d] = -1;
  w_v[unit] = sign * sharpness;
}
layer.set_parameter("W_q.weight", attn::Tensor(W_q.data(), {num_hiddens, query_dim}));
layer.set_parameter("W_k.weight", attn::Tensor(W_k.data(), {num_hiddens, d}));
layer.set_parameter("w_v.weight", attn::Tensor(w_v.data(), {1, num_hiddens}));`
    : `layer.initialize_xavier({.seed = ${seed}});`
}

std::vector<float> context(num_queries * d), alignment(num_queries * num_keys);
layer.forward(q, k, k, attn::Tensor(context.data(), {num_queries, d}),
              {.weights = attn::Tensor(alignment.data(), {num_queries, num_keys})});`,
      ...{ result: 'alignment', rows: 'num_queries', columns: 'num_keys' },
      includes: ['<string_view>'],
    }),
    javascript: javascriptProgram({
      body: `const d = ${wordWidth};
const keys = attn.ngramEmbedding([${list(source)}], { dModel: d });
const words = attn.ngramEmbedding([${list(target)}], { dModel: d });
${
  byHand
    ? `// Each word that asks ends in a 1.
const queries = { data: [], shape: [words.shape[0], d + 1] };
for (let i = 0; i < words.shape[0]; i++) {
  queries.data.push(...words.data.subarray(i * d, (i + 1) * d), 1);
}

const [hiddens, shift, sharpness] = [2 * d, ${shift}, ${sharpness}];
const zeros = (rows, columns) => ({ data: new Float32Array(rows * columns), shape: [rows, columns] });
const [W_q, W_k, w_v] = [zeros(hiddens, d + 1), zeros(hiddens, d), zeros(1, hiddens)];
for (let unit = 0; unit < hiddens; unit++) {
  const sign = unit < d ? 1 : -1;
  W_q.data[unit * (d + 1) + (unit % d)] = 1;
  W_q.data[unit * (d + 1) + d] = sign * shift;
  W_k.data[unit * d + (unit % d)] = -1;
  w_v.data[unit] = sign * sharpness;
}
const layer = new attn.AdditiveAttention({ queryDim: d + 1, keyDim: d, numHiddens: hiddens });
layer.setParameter('W_q.weight', W_q);
layer.setParameter('W_k.weight', W_k);
layer.setParameter('w_v.weight', w_v);
const { weights: alignment } = layer.forward(queries, keys, keys, { needWeights: true });`
    : `const layer = new attn.AdditiveAttention({
  queryDim: d,
  keyDim: d,
  numHiddens: ${hiddens},
  seed: ${seed},
});
const { weights: alignment } = layer.forward(words, keys, keys, { needWeights: true });`
}`,
      result: 'alignment',
    }),
  };
}

/**
 * Programs that compute the alignment of Bahdanau's decoder.
 * @param {Settings} settings
 * @param {string[]} source
 * @param {string[]} target
 */
function decoderPrograms({ seed }, source, target) {
  const vocabulary = [...new Set(target)];
  const ids = target.map((word) => vocabulary.indexOf(word));
  const sizes = {
    python: `d, hiddens = ${wordWidth}, ${numHiddens}`,
    cpp: `const std::int64_t d = ${wordWidth}, hiddens = ${numHiddens};
const std::int64_t num_keys = ${source.length}, num_queries = ${target.length}, words = ${vocabulary.length};`,
  };
  return {
    python: pythonProgram({
      body: `${pythonCode('embedding', 'xavier')}
${sizes.python}
keys = torch.stack([embedding(word, d) for word in (${list(source)},)])
queries = torch.stack([embedding(word, d) for word in (${list(target)},)])

# Seq2SeqAttentionDecoder of D2L 11.4, untrained.
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
      result: 'alignment',
    }),
    cpp: cppProgram({
      body: `const std::vector<std::string_view> source{${list(source)}};
const std::vector<std::string_view> vocabulary{${list(vocabulary)}};
std::vector<std::int32_t> ids{${ids.join(', ')}};
${sizes.cpp}
std::vector<float> read(num_keys * d), embedding(words * d);
attn::ngram_embedding(source, attn::Tensor(read.data(), {num_keys, d}));
attn::ngram_embedding(vocabulary, attn::Tensor(embedding.data(), {words, d}));

attn::GRU encoder({.input_size = d, .hidden_size = hiddens});
encoder.initialize_xavier({.seed = ${seed}});
attn::BahdanauDecoder decoder({.vocab_size = words, .embed_size = d, .num_hiddens = hiddens});
decoder.initialize_xavier({.seed = ${seed}, .stream = 16});
decoder.set_parameter("embedding.weight", attn::Tensor(embedding.data(), {words, d}));

std::vector<float> outputs(num_keys * hiddens), hidden(hiddens);
const attn::Tensor states(outputs.data(), {1, num_keys, hiddens});
const attn::Tensor last(hidden.data(), {1, 1, hiddens});
encoder.forward(attn::Tensor(read.data(), {1, num_keys, d}), states, {.h_n = last});
auto state = decoder.init_state(states, last);
std::vector<float> logits(num_queries * words), alignment(num_queries * num_keys);
decoder.forward({ids.data(), {1, num_queries}}, state,
                attn::Tensor(logits.data(), {1, num_queries, words}),
                attn::Tensor(alignment.data(), {1, num_queries, num_keys}));`,
      ...{ result: 'alignment', rows: 'num_queries', columns: 'num_keys' },
      includes: ['<string_view>'],
    }),
    javascript: javascriptProgram({
      body: `const [d, numHiddens, seed] = [${wordWidth}, ${numHiddens}, ${seed}];
const read = attn.ngramEmbedding([${list(source)}], { dModel: d });
const vocabulary = [${list(vocabulary)}];
const tokens = { data: [${ids.join(', ')}], shape: [1, ${ids.length}] };

const encoder = new attn.GRU({ inputSize: d, hiddenSize: numHiddens, seed });
const decoder = new attn.BahdanauDecoder({
  vocabSize: vocabulary.length,
  embedSize: d,
  numHiddens,
  seed,
  stream: 16,
});
decoder.setParameter('embedding.weight', attn.ngramEmbedding(vocabulary, { dModel: d }));
const { output, hN } = encoder.forward({ ...read, shape: [1, ...read.shape] });
const state = decoder.initState(output, hN);
const result = decoder.forward(tokens, state, { needAlignment: true });
const alignment = { ...result.alignment, shape: result.alignment.shape.slice(1) };`,
      result: 'alignment',
    }),
  };
}
