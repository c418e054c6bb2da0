// A small language model built from the core's layers. It returns the input of each layer and
// predicts the next token.

/** @typedef {import('attn').Attn} Attn */
/** @typedef {import('attn').Tensor} Tensor */
/** @typedef {import('attn').ExclusionOptions} ExclusionOptions */

/**
 * @typedef {object} Config sizes and options of the model
 * @property {number} vocabularySize
 * @property {number} dModel E
 * @property {number} numHeads
 * @property {number} numLayers
 * @property {number} dimFeedforward
 * @property {'gelu' | 'relu'} activation
 * @property {'sinusoidal' | 'rotary'} positions
 * @property {number} base
 * @property {boolean} scaleBySqrtDim
 * @property {number} maxLength length of its training texts, in tokens
 *
 * @typedef {object} Training how it was trained, and its losses on held-out text, in nats per token
 * @property {string} text
 * @property {number} tokens
 * @property {number} steps
 * @property {number} seed
 * @property {number} heldOutLoss
 * @property {number} trigramLoss
 * @property {number} float16Loss
 *
 * @typedef {'previousToken' | 'firstToken' | 'sameToken' | 'induction' | 'itself'} Habit
 * @typedef {Record<Habit, number>} Scores the mean share of a head's attention for each habit
 */

export class LanguageModel {
  #attn;
  #embedding;
  #output;
  #encoder;
  /**
   * The encoder without its rotary positions.
   * @type {InstanceType<Attn['TransformerEncoder']> | undefined}
   */
  #unturned;
  /** @type {Map<string, InstanceType<Attn['MultiHeadAttention']>>} */
  #attentions = new Map();
  /**
   * @type {InstanceType<Attn['LayerNorm']>[]} the normalisation before each layer and after the
   *   last
   */
  #norms;

  /**
   * @param {Attn} attn
   * @param {Uint8Array} bytes a .safetensors file; web/README.md describes it
   */
  constructor(attn, bytes) {
    const file = new attn.Safetensors(bytes);
    try {
      const { config, training, heads } = file.metadata;
      if (!config) throw new Error('the metadata of the model file does not describe the model');
      /** @type {Config} */
      this.config = JSON.parse(config);
      /** @type {Training | null} */
      this.training = training ? JSON.parse(training) : null;
      /** The habits of each layer's heads, if they were measured. @type {Scores[][] | null} */
      this.heads = heads ? JSON.parse(heads) : null;

      const { vocabularySize, dModel, numLayers, scaleBySqrtDim } = this.config;
      this.#attn = attn;
      this.#embedding = new attn.Embedding({
        ...{ numEmbeddings: vocabularySize, embeddingDim: dModel, scaleBySqrtDim, init: 'zeros' },
      });
      this.#embedding.loadStateDict(file, { prefix: 'embedding.' });
      this.#output = new attn.Linear({ tiedTo: this.#embedding });
      this.#encoder = this.#stack(this.config.positions === 'rotary');
      this.#encoder.loadStateDict(file, { prefix: 'encoder.' });
      this.#norms = Array.from({ length: numLayers + 1 }, (_, l) => {
        const norm = new attn.LayerNorm({ width: dModel });
        const prefix = l < numLayers ? `layers.${l}.norm1.` : 'norm.';
        for (const name of ['weight', 'bias']) {
          norm.setParameter(name, this.#encoder.parameter(prefix + name));
        }
        return norm;
      });
    } finally {
      file.dispose();
    }
  }

  get rotary() {
    return this.config.positions === 'rotary';
  }

  /** @param {boolean} turned whether positions rotate queries and keys */
  #stack(turned) {
    const { dModel, numHeads, numLayers, dimFeedforward, activation, base } = this.config;
    return new this.#attn.TransformerEncoder({
      ...{ dModel, numHeads, numLayers, dimFeedforward, activation, init: 'zeros' },
      ...{ normFirst: true, finalNorm: true, positions: turned ? { rotary: { base } } : {} },
    });
  }

  /**
   * The stack of layers.
   * @param {boolean} positions whether the layers use the tokens' positions
   */
  stack(positions) {
    if (positions || !this.rotary) return this.#encoder;
    if (!this.#unturned) {
      this.#unturned = this.#stack(false);
      this.#unturned.loadStateDict(this.#encoder.stateDict());
    }
    return this.#unturned;
  }

  /**
   * A layer of the stack. Valid for as long as the model exists.
   * @param {number} layer @param {boolean} positions
   */
  block(layer, positions) {
    return this.stack(positions).layers[layer];
  }

  /**
   * The attention of a layer, without the rest of the layer. Valid for as long as the model exists.
   * @param {number} layer
   * @param {boolean} positions
   */
  attention(layer, positions) {
    const turned = positions && this.rotary;
    const key = `${layer} ${turned}`;
    const known = this.#attentions.get(key);
    if (known) return known;
    const { dModel, numHeads, base } = this.config;
    const attention = new this.#attn.MultiHeadAttention({
      ...{ dModel, numHeads, bias: true, init: 'zeros' },
      positions: turned ? { rotary: { base } } : {},
    });
    for (const name of attention.parameterNames()) {
      const values = this.#encoder.parameter(`layers.${layer}.self_attn.${name}`);
      attention.setParameter(name, values);
    }
    this.#attentions.set(key, attention);
    return attention;
  }

  /**
   * Embeds tokens without their positions.
   * @param {ArrayLike<number>} ids
   * @returns {Tensor} (n, E)
   */
  embed(ids) {
    return this.#embedding.forward(Int32Array.from(ids));
  }

  /**
   * The rows that the first layer reads if tokens are at a position.
   * @param {ArrayLike<number>} ids
   * @param {number | null} start the position of all tokens; null to leave positions out
   * @returns {Tensor} (n, E)
   */
  embedAt(ids, start) {
    const x = this.embed(ids);
    if (start === null || this.rotary) return x;
    const { dModel, base } = this.config;
    const { data: p } = this.#attn.sinusoidalEncoding({ start, length: 1, dModel, base });
    return { data: x.data.map((value, i) => value + p[i % dModel]), shape: x.shape };
  }

  /**
   * The vectors that positions add to the embeddings, (n, E). For rotary positions: sines and
   * cosines of the angles by which they rotate each pair of a head's columns, (n, D).
   * @param {number} length
   * @returns {Tensor}
   */
  positions(length) {
    const { dModel, numHeads, base } = this.config;
    return this.#attn.sinusoidalEncoding({
      ...{ length, base, dModel: this.rotary ? dModel / numHeads : dModel },
    });
  }

  /**
   * Runs embeddings through the model, layer by layer, and only up to the last layer whose results
   * are requested.
   * @param {Tensor} embedding (n, E), n ≥ 1
   * @param {{ exclusion?: ExclusionOptions, positions?: boolean }} [options] exclusion: used in
   *   every layer, causal by default; positions: whether to use the tokens' positions
   */
  read(embedding, { exclusion = { causal: true }, positions = true } = {}) {
    const added = positions && !this.rotary;
    const { base } = this.config;
    /** @type {Tensor[]} */
    const streams = [added ? this.#attn.positionalEncoding(embedding, { base }) : embedding];
    const { layers } = this.stack(positions);
    /**
     * The input of a layer, which is the output of the previous layer: (n, E).
     * @param {number} layer
     */
    const stream = (layer) => {
      for (let l = streams.length; l <= layer; l++) {
        streams[l] = layers[l - 1].forward(streams[l - 1], { attention: exclusion }).output;
      }
      return streams[layer];
    };
    /**
     * The input of a layer's attention, that is, the normalised input of the layer: (n, E).
     * @param {number} layer
     */
    const layerInput = (layer) => this.#norms[layer].forward(stream(layer));
    /** @type {Tensor | undefined} */
    let last;
    return {
      ...{ stream, layerInput },
      /**
       * The logits of the next token for some rows of the last layer: (rows, V).
       * @param {number} [begin]
       * @param {number} [end]
       */
      logits: (begin = 0, end = embedding.shape[0]) => {
        const { data, shape } = (last ??= layerInput(this.config.numLayers));
        const width = shape[1];
        return this.#output.forward({
          data: data.subarray(begin * width, end * width),
          shape: [end - begin, width],
        });
      },
    };
  }

  /**
   * How well the model predicted each token from the tokens before it: log-probabilities of all
   * tokens except the first, in nats. Their negated mean is the model's loss.
   * @param {ArrayLike<number>} ids
   * @param {{ positions?: boolean }} [options]
   */
  logProbabilities(ids, options) {
    const { data, shape } = this.read(this.embed(ids), options).logits();
    const width = shape[1];
    return Array.from({ length: ids.length - 1 }, (_, i) => {
      const row = data.subarray(i * width, (i + 1) * width);
      return row[ids[i + 1]] - logSumExp(row);
    });
  }

  /**
   * Predicts the token after a text while some of the model's values are changed.
   * @param {ArrayLike<number>} ids
   * @param {import('attn').InterventionOptions} changes
   * @param {{ layer: number | null, positions: boolean, every?: boolean, names?: string[] }} options
   *   layer: index of the layer whose weights are returned, or null; every: whether to predict the
   *   token after each token, not only after the last one; names: other intermediates to return
   * @returns {{ logits: Float32Array, weights: Tensor, intermediates: Record<string, Tensor> }} (V)
   *   or (n, V), and (heads, n, n)
   */
  changed(ids, changes, { layer, positions, every = false, names = [] }) {
    const embedding = this.embed(ids);
    const { base } = this.config;
    const added = positions && !this.rotary;
    const x = added ? this.#attn.positionalEncoding(embedding, { base }) : embedding;
    const name = `layers.${layer}.self_attn.weights`;
    const { output, intermediates } = this.stack(positions).forward(x, {
      attention: { causal: true },
      intermediates: layer === null ? names : [name, ...names],
      ...changes,
    });
    const [rows, width] = output.shape;
    const last = { data: output.data.subarray((rows - 1) * width), shape: [1, width] };
    const { data: logits } = this.#output.forward(every ? output : last);
    return { logits, weights: intermediates?.[name], intermediates };
  }

  /**
   * The logits that the model would give if these rows were the output of its last layer: the logit
   * lens.
   * @param {Tensor} x (n, E)
   * @returns {Tensor} (n, V)
   */
  unembed(x) {
    return this.#output.forward(this.#norms[this.config.numLayers].forward(x));
  }

  /**
   * The contributions of the model's parts to the logit of a token after a text.
   * @param {ArrayLike<number>} ids
   * @param {number} target
   * @param {{ positions: boolean }} options
   */
  contributions(ids, target, options) {
    const { dModel } = this.config;
    const table = this.#embedding.parameter('weight').data;
    const row = table.subarray(target * dModel, (target + 1) * dModel);
    return this.stack(options.positions).contributions(
      this.read(this.embed(ids), options).stream(0),
      { data: row, shape: [dModel] },
      { attention: { causal: true } },
    );
  }

  /**
   * Generates text: takes tokens one at a time and keeps past keys and values in a cache. The
   * caller must dispose of it.
   */
  writer() {
    const caches = this.#encoder.makeCaches();
    let position = 0;
    return {
      /**
       * The logits after the given tokens.
       * @param {ArrayLike<number>} ids
       * @returns {Float32Array} (V)
       */
      next: (ids) => {
        let x = this.embed(ids);
        if (!this.rotary) {
          const { dModel, base } = this.config;
          const p = this.#attn.sinusoidalEncoding({
            ...{ start: position, length: ids.length, dModel, base },
          });
          x = { data: x.data.map((value, i) => value + p.data[i]), shape: x.shape };
        }
        position += ids.length;
        const { output } = this.#encoder.forward(x, { attention: { causal: true }, caches });
        const [rows, width] = output.shape;
        const last = { data: output.data.subarray((rows - 1) * width), shape: [1, width] };
        return this.#output.forward(last).data;
      },
      dispose: () => caches.dispose(),
    };
  }

  dispose() {
    for (const layer of this.#attentions.values()) layer.dispose();
    for (const norm of this.#norms) norm.dispose();
    this.#unturned?.dispose();
    this.#encoder.dispose();
    this.#output.dispose();
    this.#embedding.dispose();
  }
}

/** @param {Float32Array} row */
export function logSumExp(row) {
  let largest = -Infinity;
  for (const value of row) largest = Math.max(largest, value);
  let sum = 0;
  for (const value of row) sum += Math.exp(value - largest);
  return largest + Math.log(sum);
}

/**
 * The candidates for the next token, the most probable first.
 * @param {Float32Array} logits (V)
 * @param {{ temperature: number, topK: number }} options topK: number of candidates to keep, 0
 *   for all
 * @returns {{ id: number, probability: number }[]}
 */
export function candidates(logits, { temperature, topK }) {
  const order = Array.from(logits, (_, id) => id).sort((a, b) => logits[b] - logits[a] || a - b);
  const kept = topK ? order.slice(0, topK) : order;
  const largest = logits[kept[0]];
  const powers = kept.map((id) => Math.exp((logits[id] - largest) / temperature));
  const total = powers.reduce((sum, power) => sum + power, 0);
  return kept.map((id, i) => ({ id, probability: powers[i] / total }));
}

/**
 * Picks one of the candidates.
 * @param {{ id: number, probability: number }[]} candidates
 * @param {number} at from 0 to 1: position in the cumulative probability
 */
export function chosen(candidates, at) {
  let sum = 0;
  return candidates.find(({ probability }) => (sum += probability) > at) ?? candidates[0];
}
