/**
 * @typedef {{ kind: 'paper' | 'book' | 'code', text: string, title?: string, href?: string }} Source
 */

const paper = (
  /** @type {string} */ text,
  /** @type {string} */ title,
  /** @type {string} */ href,
) => ({
  ...{ kind: /** @type {const} */ ('paper'), text, title, href },
});
const arxiv = (/** @type {string} */ id) => `https://arxiv.org/abs/${id}`;
const d2l = (/** @type {string} */ section, /** @type {string} */ page) => ({
  ...{ kind: /** @type {const} */ ('book'), text: `D2L ${section}` },
  href: `https://d2l.ai/chapter_${page}.html`,
});
const attentionIn = 'attention-mechanisms-and-transformers';
const torch = (/** @type {string} */ text) => ({ kind: /** @type {const} */ ('code'), text });

/**
 * Papers, sections of “Dive into Deep Learning” (D2L) and names in PyTorch, keyed by short names.
 */
const sources = {
  nadaraya: paper('Nadaraya 1964', 'On estimating regression', 'https://doi.org/10.1137/1109020'),
  bahdanau: paper(
    'Bahdanau, Cho, Bengio 2014',
    'Neural machine translation by jointly learning to align and translate',
    arxiv('1409.0473'),
  ),
  vaswani: paper('Vaswani et al. 2017', 'Attention is all you need', arxiv('1706.03762')),
  geva: paper(
    'Geva et al. 2023',
    'Dissecting recall of factual associations in auto-regressive language models',
    arxiv('2304.14767'),
  ),
  nostalgebraist: paper(
    'nostalgebraist 2020',
    'Interpreting GPT: the logit lens',
    'https://www.lesswrong.com/posts/AcKRB8wDpdaN6v6ru/interpreting-gpt-the-logit-lens',
  ),
  elhage: paper(
    'Elhage et al. 2021',
    'A mathematical framework for transformer circuits',
    'https://transformer-circuits.pub/2021/framework/index.html',
  ),
  vig: paper(
    'Vig et al. 2020',
    'Causal mediation analysis for interpreting neural NLP: the case of gender bias',
    arxiv('2004.12265'),
  ),
  meng: paper(
    'Meng et al. 2022',
    'Locating and editing factual associations in GPT',
    arxiv('2202.05262'),
  ),
  zhang: paper(
    'Zhang, Nanda 2023',
    'Towards best practices of activation patching in language models: metrics and methods',
    arxiv('2309.16042'),
  ),
  jain: paper('Jain, Wallace 2019', 'Attention is not explanation', arxiv('1902.10186')),
  shaw: paper(
    'Shaw, Uszkoreit, Vaswani 2018',
    'Self-attention with relative position representations',
    arxiv('1803.02155'),
  ),
  raffel: paper(
    'Raffel et al. 2019',
    'Exploring the limits of transfer learning with a unified text-to-text Transformer (T5)',
    arxiv('1910.10683'),
  ),
  su: paper(
    'Su et al. 2021',
    'RoFormer: enhanced Transformer with rotary position embedding',
    arxiv('2104.09864'),
  ),
  press: paper(
    'Press, Smith, Lewis 2021',
    'Train short, test long: attention with linear biases enables input length extrapolation (ALiBi)',
    arxiv('2108.12409'),
  ),
  chen: paper(
    'Chen et al. 2023',
    'Extending context window of large language models via positional interpolation',
    arxiv('2306.15595'),
  ),
  peng: paper(
    'Peng et al. 2023',
    'YaRN: efficient context window extension of large language models',
    arxiv('2309.00071'),
  ),
  llama3: paper('Llama team 2024', 'The Llama 3 herd of models', arxiv('2407.21783')),
  zaheer: paper('Zaheer et al. 2017', 'Deep sets', arxiv('1703.06114')),
  ba: paper('Ba, Kiros, Hinton 2016', 'Layer normalization', arxiv('1607.06450')),
  he: paper('He et al. 2015', 'Deep residual learning for image recognition', arxiv('1512.03385')),
  cho: paper(
    'Cho et al. 2014',
    'Learning phrase representations using RNN encoder-decoder for statistical machine translation (the GRU)',
    arxiv('1406.1078'),
  ),
  xavier: paper(
    'Glorot, Bengio 2010',
    'Understanding the difficulty of training deep feedforward neural networks',
    'https://proceedings.mlr.press/v9/glorot10a.html',
  ),
  shazeer: paper(
    'Shazeer 2019',
    'Fast Transformer decoding: one write-head is all you need',
    arxiv('1911.02150'),
  ),
  olsson: paper(
    'Olsson et al. 2022',
    'In-context learning and induction heads',
    arxiv('2209.11895'),
  ),
  loshchilov: paper(
    'Loshchilov, Hutter 2017',
    'Decoupled weight decay regularization (AdamW)',
    arxiv('1711.05101'),
  ),
  michel: paper(
    'Michel, Levy, Neubig 2019',
    'Are sixteen heads really better than one?',
    arxiv('1905.10650'),
  ),
  beltagy: paper(
    'Beltagy, Peters, Cohan 2020',
    'Longformer: the long-document Transformer',
    arxiv('2004.05150'),
  ),
  dao: paper(
    'Dao et al. 2022',
    'FlashAttention: fast and memory-efficient exact attention with IO-awareness',
    arxiv('2205.14135'),
  ),
  kazemnejad: paper(
    'Kazemnejad et al. 2023',
    'The impact of positional encoding on length generalization in Transformers',
    arxiv('2305.19466'),
  ),

  d2lPooling: d2l('11.2: attention pooling by similarity', `${attentionIn}/attention-pooling`),
  d2lScoring: d2l('11.3: scoring functions', `${attentionIn}/attention-scoring-functions`),
  d2lBahdanau: d2l('11.4: Bahdanau attention', `${attentionIn}/bahdanau-attention`),
  d2lHeads: d2l('11.5: multi-head attention', `${attentionIn}/multihead-attention`),
  d2lPositions: d2l(
    '11.6: self-attention and positional encoding',
    `${attentionIn}/self-attention-and-positional-encoding`,
  ),
  d2lTransformer: d2l('11.7: the Transformer', `${attentionIn}/transformer`),

  torchAttention: torch('functional.scaled_dot_product_attention'),
  torchHeads: torch('nn.MultiheadAttention'),
  torchEmbedding: torch('nn.Embedding'),
  torchEncoder: torch('nn.TransformerEncoderLayer'),
  torchDecoder: torch('nn.TransformerDecoderLayer'),
  torchGru: torch('nn.GRU'),
  torchLoss: torch('functional.cross_entropy'),
  torchOptimizer: torch('optim.AdamW'),
  torchRecurrent: torch('nn.RNN, nn.Conv1d'),
};

/** @typedef {keyof typeof sources} SourceName */

/** @param {SourceName} name @returns {Source} */
export const sourceOf = (name) => sources[name];
